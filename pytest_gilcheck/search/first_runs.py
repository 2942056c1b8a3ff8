"""The schedules of runs of which each is the first one of its process: by conflicts, then all with one preemption, then samples.

There is no sequential order that shows first what a search in one process knows, and each run is dear. So conflicts come first
(`Reduction`), without a record where records take too long, and what each run says of its branches is kept (`KnownSchedules`). If
all is known of the runs and no conflict is left, all other schedules do the same as one of these, and a few samples test that.
"""

from __future__ import annotations

from _random import Random
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from ..core.clocks import monotonic
from ..engine.running.policy import Planned, Policy
from ..engine.schedule import Schedule
from ..engine.summary import PLAIN, RunSummary, Want
from .enumeration import Branch, forced_alternatives
from .here import Executor
from .ledger import FEWEST, NEARLY_ALL, Ledger
from .orders import Order
from .plan import EXHAUSTIVE, GIL_POINTS, FuzzPlan
from .reduction import Reduction
from .samples import portfolio

_SAMPLES = 60
_SHARE = 0.6  # of the time that is left, for schedules that turn a conflict round
_TO_TELL = 5  # schedules, after which it is told whether the others of their kind fit


class KnownSchedules:
    """The schedules with at most one preemption that are known, and were not run.

    Attributes:
        waiting: those, and perhaps some that have been run.
        complete: whether all are known once none is left: the first was run, and each run has said what branches off from it.
    """

    def __init__(self) -> None:
        self.waiting = deque[Schedule]()
        self._run = set[Schedule]()
        self._lost = False

    @property
    def complete(self) -> bool:
        return bool(self._run) and not self._lost

    def next(self) -> Schedule | None:
        """The next one; None if none is left."""
        while self.waiting:
            if (schedule := self.waiting.popleft()) not in self._run:
                return schedule
        return None

    def add(self, schedule: Schedule, did: RunSummary | None, *, gil: bool) -> None:
        """Take note of what branches off from a schedule that was run.

        Args:
            did: what its run was like, with its choices; None if its process has died.
        """
        self._run.add(schedule)
        if did is None or did.failed:
            self._lost = self._lost or did is None
            return
        branch = Branch.off(schedule, did, gil=gil)
        if schedule.preemptions <= 1:
            self.waiting.extend(forced_alternatives(did, branch.last))
        if not schedule.preemptions:
            self.waiting.extend(branch.preempted())


class FirstRuns:
    """Searches such schedules.

    Args:
        executor: has a process of its own for each run.
        alike: by thread of the program, the first one that does the same.
        doubt: see `Reduction`.

    Attributes:
        pace: seconds of a run; 0 if that is not known.
        runs: the number of schedules that were run to find one that fails.
        settled: whether no conflict is left that was seen, and all is known of these runs.
        all_with_one: whether all schedules with one preemption were run.
        untried: likely conflicts that were not turned round.
        not_known: whether a run was not all under control, or showed of names what its step tables did not know.
    """

    def __init__(self, executor: Executor, alike: tuple[int, ...], plan: FuzzPlan, deadline: Ledger, doubt: str = "") -> None:
        self._executor, self._alike, self._plan, self._deadline, self._doubt = executor, alike, plan, deadline, doubt
        self.pace = 0.0
        self.runs = self.untried = self._samples = 0
        self.settled = self.all_with_one = self.not_known = False
        self._blind = False  # whether a record has given up, so that not all likely conflicts are known

    @property
    def claim(self) -> str:
        """What can be said of the schedules that were run, in words; empty if that is too little for a claim."""
        if self.not_known or self._plan.mode == EXHAUSTIVE or self._plan.share[1] > 1:
            return ""
        if self.settled and self._samples >= _SAMPLES:
            turned = self.runs - self._samples
            return f"{turned:,} schedules leave no conflict untried that was seen, and {self._samples} samples: no failure"
        if self.runs < FEWEST:
            return ""
        if not self.all_with_one and (self.untried or self._blind):
            return ""
        which = "all with at most one preemption" if self.all_with_one else "all that turn a likely conflict round"
        return f"{self.runs:,} schedules, each in a process of its own, {which} among them: no failure"

    def failing(self, lengths: Mapping[int, int], points: int) -> Iterator[Schedule]:
        """Schedules that have failed once.

        Args:
            lengths, points: of the longest run in order: the visible steps of each thread, and all points.
        """
        until, most = self._deadline.until, self._plan.own_schedules

        def over() -> bool:
            return self._deadline.is_past(until) or (most is not None and self.runs >= most)

        yield from self.by_conflicts_and_one_preemption(until, over, gil=self._plan.mode == GIL_POINTS)
        each = [lengths.get(index, 1) for index in range(max(lengths, default=0) + 1)]
        draw = Random(f"{self._plan.seed}.{self._plan.share[0]}.first")
        while not (over() or self._enough_samples or self._plan.mode == EXHAUSTIVE):
            few = most is None and self.runs < FEWEST  # of a long program, those that switch seldom take a fraction of the time
            for policy in portfolio(draw, each, points, seldom=few):
                if over():
                    break
                self._samples += 1
                self.runs += 1
                if (did := self._ran(policy, PLAIN)) is not None and did.failed:
                    yield did.schedule

    @property
    def _enough_samples(self) -> bool:
        return self._samples >= _SAMPLES and (self.runs >= FEWEST or self._is_settled)

    @property
    def _is_settled(self) -> bool:
        """Whether that is so still: of a sample, too, all has to be known."""
        return self.settled and not self.not_known

    def by_conflicts_and_one_preemption(self, until: float, over: Callable[[], bool], *, gil: bool) -> Iterator[Schedule]:
        """Likewise, without samples.

        Args:
            until: by `monotonic`, when the time for them ends.
            over: whether no more are to be run.
            gil: whether to preempt only where a build with a GIL can switch.
        """
        known = KnownSchedules()
        yield from self._by_conflicts(until, over, known, gil=gil)
        if not self._is_settled:
            yield from self._with_one_preemption(until, over, known, gil=gil)

    def _by_conflicts(self, until: float, over: Callable[[], bool], known: KnownSchedules, *, gil: bool) -> Iterator[Schedule]:
        begun, before, by_count = monotonic(), self.runs, gil or self._by_count

        def ends() -> float:
            """When what is left is for as many samples as a claim needs, which is none without these either."""
            for_samples = max(_SAMPLES, FEWEST - self.runs) * self.pace
            return begun + _SHARE * (until - begun) if by_count or for_samples >= until - begun else until - for_samples

        def fits(runs: int, seconds: float) -> bool:
            return by_count or monotonic() + runs * seconds <= ends()

        def record_until() -> float:
            return until if by_count else ends() + (1 - NEARLY_ALL) * (until - begun)  # the last one may end, too

        def is_late() -> bool:
            return monotonic() > begun + NEARLY_ALL * (until - begun)

        reduction = Reduction(self._alike, gil, self._doubt, fits=fits, until=record_until, pace=self.pace)
        failed = False
        while not over() and (monotonic() <= ends() or (reduction.frontier.likely and not is_late())):
            if (proposed := reduction.propose()) is None:
                self.settled = not (gil or failed or reduction.doubt)
                break
            self.runs = before + reduction.runs
            did = self._ran(proposed.how, proposed.want)
            if did is not None:
                reduction.saw(proposed, did)
            if proposed.want.touched and proposed.schedule is not None:
                known.add(proposed.schedule, did, gil=gil)
            if did is not None and did.failed:
                failed = True
                yield did.schedule
        self.untried = reduction.frontier.likely
        self.not_known = self.not_known or bool(reduction.torn)

    def _with_one_preemption(
        self, until: float, over: Callable[[], bool], known: KnownSchedules, *, gil: bool
    ) -> Iterator[Schedule]:
        begun, made = monotonic(), 0
        while (schedule := known.next()) is not None:
            each = (monotonic() - begun) / made if made >= _TO_TELL and not (gil or self._by_count) else 0.0
            if over() or monotonic() + each * len(known.waiting) > until:
                return  # samples see more of a long run than its first steps
            self.runs, made = self.runs + 1, made + 1
            did = self._ran(Planned(schedule), Want(choices=True, switches=gil))
            known.add(schedule, did, gil=gil)
            if did is not None and did.failed:
                yield did.schedule
        self.all_with_one = known.complete

    @property
    def _by_count(self) -> bool:
        """Whether a number of schedules is asked for: such a search decides by counts alone."""
        return self._plan.own_schedules is not None

    def _ran(self, how: Policy | Order, want: Want) -> RunSummary | None:
        """What the run in a process of its own was like; None if it has ended that."""
        did = self._executor.run(how, want)
        if did is None:
            self.not_known = True
            return None
        self._blind = self._blind or (did.touched is not None and did.touched.gave_up)
        self.not_known = self.not_known or not (did.failed or (did.known and not did.readings))
        return did
