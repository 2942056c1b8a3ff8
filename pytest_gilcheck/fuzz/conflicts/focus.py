"""The steps of a recorded run that touch what several threads touch.

Most steps of a large program touch what only their own thread can reach. A schedule that switches right before such a step is
equivalent to one that switches before the next step that others can notice. So where there is no time to sample at every step,
samples switch at the others alone: fewer steps, each of which is more likely to matter, and the rest costs nothing.

This is for samples, which prove nothing: in another interleaving, a step may touch what several threads touch, although it did not
in this run. A step that no run has made yet is never hidden. A step at which all that others can notice is the end of an object is
hidden: what it ends is not known, and the steps before and after it are left.

A step of which it is not known what it touches is never hidden, and what can be reached from what it works on counts as changed by
its thread. If such a step works on an object, the object and its ``__dict__`` count as one.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ..running.record import Deed
from ..schedule import Choice, Schedule
from ..steps.visible import Access
from .trace import Trace

_MOST_REACHED = 2_000  # objects, from what one thread works on
_CODE = (ModuleType, FunctionType, CodeType, FrameType, type)


@dataclass(frozen=True)
class Focus:
    """What a recorded run says of its steps.

    Attributes:
        hidden: the steps that touch nothing that several threads touch, by id; the steps are kept, so an id has one meaning.
        lengths: by thread, the number of its other points.
    """

    hidden: dict[int, Access]
    lengths: dict[int, int]
    _hidden_points: list[int]

    def without(self, schedule: Schedule) -> Schedule:
        """A schedule that branches off from the recorded run, where the hidden steps are no points."""
        return Schedule(tuple(Choice(self._left(point), thread, forced) for point, thread, forced in schedule.choices))

    def _left(self, point: int) -> int:
        """The number of this point, or of the next one that is left."""
        before = bisect_left(self._hidden_points, point)
        return point - before

    @property
    def points(self) -> int:
        """The points of the run that are left."""
        return sum(self.lengths.values())


def focus_of(trace: Trace) -> Focus:
    """The focus of one recorded run.

    Args:
        trace: of a run that has ended.
    """
    users: dict[int, set[int]] = {}
    changed: set[int] = set()
    for point, parts in trace.parts.items():
        for part in parts:
            users.setdefault(part.holder, set()).add(trace.owners[point])
            if part.deed is not Deed.READ:
                changed.add(part.holder)
    for thread, objects in trace.unknown_on.items():
        for each in objects:
            if id(each) in users and (names := id(_dictionary_of(each))) in users:
                users[id(each)] = users[names] = users[id(each)] | users[names]
        for each in _reachable(objects):
            if id(each) in users:
                users[id(each)].add(thread)
                changed.add(id(each))
    contested = {holder for holder in changed if len(users[holder]) > 1}
    private = dict(trace.calls_passed)
    matters: set[int] = set()
    for point, access in trace.accesses.items():
        private[id(access)] = access
        unknown = point in trace.not_known and access.kind != "end"
        if unknown or any(part.holder in contested for part in trace.parts.get(point, ())):
            matters.add(id(access))
    hidden = {key: access for key, access in private.items() if key not in matters}
    left = Counter(owner for point, owner in trace.owners.items() if id(trace.accesses.get(point)) not in hidden)
    return Focus(hidden, dict(left), sorted(point for point, access in trace.accesses.items() if id(access) in hidden))


def _dictionary_of(each: object) -> object:
    """Its ``__dict__``, or None. (`gc.get_referents` does not show it, from 3.13 on.)"""
    try:
        return object.__getattribute__(each, "__dict__")
    except Exception:
        return None


def _reachable(objects: Iterable[Any]) -> Iterator[Any]:
    """The objects that can be reached from these, without the code of the program."""
    seen: set[int] = set()
    waiting = list(objects)
    while waiting and len(seen) < _MOST_REACHED:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _CODE):
            continue
        seen.add(id(each))
        waiting += [other for other in gc.get_referents(each) if gc.is_tracked(other)]
        yield each
