"""Searches that are put off until the records are made: the budget goes to what tests contend for, and not to tests in their order.

A record that probably takes long is put off too, and made before the searches, the shortest first, in half of the time. What that
leaves comes after the first tries of searches, and before their second ones.

Of the tests that contend for the same thing, the one with the fewest steps is searched first. A thing that was searched for comes
after all that was not. What is left of the time is divided over the things that are left.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from ..core.origin import of_user
from ..sweep.contended import Thing
from ..sweep.swept import SweepOutcome, Swept
from .sweep_course import Course
from .sweep_fork import WaitingFork

MOST, LEAST = 5.0, 1.0  # seconds for one search: of a first run, half a second goes before its first schedule
_FIRST = 0.5  # of the time that is left, for the first tries of all: they find most races, and the rest of the time decides
_LONGER = 20.0  # seconds for one that has decided nothing, when all others have had their turn
_WORTH = 1.5  # times as much as before, that a further try gets
_LAST = 1_000_000  # the rank of a test that depends on what further tries say of others
# A search says "not repeatable" also if it has found nothing in its time, and what only a first run makes was not searched.
_PERHAPS_SHORT = (SweepOutcome.CUT_SHORT, SweepOutcome.NOT_REPEATABLE)
_Rank = tuple[bool, bool, int, bool, bool, float]


class _Try(NamedTuple):
    """What a search says that was perhaps short, and the seconds that it had."""

    swept: Swept
    budget: float


@dataclass(eq=False)
class _PutOff:
    """A search that is put off.

    Attributes:
        server: the process that is to make it.
        instead: another one that can, if that has ended; None if there is none.
        tried: what it has said, if it was made and is to be made again.
    """

    server: WaitingFork
    course: Course
    instead: Callable[[], WaitingFork | None]
    tried: _Try | None = None


class Searches:
    """Those of a process that runs tests."""

    def __init__(self) -> None:
        self._waiting: list[_PutOff] = []
        self._times: Counter[Thing] = Counter()  # that a thing was searched for

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, server: WaitingFork, course: Course, instead: Callable[[], WaitingFork | None]) -> None:
        """A search is put off.

        Args:
            server: the process that is to make it.
            instead: another one that can, if that has ended by then.
        """
        self._waiting.append(_PutOff(server, course, instead))

    def has(self, server: WaitingFork) -> bool:
        """Whether a process has any to make."""
        return any(each.server is server for each in self._waiting)

    def untried(self, server: WaitingFork) -> bool:
        """Whether a process has any that was not made yet."""
        return any(each.server is server and each.tried is None for each in self._waiting)

    def made(
        self, by: Callable[[WaitingFork], bool], left: Callable[[], float], parts: float = 1.0, *, further: bool = True
    ) -> Iterator[Swept]:
        """Make those of these processes, and say what becomes of each test. A Ctrl-C leaves the rest as they are.

        Args:
            by: whether it is the turn of a process.
            left: seconds.
            parts: into so many, at least, what is left is divided: other searches come later.
            further: whether one that has decided nothing is made again now, if there is time; otherwise it waits for that.
        """
        waiting = self._taken(by)
        recorded = [each for each in waiting if not each.course.dear]
        dear = deque(sorted((each for each in waiting if each.course.dear), key=lambda each: each.course.dear))
        for_searches = _FIRST * left()
        while dear and left() > for_searches:
            yield from self._record(dear.popleft(), recorded)
        if not dear:
            yield from self._searched(recorded, left, parts, further=further)
            return
        yield from self._searched(recorded, left, parts, further=False)
        while dear:
            one, recorded = dear.popleft(), []
            yield from self._record(one, recorded) if left() > 0 else [one.course.spent()]
            yield from self._searched(recorded, left, max(parts, len(dear)), further=False)
        if further:
            yield from self._searched(self._taken(by), left, parts, further=True)

    def _taken(self, by: Callable[[WaitingFork], bool]) -> list[_PutOff]:
        """Those of these processes, which do not wait any longer."""
        taken = [each for each in self._waiting if by(each.server)]
        self._waiting = [each for each in self._waiting if not by(each.server)]
        return taken

    def _record(self, put_off: _PutOff, recorded: list[_PutOff]) -> Iterator[Swept]:
        """Make a record that was put off; a test of which the schedules have to be searched is added to those recorded."""
        course = put_off.course
        swept = course.record()
        if course.is_gone and (other := put_off.instead()) is not None:
            put_off.server = other
            course.move_to(other)
            swept = course.record()
        if swept is None:
            recorded.append(put_off)
        else:
            yield swept

    def _searched(self, waiting: list[_PutOff], left: Callable[[], float], parts: float, *, further: bool) -> Iterator[Swept]:
        """Make these searches; see `made`."""
        numbers = count()  # of two equal ranks, the earlier is first
        queue = [(self._rank(each), next(numbers), each) for each in waiting]
        heapify(queue)
        while queue:
            before, _, put_off = heappop(queue)
            course, before_it = put_off.course, put_off.tried
            if (rank := self._rank(put_off)) > before:
                heappush(queue, (rank, next(numbers), put_off))
                continue
            seconds = left()
            most = MOST if before_it is None else _LONGER
            of_it = _FIRST if before_it is None and parts <= 1 else 1.0  # or else others come later, and have their part
            share = of_it * seconds / max(parts, self._count([course, *(each.course for _, _, each in queue)]))
            budget = min(most, max(LEAST, share))
            if before_it is not None and (seconds <= 0 or budget < _WORTH * before_it.budget):
                yield before_it.swept
                continue
            swept = course.search(budget if seconds > 0 else 0.0)
            if course.is_gone and (other := put_off.instead()) is not None:
                put_off.server = other
                course.move_to(other)
                heappush(queue, (before, next(numbers), put_off))
                continue
            if course.was_searched:
                self._times.update(course.things)
            again = before_it is None or course.was_searched
            if swept.outcome in _PERHAPS_SHORT and again and budget < _LONGER and put_off.server.lives:
                put_off.tried = _Try(swept, budget if course.was_searched else 0.0)
                if further:  # there may be more time for it when all others are done
                    heappush(queue, (self._rank(put_off), next(numbers), put_off))
                else:
                    self._waiting.append(put_off)
                continue
            yield swept

    def _rank(self, put_off: _PutOff) -> _Rank:
        """The least is searched first: what was not tried, then a schedule that is known, then what was searched for least often,
        and the user's code."""
        course, tried = put_off.course, put_off.tried
        if tried is not None and not tried.budget:
            return True, True, _LAST, True, True, course.steps
        times = min((self._times[thing] for thing in course.things), default=int(course.was_searched))
        users = any(of_user(use.file) for thing in course.things for use in thing)
        return tried is not None, not course.has_token, times, not course.things, not users, course.steps

    def _count(self, courses: list[Course]) -> int:
        """Of the things that these contend for, those that nobody has searched for; a test without a known thing counts as one."""
        things = {thing for course in courses for thing in course.things if not self._times[thing]}
        return max(1, len(things) + sum(not course.things and not course.was_searched for course in courses))
