"""The search: schedules that turn a conflict round (`reduction`); unless that leaves none that was seen, all schedules without
preemption, with one, with two, as far as the limit allows; then sampled ones.

Most concurrency bugs need at most two preemptions (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007), and a search in
that order finds the fewest preemptions first. A search by time runs those with equally many in a drawn order: what was run is then
a sample if the time ends before them. Where enumeration would go beyond the limit, a portfolio samples: uniform random walks,
partial order sampling, and priorities with change points.

The outcome says what was explored: all schedules with at most k preemptions, how many of those with one more, and how many sampled,
with the probability that such a sample finds a bug of depth 3.
"""

from __future__ import annotations

import random
from _random import Random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count, islice
from math import inf

from ..core.clocks import monotonic
from ..engine.running.policy import Policy
from ..engine.running.record import ScheduleRun
from ..engine.schedule import CLOCK, Choice, Schedule, preemptions
from ..engine.summary import RunSummary
from . import ledger
from .bound import Bound
from .conflicts import Conflicts
from .explorer import Explorer, Failure, Symptom
from .focus import Focus
from .ledger import FEWEST, PCT_DEPTH, SPARE, Account
from .sampling import PartialOrder, Priorities, UniformWalk


@dataclass
class SearchOutcome:
    """What a search has explored.

    Attributes:
        failure: the first failure; its schedule is minimal if it was found by enumeration.
        complete: the number of preemptions up to which all schedules were run; -1 for none.
        exhausted: the number of schedules of that enumeration.
        enumerated: the number of schedules run by enumeration, complete or not.
        sampled: the number of schedules drawn at random after that.
        priorities: how many of those had random priorities (PCT).
        steps: visible steps of the longest run without preemption.
        threads: the number of the program's threads.
        pending: schedules with one preemption more than ``complete``, about; 0 if they were not counted.
        wanted: the number of preemptions up to which enumeration was wanted.
        everything: whether no schedule is left at all.
        asked: the number of schedules that was asked for; None for a search by time.
        expired: whether the time ended before that number was run.
        void: the number of schedules run before it turned out that there are more visible steps.
        conflicts: the number of schedules run because they turn a conflict round.
        settled: whether that leaves no conflict that was seen, and it is known of each step what it touches.
        independent: whether that is so because the threads touch nothing in common that changes.
        focus: the number of points at which schedules could switch that left steps out.
        focused: how many of those sampled did that.
        focused_conflicts: how many of those by conflicts did that.
        untried: how many likely conflicts of runs without preemption were not turned round, and such runs not recorded, for want of
            time.
        unrecorded: whether the first run took too long to be recorded, so that no conflict is known.
        torn: two places that conflict, of which one is a call in C of several steps, in which no schedule can switch.
        apart: a call in C of several steps in which schedules have switched, and of which something conflicts; or empty.
    """

    failure: Failure | None = None
    complete: int = -1
    exhausted: int = 0
    enumerated: int = 0
    sampled: int = 0
    priorities: int = 0
    steps: int = 0
    threads: int = 2
    pending: int = 0
    wanted: int = 0
    everything: bool = False
    asked: int | None = None
    expired: bool = False
    void: int = 0
    conflicts: int = 0
    settled: bool = False
    independent: bool = False
    focus: int = 0
    focused: int = 0
    focused_conflicts: int = 0
    untried: int = 0
    unrecorded: bool = False
    torn: str = ""
    apart: str = ""

    @property
    def explored(self) -> int:
        """The number of schedules that were run."""
        return self.enumerated + self.sampled + self.void + self.conflicts

    @property
    def all_enumerated(self) -> bool:
        """Whether every schedule with at most the wanted number of preemptions was run."""
        return self.settled or self.complete >= self.wanted

    @property
    def too_few(self) -> bool:
        """Whether what was run is too little for any claim, unless it is the number that was asked for.

        An enumeration in order that is not complete does not count: it has only seen the first steps.
        """
        return self.failure is None and not self.all_enumerated and (self.counting < FEWEST or self.conflicts_open)

    @property
    def conflicts_open(self) -> bool:
        """Whether some conflicts are known that were not turned round; or none is known, because no run was recorded.

        Samples do not make up for that: each switches at two of the many thousand steps of a long run.
        """
        return self.conflicts_left > 0 or (self.unrecorded and not self.settled and self.complete < 1)

    @property
    def conflicts_left(self) -> int:
        """How many likely conflicts were not turned round, unless every schedule with one preemption was run."""
        return 0 if self.complete >= 1 or self.settled else self.untried

    @property
    def counting(self) -> int:
        """How many of the schedules count towards a claim."""
        return self.sampled + self.conflicts + (self.exhausted if self.complete > 0 else 0)

    @property
    def bound(self) -> Bound:
        """How far it went, without a failure."""
        if self.settled:
            return Bound.INDEPENDENT if self.independent else Bound.CONFLICTS
        return Bound.PREEMPTIONS if self.everything or self.all_enumerated else Bound.SAMPLES

    def _chance(self, samples: int, steps: int) -> float:
        """A lower bound on the probability that so many samples found a bug of depth 3, if there is one (PCT)."""
        if not samples or not steps:
            return 0.0
        each = 1 / (self.threads * steps ** (PCT_DEPTH - 1))
        return float(1 - (1 - each) ** samples)

    def __str__(self) -> str:
        if self.settled:
            seen = "the threads touched nothing in common that changes"
            if not self.independent:
                seen = "no conflict that was seen is left untried"
            samples = f", and {_counted(self.sampled, 'sample')}" if self.sampled else ""
            steps = f", with the steps in C of {self.apart} without a GIL simulated" if self.apart else ""
            return f"{seen}: {_counted(self.conflicts, 'schedule')}{samples}{steps}"
        parts: list[tuple[str, int, str]] = []
        in_focus = f"at the {self.focus:,} points where threads may touch the same"
        if self.conflicts:
            narrow = f" ({self.focused_conflicts:,} of them only {in_focus})" if self.focused_conflicts else ""
            parts.append(("", self.conflicts, f"by their conflicts{narrow}"))
        if self.everything:
            parts.append(("all ", self.exhausted, f"over {self.steps} visible steps, with any number of preemptions"))
        elif self.complete >= 0:
            parts.append(("all ", self.exhausted, f"with {_at_most(self.complete)} over {self.steps} visible steps"))
        if partly := self.enumerated - self.exhausted:
            parts.append(("", partly, f"{self._next()} by enumeration"))
        if self.focused:
            chance = f"{self._chance(self.focused, self.focus):.2g} at least"
            parts.append(
                (
                    "",
                    self.focused,
                    f"sampled {in_focus} (a bug of depth {PCT_DEPTH} at these points is found with probability {chance})",
                )
            )
        if whole := self.sampled - self.focused:
            of = f" {self._next()} and of all with more" if self.pending else ""
            chance = f"{self._chance(self.priorities, self.steps):.2g} at least"
            how = f" (random walk, POS, PCT; a bug of depth {PCT_DEPTH} is found with probability {chance})"
            parts.append(("", whole, f"sampled{of}{how if self.priorities else ''}"))
        if self.asked is None and parts:
            every, number, rest = parts[0]
            parts[0] = every, number, f"schedule{'s' * (number != 1)} {rest}"
        text = ", then ".join(f"{every}{number:,} {rest}" for every, number, rest in parts) or "no schedule"
        if self.asked is None:
            return text
        return f"{_counted(self.explored, 'schedule')} (schedules={self.asked}): {text}"

    def _next(self) -> str:
        """Which schedules come after the complete ones."""
        number = self.complete + 1
        with_ = preemptions(number) if number else "no preemption"
        if not self.pending:
            return f"with {with_}"
        run = self.enumerated - self.exhausted  # with forced choices, which were not counted before
        return f"of more than {run:,} with {with_}" if run >= self.pending else f"of about {self.pending:,} with {with_}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _at_most(number: int) -> str:
    return f"at most {preemptions(number)}" if number else "no preemption"


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
    def off(cls, schedule: Schedule, run: ScheduleRun | RunSummary, *, gil: bool) -> Branch:
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


class _MoreSteps(Exception):
    """New code has started that stores what had counted as constant, so the points of all schedules so far are void."""


class Search:
    """Searches the schedules of one program.

    Args:
        preemptions: enumerate up to so many.
        limit: when to end.
        seed: of the samples.
        gil: preempt only where a build with a GIL can switch.
        sampling: whether to sample what cannot be enumerated.
        share: (which, of how many): run only this share of the schedules with preemptions, where others run the rest. The schedules
            without preemption are run by all.
        asked: the number of schedules that the user asked for, of which the limit may be a share; None if there is none.
        deeper: whether to go on with more preemptions, and samples, until everything was run or the limit is reached.
        brief_after: by `monotonic`, from when on to end as soon as what was run is enough for a claim.
    """

    def __init__(
        self,
        explorer: Explorer,
        preemptions: int,
        limit: Account,
        seed: int,
        *,
        gil: bool = False,
        sampling: bool = True,
        share: tuple[int, int] = (0, 1),
        asked: int | None = None,
        deeper: bool = False,
        brief_after: float = inf,
    ) -> None:
        self._explorer, self._preemptions, self._limit, self._seed = explorer, preemptions, limit, seed
        self._gil, self._sampling, self._share, self._deeper, self._brief_after = gil, sampling, share, deeper, brief_after
        self.found = SearchOutcome(threads=len(explorer.program.threads), wanted=preemptions, asked=asked)
        self._focus: Focus | None = None
        self._pace = 0.0  # seconds of a schedule

    def run(self, sequential: list[ScheduleRun]) -> SearchOutcome:
        """Search until a run fails, every schedule is explored, or the limit is reached."""
        found = self.found
        found.steps = max((sum(run.lengths.values()) for run in sequential), default=0)
        self._limit.start(lambda: found.explored)
        more = False
        if self._fails_in_order():
            return found
        while True:
            try:
                if self._by_conflicts():
                    settled, found.settled = found.settled, False  # until it is tested
                    found.settled = settled and self._passes_test(sequential)
                    if found.settled or found.failure is not None:
                        break
                    found.independent = False  # a sample took another path
                more = self._too_long_for_every_step() or self._enumerate()
                if found.everything and self._sampling:
                    self._passes_test(sequential)
                break
            except _MoreSteps:
                self._explorer.hide({})
                self._explorer.events.names.show_everything(False)
                sequential[:] = self._explorer.measured()
                found.steps = max(sum(run.lengths.values()) for run in sequential)
                found.void, found.enumerated, found.conflicts = found.explored - found.sampled, 0, 0
                found.complete, found.exhausted, found.pending = -1, 0, 0
                found.focused_conflicts = 0
        if not found.settled and (more or (found.asked is not None and not found.everything)):
            self._sample(sequential)
        self._explorer.hide({})
        if found.failure is not None:
            self._explorer.events.freeze()
        found.expired = found.failure is None and self._limit.expired
        return found

    def _fails_in_order(self) -> bool:
        """Whether a sequential order fails, of those that have run as the baseline: no schedule has fewer preemptions."""
        for order in self._explorer.failing:
            _, failure = self._explorer.in_order(order)
            if failure is None or failure.symptom is Symptom.HANGS:  # it is what all of them do, or does not come again
                continue
            self.found.enumerated += 1
            _, self.found.failure = self._explorer.follow(failure.schedule)  # as it is replayed
            if self.found.failure is not None:
                self._explorer.events.freeze()
                return True
        return False

    @property
    def _sampled_enough(self) -> bool:
        """Whether no more samples are wanted."""
        return self._limit.reached() or (
            monotonic() >= self._brief_after and self.found.counting >= FEWEST and not self.found.conflicts_open
        )

    def _by_conflicts(self) -> bool:
        """Run schedules that turn a conflict round; returns whether that is all there is to do."""
        if not self._sampling and not self._gil:
            return False
        found, limit = self.found, self._limit
        at_first, pace = limit.left(), SPARE * self._explorer.pace
        if ledger.LEAST_RECORD * pace > ledger.NEARLY_ALL * at_first:
            return False
        needed = FEWEST * pace  # seconds of as many samples as a claim needs
        enough = needed < at_first < inf  # if not, these are the best of what can be run
        events = self._explorer.events
        may_hide = not self._gil and not events.names.looked_into and not events.takes_apart  # frames show each instruction
        self._pace, short = pace, may_hide and at_first < ledger.SHORT * needed

        def until() -> float:
            left = limit.left()
            beside_samples = left - needed if enough and not short else 0.0
            return monotonic() + (beside_samples if beside_samples > 0 else ledger.NEARLY_ALL * left)

        mark = limit.mark(min(ledger.CONFLICTS, 1 - needed / at_first) if enough else ledger.CONFLICTS, ledger.FEWEST_CONFLICTS)

        late = limit.mark(ledger.NEARLY_ALL)

        def fits(runs: int, seconds: float) -> bool:
            return limit.fits(runs, seconds, mark)

        focusing = may_hide and at_first < ledger.SHORT_LATER * needed
        reduction = Conflicts(self._explorer, gil=self._gil, focusing=focusing, fits=fits, until=until)

        def stop() -> bool:
            found.conflicts, found.focused_conflicts = reduction.runs, reduction.focused
            found.focus = max(1, reduction.focus.points) if reduction.focus is not None else found.focus
            if not self._explorer.events.tables_unchanged():
                raise _MoreSteps
            if not limit.reached(mark) or (reduction.runs < ledger.FIRST_CONFLICTS and not limit.reached()):
                return False
            if at_first < inf and not self._gil and not limit.reached(late):
                for_samples = (FEWEST - reduction.runs) * pace
                time_for_record = limit.left() - reduction.record_seconds > for_samples
                if reduction.frontier.likely or (reduction.frontier.revealing and time_for_record):
                    return False
            if reduction.runs >= ledger.FEWEST_CONFLICTS or limit.reached() or (short and reduction.focus is not None):
                return True
            left = limit.left()
            one_more = (at_first - left) / reduction.runs
            return enough and (FEWEST - reduction.runs) * pace > left - one_more

        reduction.search(stop)
        if not self._gil and at_first < inf:
            found.untried, found.unrecorded = reduction.frontier.likely, reduction.blind
        self._focus = reduction.focus
        found.focus = max(1, reduction.focus.points) if reduction.focus is not None else found.focus
        found.failure, found.torn, found.apart = reduction.failure, found.torn or reduction.torn, found.apart or reduction.apart
        found.settled = reduction.finished and found.failure is None and not reduction.doubt
        if found.settled and not self._explorer.events.tables_unchanged(for_certain=True):
            raise _MoreSteps
        if found.settled:
            found.void, found.conflicts = 0, reduction.runs
            found.independent = reduction.independent
        return found.failure is not None or found.settled

    def _too_long_for_every_step(self) -> bool:
        """Whether there is no time left for as many schedules as a claim needs, unless most steps are hidden in them."""
        return self._focus is not None and (FEWEST - self.found.counting) * self._pace > self._limit.left()

    def _enumerate(self) -> bool:
        """Run all schedules, by their number of preemptions; returns whether some are left for samples."""
        found, limit = self.found, self._limit
        self._explorer.hide({})
        branches = self._level([Schedule()], limit.mark(self._beside_samples(ledger.WITHOUT_PREEMPTION), found.threads))
        for level in count(1):
            if branches is None:  # their forced choices made more schedules than expected
                return True
            found.complete, found.exhausted = level - 1, found.enumerated
            found.pending = sum(branch.count() for branch in branches)
            found.everything = found.pending == 0 and self._share[1] == 1
            if found.everything or (level > self._preemptions and not self._deeper):
                found.pending = 0
                break
            if self._brief_after < inf and level > 1:  # samples can end at any time
                return True
            share = 1.0 if level >= self._preemptions else ledger.FIRST_LEVEL if level == 1 else ledger.NEXT_LEVEL
            if not limit.allows(found.pending, share, ledger.BRANCHING * self._explorer.pace) and (
                self._sampling or not limit.counted
            ):
                if self._sampling and level <= self._preemptions and found.pending <= ledger.MOST_DRAWN:
                    self._sample_level(self._with_one_more(level, branches))
                return True
            self._explorer.progress(f"{found.pending:,} schedules with {preemptions(level)}")
            mark = limit.mark(self._beside_samples(ledger.NEARLY_ALL), found.pending)
            schedules = self._with_one_more(level, branches)
            drawn = self._sampling and not limit.counted and found.pending <= ledger.MOST_DRAWN
            branches = self._level(self._shuffled(schedules) if drawn else schedules, mark, drawn=drawn)
        return False

    def _shuffled(self, schedules: Iterable[Schedule]) -> list[Schedule]:
        shuffled = list(schedules)
        random.Random(f"{self._seed}.{self._share[0]}").shuffle(shuffled)
        return shuffled

    def _beside_samples(self, share: float) -> float:
        """The share of what is left for a level of the enumeration: all of it if nothing is sampled, otherwise this one at most.

        It is less if that leaves time for as many samples as a claim needs: a level that is not complete does not count.
        """
        if not self._sampling:
            return 1.0
        needed, left = (FEWEST - self.found.counting) * ledger.BRANCHING * self._explorer.pace, self._limit.left()
        return min(share, 1 - needed / left) if 0 < needed < left else share

    def _sample_level(self, schedules: Iterable[Schedule]) -> None:
        """Run some of these, each once: a random walk seldom makes so few preemptions, and a bug seldom needs more."""
        found, mark = self.found, self._limit.mark(ledger.OF_LEVEL)
        for schedule in self._shuffled(schedules):
            if self._limit.reached(mark) or self._sampled_enough or found.failure is not None:
                return
            _, found.failure = self._explorer.follow(schedule)
            found.sampled += 1

    def _with_one_more(self, level: int, branches: list[Branch]) -> Iterable[Schedule]:
        """The schedules with one preemption more than these have."""
        return self._mine(level, (one for branch in branches for one in branch.preempted()))

    def _level(self, schedules: Iterable[Schedule], mark: float, *, drawn: bool = False) -> list[Branch] | None:
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
            if self._limit.reached(mark):
                self.found.sampled += samples
                self.found.enumerated -= samples
                return None
            samples += drawn and not forced
            run, failure = self._explorer.follow(schedule, recording=True, measuring=self._gil)
            self.found.enumerated += 1
            if not self._explorer.events.tables_unchanged():
                raise _MoreSteps
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
            branches.append(replace(Branch.off(schedule, run, gil=self._gil), readings=readings))

    def _mine(self, level: int, schedules: Iterable[Schedule]) -> Iterable[Schedule]:
        """This share of the schedules with one preemption. Those with more branch off from them, so they need no division."""
        which, of = self._share
        return islice(schedules, which, None, of) if level == 1 else schedules

    def _sample(self, sequential: list[ScheduleRun]) -> None:
        """Run sampled schedules until the limit is reached."""
        if not self._sampling or self.found.failure is not None:
            return
        self._explorer.progress("sampled schedules")
        with self._samples(sequential) as (draw, every_step, points):
            while not self._sampled_enough and self.found.failure is None:
                if self._focus is not None and self._too_long_for_every_step():
                    self._sample_in_focus(draw, self._focus)
                    self._focus = None  # its steps are others now, or it is over
                    continue
                if not self._explorer.events.tables_unchanged():
                    self._focus = None
                seldom = not self._limit.counted and self.found.sampled < FEWEST
                self._portfolio(draw.randrange(1 << 32), every_step, points, seldom=seldom)

    @contextmanager
    def _samples(self, sequential: list[ScheduleRun]) -> Iterator[tuple[random.Random, list[int], int]]:
        """What samples at every step are made of: random numbers, the steps of each thread, and the points of a run."""
        longest = max(sequential, key=lambda run: run.points)
        every_step = [longest.lengths.get(index, 1) for index in range(max(longest.lengths, default=0) + 1)]
        self._explorer.engine.gil_only = self._gil
        try:
            yield random.Random(f"{self._seed}.{self._share[0]}"), every_step, longest.points
        finally:
            self._explorer.engine.gil_only = False

    def _passes_test(self, sequential: list[ScheduleRun]) -> bool:
        """Run samples when no conflict is left; first at visible steps, then at every instruction. None may fail, or have more or
        fewer points than the orders if the threads share nothing.

        They take no notice of what a step touches, and then of which instructions are steps. So if either is told wrongly, they
        find most bugs: 19 of 20 in the corpus.
        """
        explorer, found = self._explorer, self.found
        same = self._test(sequential)
        if found.failure is None and not explorer.events.frozen:
            explorer.events.names.show_everything(True)
            sequential[:] = explorer.measured()
            same = self._test(sequential) and same
            if found.failure is None:
                explorer.events.names.show_everything(False)
                sequential[:] = explorer.measured()
        return found.failure is None and same

    def _test(self, sequential: list[ScheduleRun]) -> bool:
        """Run samples of all kinds; returns whether each has as many points as the others, or may have more or fewer.

        Raises:
            _MoreSteps: there are more visible steps than were known, so what is to be tested is void.
        """
        found, limit = self.found, self._limit
        with self._samples(sequential) as (draw, every_step, points):
            fit = max(ledger.LEAST_TEST, ledger.TESTED_POINTS // max(1, points))
            samples = min(ledger.AFTER_INDEPENDENCE, fit) if found.independent else ledger.AFTER_CONFLICTS
            few = samples < ledger.AFTER_INDEPENDENCE
            before, mark, same = found.sampled, limit.mark(ledger.TESTING, samples), True
            while (left := before + samples - found.sampled) > 0 and found.failure is None and not limit.reached(mark):
                first = left == samples
                seen = self._portfolio(
                    draw.randrange(1 << 32), every_step, points, seldom=few and not first, most=1 if few and first else left
                )
                same = same and (not found.independent or seen <= {points})
                if not self._explorer.events.tables_unchanged():
                    raise _MoreSteps
        return same

    def _sample_in_focus(self, draw: random.Random, focus: Focus) -> None:
        """Run samples that switch only where several threads touch the same, until the limit is reached."""
        explorer, found = self._explorer, self.found
        lengths = [focus.lengths.get(index, 1) for index in range(max(focus.lengths, default=0) + 1)]
        explorer.hide(focus.hidden)
        while not self._sampled_enough and found.failure is None and explorer.events.tables_unchanged():
            before = found.sampled
            self._portfolio(draw.randrange(1 << 32), lengths, found.focus, seldom=True, focused=True)
            found.focused += found.sampled - before
        explorer.hide({})
        if found.failure is not None:
            found.failure = explorer.with_every_step(found.failure, focus.hidden)

    def _portfolio(
        self, seed: int, lengths: list[int], points: int, *, seldom: bool, most: int = 10, focused: bool = False
    ) -> set[int]:
        """Ten samples: four uniform walks, three partial orders, three priorities; fewer if the limit is reached.

        Args:
            seldom: priorities alone, which switch twice and not at every other step: a tenth of the time, in a long program.
                The first samples of a search by time are these: only their number bounds what was missed.
            most: of these samples.
            focused: whether some steps are hidden.

        Returns:
            The numbers of points of these runs.
        """
        found, seen = self.found, set[int]()
        for policy in islice(portfolio(Random(seed), lengths, points, seldom=seldom), most):
            if self._limit.reached():
                break
            run, found.failure = self._explorer.once(policy)
            seen.add(run.points)
            found.sampled += 1
            found.priorities += isinstance(policy, Priorities) and not focused
            if found.failure is not None:
                break
        return seen


def forced_alternatives(run: ScheduleRun | RunSummary, last: int) -> Iterator[Schedule]:
    """The schedules that differ from a recorded run in one choice after this point, where a thread could not continue."""
    for point, candidates, taken, late in run.forks:
        if point > last:
            for other in (*candidates, *late):
                if other != taken:
                    yield Schedule((*run.schedule.choices[: _before(run.schedule, point)], Choice(point, other, True)))


def portfolio(draw: Random, lengths: list[int], points: int, *, seldom: bool = False) -> Iterator[Policy]:
    """Ten policies of samples: four uniform walks, three partial orders, three priorities.

    Args:
        lengths: the visible steps of each of the program's threads.
        points: of a run.
        seldom: priorities alone, which switch seldom.
    """
    for index in range(10):
        if seldom or index % 3 == 2:
            yield Priorities(draw, points, PCT_DEPTH)
        elif index % 3 == 0:
            yield UniformWalk(draw, lengths)
        else:
            yield PartialOrder(draw)


def _before(schedule: Schedule, point: int) -> int:
    return sum(choice.point < point for choice in schedule.choices)
