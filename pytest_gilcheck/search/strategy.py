"""What a search is made of: strategies say what is run next, an executor runs it, and the driver carries the one to the other.

A strategy is told what each of its runs was like before it says what comes next. It runs nothing, and reads of a run only what
`SeenRun` has, so it can be tested on runs that are written down. It is written as a generator: `ran = yield proposal`.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from ..core.clocks import monotonic
from ..engine.bytecode.visible import Access
from ..engine.outcome import Failure
from ..engine.running.engine import Engine
from ..engine.running.policy import Planned, Policy, SequentialOrder
from ..engine.running.record import Observer
from ..engine.schedule import Schedule
from .explorer import Explorer
from .here import Here
from .ledger import FEWEST, Account
from .orders import Order
from .outcome import SearchOutcome
from .reduction import Proposed


class Proposal(NamedTuple):
    """A run that is to be made.

    Attributes:
        policy: which thread runs next; None for what is `turned`.
        recording: whether what branches off is to be kept: spans, forks and readings.
        measuring: likewise, the points at which a build with a GIL can switch, and the steps of each thread.
        counts: whether it is one of the schedules of the search, and not one of them once more.
        gil_only: whether the policy is asked only where a build with a GIL can switch.
        order: the sequential order that it is; None for any other run.
        turned: of a reduction, in the place of all these; its run is a `RunSummary`.
        observer: called before every visible step.
    """

    policy: Policy | None
    recording: bool = False
    measuring: bool = False
    counts: bool = True
    gil_only: bool = False
    order: Order | None = None
    turned: Proposed | None = None
    observer: Observer | None = None


def following(
    schedule: Schedule,
    *,
    recording: bool = False,
    measuring: bool = False,
    counts: bool = True,
    observer: Observer | None = None,
) -> Proposal:
    """To follow a schedule, as far as the run allows it."""
    return Proposal(Planned(schedule), recording, measuring, counts, observer=observer)


def in_order(order: Sequence[int], *, counts: bool = True) -> Proposal:
    """To run the threads one after the other in this order."""
    return Proposal(SequentialOrder(order), counts=counts, order=tuple(order))


class SeenRun(Protocol):
    """What a strategy reads of a run: see `ScheduleRun`. All but the first three are there only if they were asked for."""

    @property
    def points(self) -> int: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def masked(self) -> bool: ...
    @property
    def spans(self) -> Sequence[tuple[int, int, tuple[int, ...]]]: ...
    @property
    def forks(self) -> Sequence[tuple[int, tuple[int, ...], int, tuple[int, ...]]]: ...
    @property
    def readings(self) -> Sequence[int]: ...
    @property
    def reachable(self) -> Set[int]: ...
    @property
    def lengths(self) -> Mapping[int, int]: ...


class Ran(NamedTuple):
    """What became of a proposal."""

    run: SeenRun
    failure: Failure | None


Answer = TypeVar("Answer")
Steps = Generator[Proposal, Ran, Answer]


class Strategy:
    """Proposes runs, one after the other."""

    def __init__(self) -> None:
        self.steps = self._search()
        self._ran: Ran | None = None

    def propose(self) -> Proposal | None:
        """The next run; None if there is none."""
        try:
            return next(self.steps) if self._ran is None else self.steps.send(self._ran)
        except StopIteration:
            return None

    def saw(self, run: SeenRun, failure: Failure | None) -> None:
        """What the run was like that was proposed last."""
        self._ran = Ran(run, failure)

    def end(self) -> None:
        """Nothing more will be asked."""
        self.steps.close()

    def _search(self) -> Steps[None]:
        raise NotImplementedError


class LiveExecutor(Protocol):
    """Runs the program, and gives the failure as it is, with its exception.

    Attributes:
        pace: seconds that a plain run takes.
    """

    @property
    def pace(self) -> float: ...

    def run(self, proposal: Proposal) -> Ran: ...

    def steps_unchanged(self, *, for_certain: bool = False) -> bool:
        """Whether the visible steps are those of the runs before: code that has started may have made them more."""

    def hide(self, hidden: Mapping[int, Access]) -> None:
        """From here on, these steps are no points of a run; none of them: every step is one again."""

    def with_every_step(self, failure: Failure, hidden: Mapping[int, Access]) -> Failure | None:
        """The failure of a run in which these steps were hidden, in one where every step is a point; None if that passes."""

    def progress(self, label: str) -> None: ...


class InThisProcess:
    """The executor that runs the program here."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer, self._here = explorer, Here(explorer)
        self.hide, self.with_every_step, self.progress = explorer.hide, explorer.with_every_step, explorer.progress

    @property
    def pace(self) -> float:
        return self._explorer.pace

    def run(self, proposal: Proposal) -> Ran:
        explorer, engine = self._explorer, self._explorer.engine
        if proposal.order is not None:
            return Ran(*explorer.in_order(proposal.order, measuring=proposal.measuring))
        if proposal.turned is not None:
            return Ran(self._here.run(proposal.turned.how, proposal.turned.want), self._here.failure)
        assert proposal.policy is not None, "it is not turned"
        with ExitStack() as stack:
            if proposal.gil_only:
                stack.enter_context(_gil_only(engine))
            if proposal.observer is not None:
                stack.enter_context(observed(engine, proposal.observer))
            return Ran(*explorer.once(proposal.policy, recording=proposal.recording, measuring=proposal.measuring))

    def steps_unchanged(self, *, for_certain: bool = False) -> bool:
        return self._explorer.events.tables_unchanged(for_certain=for_certain)


@contextmanager
def _gil_only(engine: Engine) -> Iterator[None]:
    engine.gil_only = True
    try:
        yield
    finally:
        engine.gil_only = False


@contextmanager
def observed(engine: Engine, observer: Observer) -> Iterator[None]:
    """Have an observer called before every visible step of the runs in this block."""
    engine.observer = observer
    try:
        yield
    finally:
        engine.observer = None


class Driver:
    """Runs what strategies propose, and counts the schedules; not those that are run once more."""

    def __init__(self, executor: LiveExecutor, account: Account) -> None:
        self.executor, self.account = executor, account
        account.start()

    def run(self, strategy: Strategy) -> None:
        """Run all that a strategy proposes."""
        try:
            while (proposal := strategy.propose()) is not None:
                self.account.ran += proposal.counts
                if proposal.turned is not None and proposal.turned.want.touched:
                    self.account.recorded()
                strategy.saw(*self.executor.run(proposal))
        finally:
            strategy.end()  # else it would keep itself, and the program's objects, until a collection


def run_all(explorer: Explorer, strategy: Strategy) -> None:
    """Run all that a strategy proposes, which ends by itself."""
    Driver(InThisProcess(explorer), Account(math.inf)).run(strategy)


class MoreSteps(Exception):
    """New code has started that stores what had counted as constant, so the points of all schedules so far are void.

    Args:
        failure: how the run failed that has shown it, if it did: that run may have left behind what lets no later one fail.
    """

    def __init__(self, failure: Failure | None) -> None:
        super().__init__()
        self.failure = failure


@dataclass(frozen=True)
class How:
    """How to search the schedules of one program.

    Attributes:
        preemptions: enumerate up to so many.
        seed: of the samples.
        gil: preempt only where a build with a GIL can switch.
        sampling: whether to sample what cannot be enumerated.
        share: (which, of how many): run only this share of the schedules with preemptions, where others run the rest. The schedules
            without preemption are run by all.
        deeper: whether to go on with more preemptions, and samples, until everything was run or the account is spent.
        brief_after: by `monotonic`, from when on to end as soon as what was run is enough for a claim.
    """

    preemptions: int = 2
    seed: int = 0
    gil: bool = False
    sampling: bool = True
    share: tuple[int, int] = (0, 1)
    deeper: bool = False
    brief_after: float = math.inf


class PartOfSearch(Strategy):
    """A strategy that is a part of a search.

    Args:
        account: of the search.
        found: what the search has explored, to which this one adds.
    """

    def __init__(self, executor: LiveExecutor, account: Account, found: SearchOutcome, how: How) -> None:
        super().__init__()
        self.executor, self.account, self.found, self.how = executor, account, found, how

    @property
    def enough(self) -> bool:
        """Whether no more samples are wanted."""
        brief = monotonic() >= self.how.brief_after and self.found.counting >= FEWEST and not self.found.conflicts_open
        return brief or self.account.reached()

    def _only_if_steps_unchanged(self, failure: Failure | None) -> None:
        if not self.executor.steps_unchanged():
            raise MoreSteps(failure)
