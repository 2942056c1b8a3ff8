"""The schedules of a program's first run, each in a process of its own in which nothing has run.

What is made once and kept, such as a client that the first caller makes, is raced for in the first run of a process and in no later
one, unless the setup makes it anew. So a search in one process says nothing of that race (`Unrepeatable`). Here every schedule gets
a fork of a process in which the program has not run yet. The search before has learnt which names change; with that, the visible
steps of code that has never run are those that it would have later. Schedules that turn a conflict round come first (`Frontier`),
without a record where records take too long, then all with one preemption, if there is time for them, then samples.

A failure found here is one of the program. That none is found is a pass only if the later runs pass as well, if enough schedules
were run, and if a run in a fork takes the path of the first of all runs, instruction by instruction: what is kept in files, or by
another process, is the same in every fork.
"""

from __future__ import annotations

from _random import Random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.clocks import monotonic
from ...core.durations import seconds
from ...core.fork_safety import NoFork
from ...core.verdict import Verdict
from ...engine.program import Program
from ...engine.running.covered import Covered
from ...engine.running.events import Events
from ...engine.running.journal import Journal
from ...engine.running.policy import Planned, PlannedAndLeft, Policy
from ...engine.schedule import Choice, Schedule, Token
from ...engine.touched.trace import Trace
from ...search.deadline import Deadline
from ...search.explorer import Explorer, SequentialBaseline, Symptom
from ...search.frontier import Frontier, WithoutRecord
from ...search.harness import installed
from ...search.orders import Order, further_orders, orders_of
from ...search.plan import EXHAUSTIVE, GIL_POINTS, FuzzPlan
from ...search.reduction import Reduction
from ...search.search import FEWEST, Branch, forced_alternatives, portfolio
from ..check import check_followed, check_program, does_not_fail
from ..failing import Left
from ..result import FuzzResult
from .apart import ApartExamination, Seen, recorded
from .attempt import Attempt
from .examination import Learnt

_PASSES = 2  # of the sequential orders, before any schedule
_SAMPLES = 60
_FEW = 60  # schedules of the first run of a program that holds, and leaves itself in another state after each run
_SHARE = 0.6  # of the time that is left, for schedules that turn a conflict round
_TO_TELL = 5  # schedules, after which it is told whether the others of their kind fit
_LIKELY = 0.9  # likewise, as long as some of likely conflicts are left


@dataclass(frozen=True)
class _Order:
    """What a sequential order does in a process of its own.

    Attributes:
        fails: whether it raises, breaks the invariant or does not end.
        steps: without those in which a thread polled.
        points: of the run.
        lengths: the visible steps of each thread.
        path: a checksum of where the run came.
        unforeseen: what it has shown of names too late for its step tables.
        codes: the ids of the code under test that has started.
        known: whether all of it was under control.
    """

    baseline: SequentialBaseline
    fails: bool
    steps: int
    points: int
    lengths: dict[int, int]
    path: int
    unforeseen: tuple[int, ...]
    codes: frozenset[int]
    known: bool


@dataclass(frozen=True)
class _Went:
    """What a run did: the failure, if there was one, where it went, and whether all was under control and known before."""

    seen: Seen | None
    unused: Choice | None
    schedule: Schedule
    anchors: list[str]
    points: int
    known: bool


@dataclass(frozen=True)
class _Branched:
    """What became of a schedule.

    Attributes:
        failed: the schedule of the run, if it failed.
        frontier: what is to be tried, with what turns a conflict of the run round; None if the run was not recorded.
        branch: all that branches off from it with one more preemption.
        forced: the schedules that differ from it in a choice where a thread could not continue.
        known: whether all of it was under control and known before, and no clock was read.
    """

    frontier: Frontier | None = None
    failed: Schedule | None = None
    branch: Branch | None = None
    forced: tuple[Schedule, ...] = ()
    known: bool = False


class _KnownSchedules:
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

    def add(self, schedule: Schedule, did: _Branched) -> None:
        """Take note of what branches off from a schedule that was run."""
        self._run.add(schedule)
        self._lost = self._lost or (did.branch is None and did.failed is None)
        if schedule.preemptions <= 1:
            self.waiting.extend(did.forced)
        if did.branch is not None and not schedule.preemptions:
            self.waiting.extend(did.branch.preempted())


def searched(program: Program, plan: FuzzPlan, left: Left, deadline: Deadline, progress: Callable[[str], None]) -> FuzzResult:
    """The result of a search of the first run, or that of the search before, with what was tried here.

    Args:
        left: by a search in one process.
    """
    progress("schedules of the first run, each in a process of its own")
    template = replace(left.result, conclusion=Verdict.VIOLATED, failure=None)
    if left.result.verdict is Verdict.HOLDS:  # each run changes something, so later ones show most: a few schedules of the first
        most = min(_FEW, plan.own_schedules or _FEW)
        plan = replace(plan, schedules=most, share=(0, 1))
    learnt = Learnt(left.learnt, left.draw, setup_at_home=left.setup_at_home)
    examination = _FirstRuns(program, plan, template, learnt, deadline, progress)
    if examination.no_time_for(_PASSES * len(orders_of(len(program.threads))), left.first_seconds):
        why = f"there was no time to search the first run, which took {seconds(left.first_seconds)}"
        return replace(left.result, reason=f"{left.result.reason}; {why}")
    try:
        found = examination.search()
    except NoFork:
        found = None
    runs = examination.runs
    if found is not None:
        coverage = f"{runs:,} schedule{'s' * (runs != 1)} of a first run until one failed"
        return replace(found, schedules=left.result.schedules + runs, coverage=coverage)
    if not runs:
        return left.result
    if left.held is not None and (claim := examination.claim(left.path)):
        held, alone = left.held
        reason = f"{held.reason}; of the first run, which {alone}, {claim}"
        return replace(held, reason=reason, schedules=left.result.schedules + runs)
    tried = f"{runs:,} schedules of the first run were tried, each in a process of its own, and none failed"
    return replace(left.result, reason=f"{left.result.reason}; {tried}", schedules=left.result.schedules + runs)


def replayed(
    program: Program, plan: FuzzPlan, token: Token, template: FuzzResult, deadline: Deadline, progress: Callable[[str], None]
) -> FuzzResult:
    """The result of following a token of a first run.

    Raises:
        ReplayDiverged: the run does not go where the token says.
        NoFork: there can be no other process.
    """
    check_program(token, program)
    progress("replaying in a process of its own")
    template = replace(template, conclusion=Verdict.VIOLATED, coverage="one schedule, replayed")
    return _FirstRuns(program, plan, template, Learnt(token.learnt, token.draw), deadline, progress).replayed(token)


class _FirstRuns(ApartExamination):
    """Searches the schedules of a first run, and examines one that fails.

    Attributes:
        runs: the number of schedules that were run to find one that fails.
    """

    _why_apart = "only the first run of a process can fail so, and each replay had a process of its own"
    _first = True

    _baseline = SequentialBaseline()  # until the sequential orders have run
    _orders: Sequence[_Order] = ()
    _events: Events
    _explorer_of: Callable[[Journal], Explorer]
    _all_with_one = False  # whether all schedules with one preemption were run
    _untried = 0  # likely conflicts that were not turned round
    _record_until = 0.0  # by `monotonic`
    _pace = 0.0  # seconds of a run in a process of its own
    _not_known = False  # whether a run was not all under control, or showed of names what its step tables did not know
    _minimising_over: Callable[[], bool] | None = None
    _attempts = 0
    runs = 0

    def search(self) -> FuzzResult | None:
        """The result for the first schedule that fails, and fails again; None if there is none, or if every order fails."""
        with installed(self._program, self._plan) as (self._events, self._explorer_of):
            if not self._begins(in_time=True):
                return None
            for found in self._failing():
                if (result := self.result(found, broken=True)) is not None:
                    return result
                self._not_known = True  # it failed once, and not again
        return None

    def replayed(self, token: Token) -> FuzzResult:
        """The result of following a token."""
        with installed(self._program, self._plan) as (self._events, self._explorer_of):
            result = self._replayed(token)
        return replace(result, schedules=self._attempts)

    def _replayed(self, token: Token) -> FuzzResult:
        if not self._begins(in_time=False):
            return replace(self._template, conclusion=Verdict.INCONCLUSIVE, reason="every sequential order fails, or does not end")
        went = self._answer(lambda explorer: _follow(explorer, Planned(token.schedule)))
        if went is None:
            why = "the process of the replay ended before its time"
            return replace(self._template, conclusion=Verdict.INCONCLUSIVE, reason=why)
        check_followed(token, went.unused, went.schedule, went.anchors, went.points if went.seen is None else None)
        if went.seen is None:
            return replace(self._template, conclusion=Verdict.HOLDS, reason=does_not_fail(token))
        result = self.result(token.schedule, broken=False)
        assert result is not None, "the schedule has failed in a process of its own"
        return result

    def claim(self, path: int) -> str:
        """What can be said of the schedules that were run, in words; empty if that is too little for a claim.

        Args:
            path: a checksum of where the first of all runs came.
        """
        orders, plan = self._orders, self._plan
        if not orders or orders[0].path != path or any(order.fails or not order.known for order in orders):
            return ""
        if self._not_known or self.runs < FEWEST or plan.mode == EXHAUSTIVE or plan.share[1] > 1:
            return ""
        if not self._all_with_one and self._untried:
            return ""
        which = "all with at most one preemption" if self._all_with_one else "all that turn a likely conflict round"
        return f"{self.runs:,} schedules, each in a process of its own, {which} among them: no failure"

    def _begins(self, *, in_time: bool) -> bool:
        """Run the sequential orders; returns whether one of them does not fail.

        Twice: the first time shows which code starts, and of names what its step tables have to know. These are made here, once for
        all forks: each would spend most of its time on them. A replay makes the same.

        Args:
            in_time: whether to give up if there is no time for the second time, and so for no schedule.
        """
        if not self._runs_in_order() or (in_time and self.no_time_for(len(self._orders), self._pace)):
            return False
        self._learnt = tuple(sorted({*self._learnt, *(fact for order in self._orders for fact in order.unforeseen)}))
        self._events.foresee(frozenset().union(*(order.codes for order in self._orders)), self._learnt)
        return self._runs_in_order()

    def no_time_for(self, runs: int, pace: float) -> bool:
        """Whether the time ends before so many runs have, of so many seconds each."""
        return self._deadline.is_past(self._deadline.until - runs * pace)

    def _runs_in_order(self) -> bool:
        for at_home in dict.fromkeys((self._setup_at_home, FREE_THREADED_BUILD)):
            self._setup_at_home = at_home
            self._orders = orders = list[_Order]()
            first = orders_of(len(self._program.threads))
            for order in first:
                begun = monotonic()
                did = self._answer(lambda explorer, order=order: _in_order(explorer, order))  # type: ignore[misc]
                if did is None:  # it has ended its process, or hangs, and so would every other run
                    return False
                self._pace = monotonic() - begun
                orders.append(did)
            if not all(each.fails for each in orders):
                self._baseline = self._common(first)
                return True
        return False

    def _common(self, first: list[Order]) -> SequentialBaseline:
        """What all orders have in common: as long as there is something, more of them run than those at first."""
        common = SequentialBaseline.common(each.baseline for each in self._orders)
        for order in further_orders(dict.fromkeys(first, ())):
            if not (common.expected or common.left) or self._deadline.is_past(self._deadline.until):
                break
            did = self._answer(lambda explorer, order=order: _in_order(explorer, order))  # type: ignore[misc]
            if did is not None:
                common = SequentialBaseline.common((common, did.baseline))
        return common

    def _failing(self) -> Iterator[Schedule]:
        """Schedules that have failed once: by conflicts, then all with one preemption, then samples."""
        until, most = self._deadline.until, self._plan.own_schedules

        def over() -> bool:
            return self._deadline.is_past(until) or (most is not None and self.runs >= most)

        yield from self._by_conflicts_and_one_preemption(until, over, gil=self._plan.mode == GIL_POINTS)
        longest = max(self._orders, key=lambda order: order.points)
        lengths = [longest.lengths.get(index, 1) for index in range(max(longest.lengths, default=0) + 1)]
        draw = Random(f"{self._plan.seed}.{self._plan.share[0]}.first")
        samples = 0
        while (samples < _SAMPLES or self.runs < FEWEST) and not over() and self._plan.mode != EXHAUSTIVE:
            few = most is None and self.runs < FEWEST  # of a long program, those that switch seldom take a fraction of the time
            for policy in portfolio(draw, lengths, longest.points, seldom=few):
                if over():
                    break
                samples += 1
                if (failed := self._plain(policy)) is not None:
                    yield failed

    def _by_conflicts_and_one_preemption(self, until: float, over: Callable[[], bool], *, gil: bool) -> Iterator[Schedule]:
        known = _KnownSchedules()
        yield from self._by_conflicts(until, over, known, gil=gil)
        yield from self._with_one_preemption(until, over, known, gil=gil)

    def _by_conflicts(self, until: float, over: Callable[[], bool], known: _KnownSchedules, *, gil: bool) -> Iterator[Schedule]:
        begun, by_count = monotonic(), gil or self._by_count
        samples = FEWEST * self._pace / max(until - begun, self._pace)
        share = _SHARE if by_count or samples >= 1 else min(_SHARE, 1 - samples)
        self._record_until = until if by_count else begun + share * (until - begun)  # the rest is for runs without a record
        without = WithoutRecord(Frontier())

        def past(part: float) -> bool:
            return over() or monotonic() > begun + part * (until - begun)

        def fits(runs: int, seconds: float) -> bool:
            return by_count or monotonic() + runs * seconds <= begun + share * (until - begun)

        while not past(share) or (without.frontier.likely and not past(_LIKELY)):
            before = monotonic()
            if (schedule := without.next(True)) is not None:
                if (failed := self._plain(PlannedAndLeft(schedule))) is not None:
                    yield failed
                without.took(monotonic() - before)
                continue
            if (schedule := without.frontier.again()) is None:
                if (schedule := without.frontier.next()) is None:
                    break
                self.runs += 1
            did = self._branches(schedule, without.frontier, gil=gil)
            known.add(schedule, did)
            if did.failed is not None:
                yield did.failed
            without.frontier = did.frontier or without.frontier
            without.recorded(monotonic() - before, fits)
        self._untried = without.frontier.likely

    def _with_one_preemption(
        self, until: float, over: Callable[[], bool], known: _KnownSchedules, *, gil: bool
    ) -> Iterator[Schedule]:
        begun, made = monotonic(), 0
        while (schedule := known.next()) is not None:
            each = (monotonic() - begun) / made if made >= _TO_TELL and not (gil or self._by_count) else 0.0
            if over() or monotonic() + each * len(known.waiting) > until:
                return  # samples see more of a long run than its first steps
            self.runs, made = self.runs + 1, made + 1
            did = self._branches(schedule, None, gil=gil)
            known.add(schedule, did)
            if did.failed is not None:
                yield did.failed
        self._all_with_one = known.complete

    @property
    def _by_count(self) -> bool:
        """Whether a number of schedules is asked for: such a search decides by counts alone."""
        return self._plan.own_schedules is not None

    def _plain(self, policy: Policy) -> Schedule | None:
        """The schedule of a run under this policy, if that fails."""

        def job(explorer: Explorer) -> tuple[Schedule | None, bool]:
            run, failure = explorer.once(policy)
            return (None if failure is None else run.schedule), _all_known(explorer)

        self.runs += 1
        failed, known = self._answer(job) or (None, False)
        self._not_known = self._not_known or not known
        return failed

    def _branches(self, schedule: Schedule, frontier: Frontier | None, *, gil: bool) -> _Branched:
        """Run a schedule, and record what it touches if its conflicts are to be entered into a frontier."""

        def job(explorer: Explorer) -> _Branched:
            trace = Trace(explorer.engine, until=self._record_until)
            with nullcontext() if frontier is None else trace:
                run, failure = explorer.follow(schedule, recording=True, measuring=gil)
            if failure is not None:
                return _Branched(failed=run.schedule, known=True)
            if frontier is not None:
                Reduction(explorer, gil=gil, frontier=frontier).examine(schedule, run, trace)
            known = _all_known(explorer) and not (trace.gave_up or run.readings)
            branch = Branch.off(schedule, run, gil=gil)
            return _Branched(frontier, None, branch, tuple(forced_alternatives(run, branch.last)), known)

        did: _Branched = self._answer(job) or _Branched()
        self._not_known = self._not_known or not did.known
        return did

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        before, self._all_with_one = self.runs, False
        for failed in self._by_conflicts_and_one_preemption(until, lambda: self._deadline.is_past(until), gil=True):
            if self._fails([Planned(failed)]) is not None:
                return failed, False
        return None, not self._all_with_one and self.runs - before < FEWEST

    def _answer(self, job: Callable[[Explorer], Any]) -> Any:
        self._attempts += 1
        return super()._answer(job)

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Seen | None:
        for policy in policies:
            if len(policies) > 1 and self._minimising_over is not None and self._minimising_over():
                return None
            went = self._answer(lambda explorer, policy=policy: _follow(explorer, policy))  # type: ignore[misc]
            self._not_known = self._not_known or went is None or not went.known
            if went is not None and went.seen is not None:
                self._program.output.keep()
                return went.seen if symptom in (None, went.seen.symptom) else None
        return None

    def _minimising(self) -> Callable[[], bool]:
        self._minimising_over = over = super()._minimising()
        return over

    @contextmanager
    def _begin(self, journal: Journal) -> Iterator[Explorer]:
        explorer = self._explorer_of(journal)
        self._program.terse()
        explorer.engine.chance.draw, explorer.engine.gil_only = self._draw, self._plan.mode == GIL_POINTS
        explorer.events.names.learn_before_any_run(self._learnt)
        explorer.baseline, explorer.setup_at_home = self._baseline, self._setup_at_home
        if steps := [order.steps for order in self._orders]:
            explorer.engine.learn_length(min(steps), max(steps), max(order.points for order in self._orders))
        yield explorer

    def _done_with(self, tried: Attempt) -> None:
        """Close the journal of an attempt: what it has learnt is known already, in part."""
        tried.journal.close()


def _in_order(explorer: Explorer, order: Sequence[int]) -> _Order:
    covered = Covered()
    with explorer.events.covering(covered):
        run, failure = explorer.in_order(order, measuring=True)
    return _Order(
        explorer.baseline_of(run),
        failure is not None,
        run.points - run.wasted,
        run.points,
        run.lengths,
        covered.digest,
        explorer.events.unforeseen(),
        explorer.events.codes,
        not explorer.uncontrolled,
    )


def _follow(explorer: Explorer, policy: Policy) -> _Went:
    run, seen = recorded(explorer, policy)
    unused = policy.unused if isinstance(policy, Planned) else None
    return _Went(seen, unused, run.schedule, run.anchors, run.points, _all_known(explorer))


def _all_known(explorer: Explorer) -> bool:
    """Whether a run was under control, and has shown nothing of names that its step tables did not know."""
    return not (explorer.uncontrolled or explorer.events.names.grown)
