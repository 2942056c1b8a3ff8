"""The search: all schedules without preemption, with one, with two, as far as they fit the budget; then sampled ones.

Most concurrency bugs need no more than two preemptions (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007), and a
search in that order finds the fewest first, at the earliest steps. Where all with two would take too long, a portfolio samples:
uniform random walks, partial order sampling, and priorities with change points; no single one of them is best.

What was explored is told as it is: "all schedules of at most k preemptions", or "m sampled" with the probability that such a sample
finds a bug of depth 3. A search that was cut short says so.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic

from ..running.engine import ScheduleRun
from ..running.policy import Policy
from ..schedule import Choice, Schedule
from .explorer import Explorer, Failure
from .sampling import PartialOrder, Priorities, UniformWalk

PCT_DEPTH = 3
_FEWEST_SAMPLES = 100
_FOR_SAMPLES = 0.3  # of the time that is left, if it turns out that not all can be run
_WITHOUT_PREEMPTION = 0.3  # of the time, at most, for schedules without any: many threads have many orders


@dataclass
class SearchOutcome:
    """What was explored.

    Attributes:
        failure: the first that was found; its schedule is minimal if it was found by enumeration.
        complete: the number of preemptions up to which all schedules were run; -1 for none.
        sampled: schedules drawn at random after that.
        priorities: how many of those with random priorities (PCT).
        steps: visible steps of the longest run without preemption.
        pending: schedules of the first incomplete number of preemptions, as far as they are known.
        enumerated: schedules run one by one.
        cut: whether time ran out before it was enough to say anything.
    """

    failure: Failure | None = None
    complete: int = -1
    sampled: int = 0
    priorities: int = 0
    steps: int = 0
    threads: int = 2
    pending: int = 0
    enumerated: int = 0
    cut: bool = False

    @property
    def bound(self) -> float:
        """At least this is the probability that a bug of depth 3 was found by the samples, if there is one (PCT)."""
        if not self.priorities or not self.steps:
            return 0.0
        each = 1 / (self.threads * self.steps ** (PCT_DEPTH - 1))
        return float(1 - (1 - each) ** self.priorities)

    def __str__(self) -> str:
        words = []
        if self.complete >= 0:
            few = (
                "without preemption" if self.complete == 0 else f"of at most {self.complete} preemption{'s' * (self.complete > 1)}"
            )
            words.append(f"all {self.enumerated:,} schedules {few} over {self.steps} visible steps")
        elif self.enumerated:
            words.append(f"{self.enumerated:,} schedules one by one")
        if self.sampled:
            next_up = self.complete + 1
            of = (
                f" of about {self.pending:,} with {next_up} preemption{'s' * (next_up > 1)} and of all with more"
                if self.pending
                else ""
            )
            words.append(
                f"{self.sampled:,} sampled{of} (random walk, POS, PCT; a bug of depth {PCT_DEPTH} is found with probability "
                f"{self.bound:.2g} at least)"
            )
        return ", then ".join(words) or "nothing"


@dataclass
class _Branch:
    """A run whose continuations are still to be tried."""

    schedule: Schedule
    last: int  # the point of its last choice
    points: int
    spans: list[tuple[int, int, tuple[int, ...]]]
    reachable: set[int] | None
    forced: set[int] = field(default_factory=set)

    def preempted(self) -> Iterator[Schedule]:
        """The same with one more preemption, after the last choice."""
        ends = [span[0] for span in self.spans[1:]] + [self.points + 1]
        for (first, running, others), end in zip(self.spans, ends, strict=True):
            for point in range(max(first, self.last + 1), end):
                if point in self.forced or (self.reachable is not None and point not in self.reachable):
                    continue
                for other in others:
                    if other != running:
                        yield Schedule((*self.schedule.choices, Choice(point, other)))

    def count(self) -> int:
        """How many those are, or a few more."""
        ends = [span[0] for span in self.spans[1:]] + [self.points + 1]
        return sum(
            max(0, end - max(first, self.last + 1)) * len(others) for (first, _, others), end in zip(self.spans, ends, strict=True)
        )


class Search:
    """Searches the schedules of one program.

    Args:
        preemptions: the most that are enumerated.
        until: when to stop, by ``time.monotonic``.
        seed: of the samples.
        gil: preempt only where a build with a GIL can switch.
        share: (which, of how many): run only this share of the schedules with preemptions, where others run the rest. Those without
            any are everybody's.
    """

    def __init__(
        self,
        explorer: Explorer,
        preemptions: int,
        until: float,
        seed: int,
        *,
        gil: bool = False,
        sampling: bool = True,
        share: tuple[int, int] = (0, 1),
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._explorer, self._preemptions, self._until, self._seed = explorer, preemptions, until, seed
        self._gil, self._sampling, self._share, self._now = gil, sampling, share, now
        self.found = SearchOutcome(threads=len(explorer.program.threads))

    def run(self, sequential: list[ScheduleRun]) -> SearchOutcome:
        """Search until something fails, everything is explored, or time is up."""
        found = self.found
        found.steps = max((sum(run.lengths.values()) for run in sequential), default=0)
        begun, before = self._now(), self._explorer.runs
        branches = self._level([Schedule()], begun + _WITHOUT_PREEMPTION * (self._until - begun))
        if found.failure is not None:
            return found
        if branches is None:
            return self._sample(sequential)
        found.complete = 0
        for level in range(1, self._preemptions + 1):
            found.pending = sum(branch.count() for branch in branches)
            each = (self._now() - begun) / max(1, self._explorer.runs - before)
            if found.pending * each > (self._until - self._now()) * (1.0 if level == self._preemptions else 0.5):
                return self._sample(sequential)
            self._explorer.progress(f"{found.pending:,} schedules with {level} preemption{'s' * (level > 1)}")
            until = self._until - _FOR_SAMPLES * (self._until - self._now())
            branches = self._level(self._mine(level, (one for branch in branches for one in branch.preempted())), until)
            if found.failure is not None:
                return found
            if branches is None:  # their free choices made more of them than was thought
                return self._sample(sequential)
            found.complete, found.pending = level, 0
        return self._concluded()

    def _level(self, schedules: Iterable[Schedule], until: float) -> list[_Branch] | None:
        """Run these, and all that differ from them in free choices alone; None if time ran out, or something failed."""
        branches: list[_Branch] = []
        waiting: deque[Schedule] = deque()
        source = iter(schedules)
        while True:
            schedule = waiting.popleft() if waiting else next(source, None)
            if schedule is None:
                return branches
            if self._now() > until:
                return None
            run, failure = self._explorer.follow(schedule, recording=True, measuring=self._gil)
            self.found.enumerated += 1
            if not self._explorer.events.tables_unchanged():  # a file came in that stores what was taken for constant: start again
                self._explorer.follow(Schedule())
            if failure is not None:
                self.found.failure = failure
                return None
            last = schedule.choices[-1].point if schedule.choices else 0
            forced = set()
            for point, candidates, taken in run.forks:
                forced.add(point)
                if point > last:
                    waiting.extend(
                        Schedule((*run.schedule.choices[: _before(run.schedule, point)], Choice(point, other, True)))
                        for other in candidates
                        if other != taken
                    )
            branches.append(_Branch(schedule, last, run.points, run.spans, run.reachable if self._gil else None, forced))

    def _mine(self, level: int, schedules: Iterable[Schedule]) -> Iterable[Schedule]:
        """This share of the schedules with one preemption. Those with more come of them, so what comes of a share is one's own."""
        which, of = self._share
        return islice(schedules, which, None, of) if level == 1 else schedules

    def _sample(self, sequential: list[ScheduleRun]) -> SearchOutcome:
        """Sample until time is up."""
        found = self.found
        if not self._sampling:
            found.cut = True
            return found
        draw = random.Random(f"{self._seed}.{self._share[0]}")
        longest = max(sequential, key=lambda run: run.points)
        lengths = [longest.lengths.get(index, 1) for index in range(max(longest.lengths, default=0) + 1)]
        self._explorer.progress("sampled schedules")
        self._explorer.engine.gil_only = self._gil
        try:
            return self._drawn(draw, lengths, longest.points)
        finally:
            self._explorer.engine.gil_only = False

    def _drawn(self, draw: random.Random, lengths: list[int], points: int) -> SearchOutcome:
        found = self.found
        while self._now() < self._until:
            for policy in _portfolio(draw.randrange(1 << 32), lengths, points):
                _, failure = self._explorer.once(policy)
                found.sampled += 1
                found.priorities += isinstance(policy, Priorities)
                if failure is not None:
                    found.failure = failure
                    return found
            self._explorer.events.tables_unchanged()
        return self._concluded()

    def _concluded(self) -> SearchOutcome:
        found = self.found
        found.cut = found.failure is None and found.complete < self._preemptions and found.sampled < _FEWEST_SAMPLES
        return found


def _portfolio(seed: int, lengths: list[int], points: int) -> Iterator[Policy]:
    """Four in ten uniform walks, three partial orders, three priorities."""
    for index in range(10):
        each = seed * 10 + index
        if index % 3 == 0:
            yield UniformWalk(each, lengths)
        elif index % 3 == 1:
            yield PartialOrder(each)
        else:
            yield Priorities(each, points, PCT_DEPTH)


def _before(schedule: Schedule, point: int) -> int:
    return sum(choice.point < point for choice in schedule.choices)
