"""The races of a recorded run: pairs of transitions of two threads that touch the same thing, and that nothing else puts in order.

Transitions are ordered by their threads and by what they touch: a clock for each thread has, for every thread, the last
transition of it that comes before (vector clocks, Mattern 1988). Where the second of a pair is made, the first is a race with it
if it comes before nothing that the thread has done until then: the two could also come in the opposite order.

A lock that both threads take orders what they do before and after it in a run, and would not in another one. So pairs are found as
well that only locks keep in order which the two do not both hold (`Races.unguarded`; locksets, Savage et al., TOCS 1997). They are
where bugs are, and no more than a hint: what they lead to could be reached by races alone, in many small steps.

Locks: a thread that acquires a lock waits while another one holds it, so its race is with the acquisition by that one, and never
with the release, before which it is not enabled. A wait does nothing by itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import Any, NamedTuple

from ..engine.bytecode.touch import ALL
from ..engine.running.record import Deed
from ..engine.summary import LOCK, Part, Transitions

_RARE = 60  # uses in a run of what is rarely touched
_NONE: frozenset[int] = frozenset()


class Race(NamedTuple):
    """Two transitions, by their points, and how often the run touches what they both touch."""

    first: int
    second: int
    uses: int


class _Uses:
    """The last uses of one part of an object: who wrote it, and who has read it since, by thread."""

    __slots__ = ("reads", "write")

    def __init__(self) -> None:
        self.write = 0
        self.reads: dict[int, int] = {}


class _LockUses:
    __slots__ = ("acquired", "held_tries", "holder", "released", "tries")

    def __init__(self) -> None:
        self.acquired = self.released = 0
        self.holder: int | None = None
        self.tries: dict[int, int] = {}
        self.held_tries: dict[int, int] = {}  # by who holds it: nobody else acquires it before the release


class Races:
    """What the transitions of a run have to do with each other.

    Attributes:
        races: in order of their second transitions.
        contended: each release of a lock and the acquisition by another thread that follows it.
        first_touch: by thread, its first transition that touches anything.
    """

    def __init__(self, transitions: Transitions, points: int) -> None:
        self._transitions = transitions
        self._owners = transitions.owners
        self._clocks: dict[int, dict[int, int]] = {}  # by point, after the transition
        self._before: dict[int, dict[int, int]] = {}  # by point, before it
        self._so_far: dict[int, int] = {}  # in the present transition: that, and what comes before the locks that it has acquired
        self._parts: dict[int, dict[Any, _Uses]] = {}
        self._locks: dict[int, _LockUses] = {}
        self._holders: dict[int, list[tuple[int, int | None]]] = {}  # by lock: (point, who holds it from then on)
        self._of_thread: dict[int, list[int]] = {}
        self._holding: dict[int, set[int]] = {}  # by thread, the locks that it holds
        self._held: dict[int, frozenset[int]] = {}  # by point, the locks that its thread held there
        self.races: list[Race] = []
        self.contended: list[Race] = []
        self.first_touch: dict[int, int] = {}
        self._shared = _shared(transitions)
        self._uses = Counter[tuple[int, Any]](part[:2] for parts in self._shared.values() for part in parts)
        linked = transitions.after.keys() | {earlier for each in transitions.after.values() for earlier in each}
        now: dict[int, dict[int, int]] = {}
        for point in range(1, points + 1):
            thread = self._owners.get(point)
            if thread is None:
                continue
            self._of_thread.setdefault(thread, []).append(point)
            if point in transitions.parts or point in transitions.not_known:
                self.first_touch.setdefault(thread, point)
            before = now.get(thread, {})
            if point not in transitions.steps:
                before = self._with_earlier(before, point)
            self._before[point] = self._so_far = before
            if point not in self._shared and point not in linked:  # nothing that a transition of another thread has to do with
                continue
            if held := self._holding.get(thread):
                self._held[point] = frozenset(held)
            after = dict(before)
            for part in self._shared.get(point, ()):
                for other in self._conflicting(part, point, thread):
                    if self._owners[other] != thread:  # all that comes before its own is in its clock
                        _merge(after, self._clocks[other])
            if point in transitions.steps:
                after = self._with_earlier(after, point)
            after[thread] = point
            now[thread] = self._clocks[point] = after

    def _with_earlier(self, clock: dict[int, int], point: int) -> dict[int, int]:
        """A clock with what comes before a transition because a thread was started or has ended."""
        earlier = self._transitions.after.get(point, ())
        if earlier:
            clock = dict(clock)
            for each in earlier:
                _merge(clock, self._clocks[each])
        return clock

    def _race(self, first: int, second: int, part: Part) -> None:
        if first and self._owners[first] != self._owners[second] and not self._comes_before(first):
            self.races.append(Race(first, second, self._uses[part.holder, part.part]))

    def _comes_before(self, first: int) -> bool:
        """Whether a transition comes before all that the thread of the present one has still to do."""
        return self._so_far.get(self._owners[first], 0) >= first

    def _conflicting(self, part: Part, point: int, thread: int) -> list[int]:
        """The transitions that come before this one because of what it touches; takes note of their races."""
        if part.part == LOCK:
            return self._of_lock(part, point, thread)
        uses = self._parts.setdefault(part.holder, {})
        touched = list(uses.values()) if part.part == ALL else [uses[each] for each in (part.part, ALL) if each in uses]
        found = []
        for use in touched:
            if use.write:
                found.append(use.write)
                self._race(use.write, point, part)
            if part.deed is Deed.WRITE:
                for read in use.reads.values():
                    found.append(read)
                    self._race(read, point, part)
        mine = uses.setdefault(part.part, _Uses())
        if part.deed is Deed.WRITE:
            mine.write, mine.reads = point, {}
        else:
            mine.reads[thread] = point
        return [each for each in found if each != point]

    def _of_lock(self, part: Part, point: int, thread: int) -> list[int]:
        uses = self._locks.setdefault(part.holder, _LockUses())
        deed, found = part.deed, []
        if deed is Deed.TRY and uses.holder == thread:
            found = [uses.acquired]
            uses.held_tries[thread] = point
        elif deed is Deed.TRY:
            self._race(uses.acquired, point, part)
            self._race(uses.released, point, part)
            found = [uses.acquired, uses.released]
            uses.tries[thread] = point
        elif deed is Deed.RELEASE:
            self._race(uses.acquired, point, part)  # of another thread, which is possible
            for tried in uses.held_tries.values():
                self._race(tried, point, part)
            found = [uses.acquired, *uses.tries.values(), *uses.held_tries.values()]
        else:
            self._race(uses.acquired, point, part)
            if deed is Deed.ACQUIRE:
                found = [uses.released, *uses.tries.values()]
        if deed in (Deed.ACQUIRE, Deed.RELEASE):
            for tried in uses.tries.values():
                self._race(tried, point, part)
            uses.holder = thread if deed is Deed.ACQUIRE else None
            self._holders.setdefault(part.holder, []).append((point, uses.holder))
            if deed is Deed.ACQUIRE:
                if uses.released and self._owners[uses.released] != thread:
                    self.contended.append(Race(uses.released, point, self._uses[part.holder, part.part]))
                    self._so_far = dict(self._so_far)  # what the transition does with the lock comes after that release
                    _merge(self._so_far, self._clocks[uses.released])
                uses.acquired = point
                self._holding.setdefault(thread, set()).add(part.holder)
            else:
                uses.released = point
                for holding in self._holding.values():
                    holding.discard(part.holder)
        return [each for each in found if each and each != point]

    def waits(self, thread: int, point: int) -> bool:
        """Whether the next thing that a thread does, from a point on, is to acquire a lock that another thread holds there."""
        points = self._of_thread.get(thread, [])
        later = bisect_left(points, point)
        for part in self._transitions.parts.get(points[later], ()) if later < len(points) else ():
            if part.part == LOCK:
                if part.deed not in (Deed.ACQUIRE, Deed.WAIT):
                    return False
                holder = None
                for since, who in self._holders.get(part.holder, ()):
                    if since < point:
                        holder = who
                return holder is not None and holder != thread
        return False

    def unguarded(self) -> list[Race]:
        """Pairs of conflicting transitions that hold no lock in common, of what is rarely touched.

        Acquisitions of a lock are among them where the first thread holds another lock, or has read without one what others change.
        """
        groups: dict[Any, list[tuple[int, Deed]]] = {}
        whole = {part.holder for parts in self._shared.values() for part in parts if part.part == ALL}
        for point in sorted(self._shared):
            for part in self._shared[point]:
                if part.part != LOCK or part.deed in (Deed.ACQUIRE, Deed.WAIT):
                    groups.setdefault(part.holder if part.holder in whole else part[:2], []).append((point, part.deed))
        contested = [
            group
            for group in groups.values()
            if any(deed is not Deed.READ for _, deed in group) and len({self._owners[point] for point, _ in group}) > 1
        ]
        seen = self._seen_without_lock(contested)
        found = []
        for group in contested:
            if len(group) > _RARE:
                continue
            for index, (first, deed) in enumerate(group):
                thread, partners = self._owners[first], set()
                for second, other in group[index + 1 :]:
                    owner = self._owners[second]
                    if owner in partners or owner == thread or deed is Deed.READ is other:
                        continue
                    one, both = self._held.get(first, _NONE), self._held.get(second, _NONE)
                    if deed in (Deed.ACQUIRE, Deed.WAIT) and not one and not both and first < seen.get(thread, math.inf):
                        continue  # who has the lock first makes no difference by itself
                    if one.isdisjoint(both):
                        partners.add(owner)
                        found.append(Race(first, second, len(group)))
        return found

    def _seen_without_lock(self, contested: list[list[tuple[int, Deed]]]) -> dict[int, int]:
        """By thread, the first point at which it reads without a lock what another thread may change.

        What it does under a lock after that may rest on what it has read, and be wrong if another thread had the lock in between.
        """
        seen: dict[int, int] = {}
        for group in contested:
            for point, deed in group:
                if deed is Deed.READ and point not in self._held:
                    thread = self._owners[point]
                    seen[thread] = min(point, seen.get(thread, point))
        return seen

    def before_second(self, race: Race) -> list[int]:
        """The threads that do something after the first transition that the second one needs, and the thread of the second."""
        clock = self._before[race.second]
        needed = [thread for thread, last in clock.items() if last > race.first and thread != self._owners[race.second]]
        return [self._owners[race.second], *needed]


def _shared(transitions: Transitions) -> dict[int, list[Part]]:
    """By point, what a transition touches of locks, and of objects that several threads touch: most are one thread's own."""
    owner: dict[int, int | None] = {}
    several: set[int] = set()
    for point, parts in transitions.parts.items():
        thread = transitions.owners.get(point)
        for holder, part, _ in parts:
            if part == LOCK or owner.setdefault(holder, thread) != thread:
                several.add(holder)
    found = {point: [part for part in parts if part.holder in several] for point, parts in transitions.parts.items()}
    return {point: parts for point, parts in found.items() if parts}


def _merge(clock: dict[int, int], other: dict[int, int]) -> None:
    for thread, last in other.items():
        if clock.get(thread, 0) < last:
            clock[thread] = last
