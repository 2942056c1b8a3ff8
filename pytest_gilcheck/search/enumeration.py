"""All schedules without preemption, with one, with two, as far as the account allows it.

Most concurrency bugs need at most two preemptions (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007), and a search in
that order finds the fewest preemptions first. A search by time runs those with equally many in a drawn order: what was run is then
a sample if the time ends before them.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count, islice
from math import inf

from ..engine.schedule import CLOCK, Choice, Schedule, preemptions
from . import ledger
from .ledger import FEWEST
from .strategy import PartOfSearch, SeenRun, Steps, following


@dataclass
class Branch:
    """A run from which schedules with one more preemption branch off."""

    schedule: Schedule
    last: int  # the point of its last choice
    points: int
    spans: Sequence[tuple[int, int, tuple[int, ...]]]
    reachable: Set[int] | None
    forced: set[int] = field(default_factory=set)
    readings: list[int] = field(default_factory=list)  # the points after the last choice at which a clock was read

    @classmethod
    def off(cls, schedule: Schedule, run: SeenRun, *, gil: bool) -> Branch:
        """Of a run of this schedule that was recorded, and measured if only points of a build with a GIL count."""
        last = schedule.choices[-1].point if schedule.choices else 0
        forced = {point for point, _, _, _ in run.forks}
        return cls(schedule, last, run.points, run.spans, run.reachable if gil else None, forced)

    def preempted(self) -> Iterator[Schedule]:
        """Its schedule with one more preemption, after the last choice."""
        ends = [span[0] for span in self.spans[1:]] + [self.points + 1]
        for (first, running, others), end in zip(self.spans, ends, strict=True):
            for point in range(max(first, self.last + 1), end):
                if point in self.forced or (self.reachable is not None and point not in self.reachable):
                    continue
                for other in others:
                    if other != running:
                        yield Schedule((*self.schedule.choices, Choice(point, other)))
        for point in self.readings:
            yield Schedule((*self.schedule.choices, Choice(point, CLOCK, True)))

    def count(self) -> int:
        """The number of those schedules, or a few more."""
        ends = [span[0] for span in self.spans[1:]] + [self.points + 1]
        return sum(
            max(0, end - max(first, self.last + 1)) * len(others) for (first, _, others), end in zip(self.spans, ends, strict=True)
        ) + len(self.readings)


class Enumeration(PartOfSearch):
    """Runs all schedules, by their number of preemptions.

    Attributes:
        more: whether some are left for samples.
    """

    more = False

    def _search(self) -> Steps[None]:
        self.executor.hide({})
        self.more = yield from self._by_level()

    def _by_level(self) -> Steps[bool]:
        found, account, how = self.found, self.account, self.how
        mark = account.mark(self._beside_samples(ledger.WITHOUT_PREEMPTION), found.threads)
        branches = yield from self._level([Schedule()], mark)
        for level in count(1):
            if branches is None:  # their forced choices made more schedules than expected
                return True
            found.complete, found.exhausted = level - 1, found.enumerated
            found.pending = sum(branch.count() for branch in branches)
            found.everything = found.pending == 0 and how.share[1] == 1
            if found.everything or (level > how.preemptions and not how.deeper):
                found.pending = 0
                return False
            if how.brief_after < inf and level > 1:  # samples can end at any time
                return True
            share = 1.0 if level >= how.preemptions else ledger.FIRST_LEVEL if level == 1 else ledger.NEXT_LEVEL
            fits = account.allows(found.pending, share, ledger.BRANCHING * self.executor.pace)
            if not fits and (how.sampling or not account.counted):
                if how.sampling and level <= how.preemptions and found.pending <= ledger.MOST_DRAWN:
                    yield from self._sample_level(self._with_one_more(level, branches))
                return True
            self.executor.progress(f"{found.pending:,} schedules with {preemptions(level)}")
            mark = account.mark(self._beside_samples(ledger.NEARLY_ALL), found.pending)
            schedules = self._with_one_more(level, branches)
            drawn = how.sampling and not account.counted and found.pending <= ledger.MOST_DRAWN
            branches = yield from self._level(self._shuffled(schedules) if drawn else schedules, mark, drawn=drawn)
        raise AssertionError("there is always another level")

    def _shuffled(self, schedules: Iterable[Schedule]) -> list[Schedule]:
        shuffled = list(schedules)
        random.Random(f"{self.how.seed}.{self.how.share[0]}").shuffle(shuffled)
        return shuffled

    def _beside_samples(self, share: float) -> float:
        """The share of what is left for a level of the enumeration: all of it if nothing is sampled, otherwise this one at most.

        It is less if that leaves time for as many samples as a claim needs: a level that is not complete does not count.
        """
        if not self.how.sampling:
            return 1.0
        needed, left = (FEWEST - self.found.counting) * ledger.BRANCHING * self.executor.pace, self.account.left()
        return min(share, 1 - needed / left) if 0 < needed < left else share

    def _sample_level(self, schedules: Iterable[Schedule]) -> Steps[None]:
        """Run some of these, each once: a random walk seldom makes so few preemptions, and a bug seldom needs more."""
        found, mark = self.found, self.account.mark(ledger.OF_LEVEL)
        for schedule in self._shuffled(schedules):
            if self.account.reached(mark) or self.enough or found.failure is not None:
                return
            _, found.failure = yield following(schedule)
            found.sampled += 1

    def _with_one_more(self, level: int, branches: list[Branch]) -> Iterable[Schedule]:
        """The schedules with one preemption more than these have: of those with one, this share; with more, they branch off."""
        schedules = (one for branch in branches for one in branch.preempted())
        which, of = self.how.share
        return islice(schedules, which, None, of) if level == 1 else schedules

    def _level(self, schedules: Iterable[Schedule], mark: float, *, drawn: bool = False) -> Steps[list[Branch] | None]:
        """Run these schedules, and all that differ from them in forced choices alone; None if the mark came, or one failed.

        Args:
            drawn: whether they come in a drawn order: those that were run before the mark are samples then. What differs from them
                in forced choices is none, because many threads have thousands of such schedules for one preemption.
        """
        branches: list[Branch] = []
        queue: deque[Schedule] = deque()
        source, samples = iter(schedules), 0
        while True:
            forced = bool(queue)
            schedule = queue.popleft() if forced else next(source, None)
            if schedule is None:
                return branches
            if self.account.reached(mark):
                self.found.sampled += samples
                self.found.enumerated -= samples
                return None
            samples += drawn and not forced
            run, failure = yield following(schedule, recording=True, measuring=self.how.gil)
            self.found.enumerated += 1
            self._only_if_steps_unchanged(failure)
            if failure is not None:
                self.found.failure = failure
                return None
            last = schedule.choices[-1].point if schedule.choices else 0
            readings = [point for point in run.readings if point > last]
            if len(readings) <= ledger.FEW_READINGS:
                queue.extend(
                    Schedule((*run.schedule.choices[: _before(run.schedule, point)], Choice(point, CLOCK, True)))
                    for point in readings
                )
                readings = []
            queue.extend(forced_alternatives(run, last))
            branches.append(replace(Branch.off(schedule, run, gil=self.how.gil), readings=readings))


def forced_alternatives(run: SeenRun, last: int) -> Iterator[Schedule]:
    """The schedules that differ from a recorded run in one choice after this point, where a thread could not continue."""
    for point, candidates, taken, late in run.forks:
        if point > last:
            for other in (*candidates, *late):
                if other != taken:
                    yield Schedule((*run.schedule.choices[: _before(run.schedule, point)], Choice(point, other, True)))


def _before(schedule: Schedule, point: int) -> int:
    return sum(choice.point < point for choice in schedule.choices)
