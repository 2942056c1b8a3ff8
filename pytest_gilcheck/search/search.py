"""The search: schedules that turn a conflict round; unless that leaves none that was seen, all schedules without preemption, with
one, with two, as far as the account allows; then sampled ones.

The outcome says what was explored: all schedules with at most k preemptions, how many of those with one more, and how many sampled,
with the probability that such a sample finds a bug of depth 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from ..engine.outcome import Failure
from ..engine.running.record import ScheduleRun
from .conflicts import Conflicts
from .enumeration import Enumeration
from .explorer import Explorer
from .failing_orders import FailingOrders
from .focus import Focus
from .ledger import FEWEST, Account
from .outcome import Lost, SearchOutcome
from .samples import Samples, StoppingTest
from .strategy import Driver, How, InThisProcess, MoreSteps


class Search:
    """Searches the schedules of one program: which strategies, in which order.

    Args:
        preemptions, seed, gil, sampling, share, deeper, brief_after: see `How`.
        account: when to end.
        asked: the number of schedules that the user asked for, of which the account may have a share; None if there is none.

    Attributes:
        likely: how many likely conflicts were not turned round.
    """

    likely = 0

    def __init__(
        self,
        explorer: Explorer,
        preemptions: int,
        account: Account,
        seed: int,
        *,
        gil: bool = False,
        sampling: bool = True,
        share: tuple[int, int] = (0, 1),
        asked: int | None = None,
        deeper: bool = False,
        brief_after: float = inf,
    ) -> None:
        self._explorer, self._account = explorer, account
        self._how = How(preemptions, seed, gil, sampling, share, deeper, brief_after)
        self._driver = Driver(InThisProcess(explorer), account)
        self.found = SearchOutcome(threads=len(explorer.program.threads), wanted=preemptions, asked=asked)
        self._focus: Focus | None = None
        self._pace = 0.0  # seconds of a schedule

    def run(self, sequential: list[ScheduleRun]) -> SearchOutcome:
        """Search until a run fails, every schedule is explored, or the account is spent."""
        found, events = self.found, self._explorer.events
        found.steps = max((sum(run.lengths.values()) for run in sequential), default=0)
        more = False
        if self._fails_in_order():
            events.freeze()
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
                if found.everything and self._how.sampling:
                    self._passes_test(sequential)
                break
            except MoreSteps as void:
                if void.failure is not None and found.lost is None:
                    found.lost = self._lost(void.failure)
                self._begin_anew(sequential)
        if not found.settled and (more or (found.asked is not None and not found.everything)):
            self._sample(sequential)
        self._explorer.hide({})
        if found.failure is not None:
            events.freeze()
        found.expired = found.failure is None and self._account.expired
        return found

    def _lost(self, failure: Failure) -> Lost:
        engine = self._explorer.engine
        return Lost(failure, () if engine.journal is None else engine.journal.learnt, engine.chance.draw)

    def _begin_anew(self, sequential: list[ScheduleRun]) -> None:
        """All schedules so far are void, because the points of a run are others now."""
        found = self.found
        found.failure = None
        self._explorer.hide({})
        self._explorer.events.names.show_everything(False)
        sequential[:] = self._explorer.measured()
        found.steps = max(sum(run.lengths.values()) for run in sequential)
        found.void, found.enumerated, found.conflicts = found.explored - found.sampled, 0, 0
        found.complete, found.exhausted, found.pending = -1, 0, 0
        found.focused_conflicts = 0

    def _fails_in_order(self) -> bool:
        """Whether a sequential order fails, of those that have run as the baseline: no schedule has fewer preemptions."""
        orders = FailingOrders(self._explorer.failing)
        self._driver.run(orders)
        self.found.enumerated += orders.failed
        self.found.failure = orders.failure
        return orders.failure is not None

    def _by_conflicts(self) -> bool:
        """Run schedules that turn a conflict round; returns whether that is all there is to do."""
        part = Conflicts(self._driver.executor, self._account, self.found, self._how, self._explorer)
        self._driver.run(part)
        self._focus, self._pace, self.likely = part.focus, part.pace or self._pace, part.likely
        return part.done

    def _too_long_for_every_step(self) -> bool:
        """Whether there is no time left for as many schedules as a claim needs, unless most steps are hidden in them."""
        return self._focus is not None and (FEWEST - self.found.counting) * self._pace > self._account.left()

    def _enumerate(self) -> bool:
        """Run all schedules, by their number of preemptions; returns whether some are left for samples."""
        part = Enumeration(self._driver.executor, self._account, self.found, self._how)
        self._driver.run(part)
        return part.more

    def _sample(self, sequential: Sequence[ScheduleRun]) -> None:
        """Run sampled schedules until the account is spent."""
        if not self._how.sampling or self.found.failure is not None:
            return
        part = Samples(self._driver.executor, self._account, self.found, self._how, sequential)
        part.focus, part.too_long = self._focus, self._too_long_for_every_step
        self._driver.run(part)

    def _passes_test(self, sequential: list[ScheduleRun]) -> bool:
        """Run samples when no conflict is left; first at visible steps, then at every instruction. None may fail, or have more or
        fewer points than the orders if the threads share nothing.

        They take no notice of what a step touches, and then of which instructions are steps. So if either is told wrongly, they
        find most bugs: 242 of 249 in the corpus and the pairs.

        Raises:
            MoreSteps: there are more visible steps than were known, so what is to be tested is void.
        """
        explorer, found, names = self._explorer, self.found, self._explorer.events.names
        same = self._test(sequential)
        if found.failure is None and not explorer.events.frozen:
            names.show_everything(True)
            sequential[:] = explorer.measured()
            same = self._test(sequential) and same
            if found.failure is None:
                names.show_everything(False)
                sequential[:] = explorer.measured()
        return found.failure is None and same

    def _test(self, sequential: Sequence[ScheduleRun]) -> bool:
        part = StoppingTest(self._driver.executor, self._account, self.found, self._how, sequential)
        self._driver.run(part)
        return part.same
