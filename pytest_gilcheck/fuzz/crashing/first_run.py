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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.clocks import monotonic
from ...core.durations import seconds
from ...core.fork_safety import NoFork
from ...core.verdict import Verdict
from ...engine.outcome import SequentialBaseline, Symptom
from ...engine.program import Program
from ...engine.running.covered import Covered
from ...engine.running.events import Events
from ...engine.running.journal import Journal
from ...engine.running.policy import Planned, Policy
from ...engine.schedule import Schedule, Token
from ...engine.summary import RunSummary, Want
from ...engine.touched.summarised import alike, doubt_of_threads
from ...search.explorer import Explorer
from ...search.first_runs import FirstRuns
from ...search.harness import installed
from ...search.here import outcome_of
from ...search.ledger import FEWEST, Ledger
from ...search.orders import Order, further_orders, orders_of
from ...search.plan import GIL_POINTS, FuzzPlan
from ..failing import Left
from ..replay import check_followed, check_program, does_not_fail
from ..result import FuzzResult
from .examination import Broken, Learnt
from .own_process import ApartExamination, recorded

_PASSES = 2  # of the sequential orders, before any schedule
_FEW = 60  # schedules of the first run of a program that holds, and leaves itself in another state after each run


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
        doubt: why nothing follows from any run of the program; empty if there is no reason.
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
    doubt: str


class _Went(NamedTuple):
    """What a run was like, and how it failed, if it did."""

    did: RunSummary
    seen: Broken | None


def searched(program: Program, plan: FuzzPlan, left: Left, deadline: Ledger, progress: Callable[[str], None]) -> FuzzResult:
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
    passes = left.failure is None and left.result.failure is None  # each later run, without any concurrency
    if examination.no_time_for(_PASSES * len(orders_of(len(program.threads))), left.first_seconds):
        why = f"there was no time to search the first run, which took {seconds(left.first_seconds)}"
        return replace(left.result.after(why), late=passes)
    try:
        found = examination.search()
    except NoFork:
        found = None
    runs = examination.schedules.runs
    if found is not None:
        coverage = f"{runs:,} schedule{'s' * (runs != 1)} of a first run until one failed"
        return replace(found, schedules=left.result.schedules + runs, coverage=coverage)
    late = passes and examination.late
    if not runs:
        return replace(left.result, late=late)
    if left.held is not None and (claim := examination.claim(left.path)):
        held, alone = left.held
        reason = f"{held.reason}; of the first run, which {alone}, {claim}"
        return replace(held, reason=reason, schedules=left.result.schedules + runs)
    tried = f"{runs:,} schedules of the first run were tried, each in a process of its own, and none failed"
    return replace(left.result.after(tried), schedules=left.result.schedules + runs, late=late)


def replayed(
    program: Program, plan: FuzzPlan, token: Token, template: FuzzResult, deadline: Ledger, progress: Callable[[str], None]
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
        schedules: those that were run to find one that fails.
    """

    _besides = "; only the first run of a process can fail so, and each replay had a process of its own"
    _first = True
    _learns = False  # what one of them learns is known already, in part

    _baseline = SequentialBaseline()  # until the sequential orders have run
    _orders: Sequence[_Order] = ()
    _events: Events
    _explorer_of: Callable[[Journal], Explorer]
    _pace = 0.0  # seconds of a run in a process of its own
    _no_time = False  # for any schedule
    _minimising_over: Callable[[], bool] | None = None

    @cached_property
    def schedules(self) -> FirstRuns:
        """Those that are searched."""
        return self._new_schedules()

    @property
    def late(self) -> bool:
        """Whether more time might have been enough for a claim."""
        return self._no_time or (self._deadline.is_past(self._deadline.until) and not self.schedules.not_known)

    def _new_schedules(self) -> FirstRuns:
        doubt = next((order.doubt for order in self._orders if order.doubt), "")
        return FirstRuns(self._forks, alike(self._program), self._plan, self._deadline, doubt)

    def search(self) -> FuzzResult | None:
        """The result for the first schedule that fails, and fails again; None if there is none, or if every order fails."""
        with installed(self._program, self._plan) as (self._events, self._explorer_of):
            if not self._begins(in_time=True):
                return None
            self.schedules.pace = self._pace
            longest = max(self._orders, key=lambda order: order.points)
            for found in self.schedules.failing(longest.lengths, longest.points):
                if (result := self.result(found, broken=True)) is not None:
                    return result
                self.schedules.not_known = True  # it failed once, and not again
        return None

    def replayed(self, token: Token) -> FuzzResult:
        """The result of following a token."""
        with installed(self._program, self._plan) as (self._events, self._explorer_of):
            result = self._replayed(token)
        return replace(result, schedules=self._forks.made)

    def _replayed(self, token: Token) -> FuzzResult:
        if not self._begins(in_time=False):
            return replace(self._template, conclusion=Verdict.INCONCLUSIVE, reason="every sequential order fails, or does not end")
        went: _Went | None = self._forks.answer(lambda explorer: _follow(explorer, Planned(token.schedule)))
        if went is None:
            why = "the process of the replay ended before its time"
            return replace(self._template, conclusion=Verdict.INCONCLUSIVE, reason=why)
        did = went.did
        check_followed(token, did.unused, did.schedule, did.anchors, None if did.failed else did.points)
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
        orders = self._orders
        if not orders or orders[0].path != path or any(order.fails or not order.known for order in orders):
            return ""
        return self.schedules.claim

    def _begins(self, *, in_time: bool) -> bool:
        """Run the sequential orders; returns whether one of them does not fail.

        Twice: the first time shows which code starts, and of names what its step tables have to know. These are made here, once for
        all forks: each would spend most of its time on them. A replay makes the same.

        Args:
            in_time: whether to give up if there is no time for the second time, and so for no schedule.
        """
        if not self._runs_in_order():
            return False
        self._no_time = in_time and self.no_time_for(len(self._orders), self._pace)
        if self._no_time:
            return False
        self._forks.learnt = tuple(sorted({*self._forks.learnt, *(fact for order in self._orders for fact in order.unforeseen)}))
        self._events.foresee(frozenset().union(*(order.codes for order in self._orders)), self._forks.learnt)
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
                did = self._forks.answer(partial(_in_order, order))
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
            did = self._forks.answer(partial(_in_order, order))
            if did is not None:
                common = SequentialBaseline.common((common, did.baseline))
        return common

    def _fails_with_a_gil(self, until: float) -> tuple[Schedule | None, bool]:
        schedules = self._new_schedules()
        for failed in schedules.by_conflicts_and_one_preemption(until, lambda: self._deadline.is_past(until), gil=True):
            if self._fails([Planned(failed)]) is not None:
                return failed, False
        return None, not schedules.all_with_one and schedules.runs < FEWEST

    def _fails(self, policies: Sequence[Policy], symptom: Symptom | None = None) -> Broken | None:
        for policy in policies:
            if len(policies) > 1 and self._minimising_over is not None and self._minimising_over():
                return None
            went: _Went | None = self._forks.answer(partial(_follow, policy=policy))
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
        explorer.events.names.learn_before_any_run(self._forks.learnt)
        explorer.baseline, explorer.setup_at_home = self._baseline, self._setup_at_home
        if steps := [order.steps for order in self._orders]:
            explorer.engine.learn_length(min(steps), max(steps), max(order.points for order in self._orders))
        yield explorer


def _in_order(order: Sequence[int], explorer: Explorer) -> _Order:
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
        doubt_of_threads(explorer.program, explorer.engine.takes_part),
    )


def _follow(explorer: Explorer, policy: Policy) -> _Went:
    run, seen = recorded(explorer, policy)
    did = outcome_of(explorer, policy, Want(anchors=True), run, None)
    return _Went(did if seen is None else replace(did, symptom=str(seen.symptom), message=seen.message), seen)
