"""Schedules that turn a conflict round (`reduction`), and how much of the account these get.

A record takes up to 30 times as long as the run. So if there is no time to record all that waits, each schedule is first run
without a record, and what passed is recorded afterwards, to learn what branches off from it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ..core.clocks import monotonic
from ..engine.outcome import Failure
from ..engine.summary import RunSummary
from ..engine.touched.summarised import alike, doubt_of_threads
from . import ledger
from .explorer import Explorer
from .focus import Focus
from .ledger import FEWEST, SPARE, Account
from .outcome import SearchOutcome
from .reduction import Reduction
from .strategy import How, LiveExecutor, MoreSteps, PartOfSearch, Proposal, Steps, Strategy, run_all


class TurnedConflicts(Strategy):
    """Schedules of a reduction until none is left, or one fails.

    Args:
        ended: asked after each schedule whether to end.

    Attributes:
        failure: how a schedule failed; None if none did.
    """

    failure: Failure | None = None

    def __init__(self, reduction: Reduction, ended: Callable[[], bool]) -> None:
        super().__init__()
        self.reduction, self.ended = reduction, ended

    def _search(self) -> Steps[None]:
        reduction, counted = self.reduction, self.reduction.runs
        while self.failure is None and (proposed := reduction.propose()) is not None:
            ran = yield Proposal(None, counts=reduction.runs > counted, turned=proposed)
            summary = ran.run
            assert isinstance(summary, RunSummary), "a run that is turned is told by its summary"
            counted, self.failure = max(counted, reduction.runs), ran.failure
            reduction.saw(proposed, summary)
            gave_up = summary.touched is not None and summary.touched.gave_up
            if not proposed.again and (self._ended() or gave_up):  # the next record would take as long
                return

    def _ended(self) -> bool:
        try:
            return self.ended()
        except MoreSteps as void:
            void.failure = self.failure
            raise


def reduction_of(explorer: Explorer, **of: Any) -> Reduction:
    """The reduction of the program of an explorer.

    Args:
        of: see `Reduction`.
    """
    program = explorer.program
    doubt = doubt_of_threads(program, explorer.engine.takes_part)
    return Reduction(alike(program), doubt=doubt, take_apart=explorer.events.names.take_apart, **of)


def first_focus(explorer: Explorer) -> Focus | None:
    """The steps of a plain run that touch what several threads touch; None if that is not known."""
    reduction = reduction_of(explorer, focusing=True)
    run_all(explorer, TurnedConflicts(reduction, lambda: True))
    return reduction.focus


class Conflicts(PartOfSearch):
    """Turned conflicts, as a part of a search.

    Attributes:
        done: whether that is all there is to do: one failed, or no conflict is left.
        focus: the steps at which threads may touch the same; None if that is not known.
        pace: seconds of a schedule; 0 if none was run.
        likely: how many likely conflicts are left.
    """

    done = False
    focus: Focus | None = None
    pace = 0.0
    likely = 0

    def __init__(self, executor: LiveExecutor, account: Account, found: SearchOutcome, how: How, explorer: Explorer) -> None:
        super().__init__(executor, account, found, how)
        self.explorer = explorer

    def _search(self) -> Steps[None]:
        account, gil = self.account, self.how.gil
        at_first, pace = account.left(), SPARE * self.executor.pace
        if ledger.LEAST_RECORD * pace > ledger.NEARLY_ALL * at_first or not (self.how.sampling or gil):
            return
        needed = FEWEST * pace  # seconds of as many samples as a claim needs
        self.pace, enough = pace, needed < at_first < inf  # if not, these are the best of what can be run
        events = self.explorer.events
        may_hide = not gil and not events.names.looked_into and not events.takes_apart  # frames show each instruction
        short = may_hide and at_first < ledger.SHORT * needed

        def until() -> float:
            left = account.left()
            beside_samples = left - needed if enough and not short else 0.0
            return monotonic() + (beside_samples if beside_samples > 0 else ledger.NEARLY_ALL * left)

        share = min(ledger.CONFLICTS, 1 - needed / at_first) if enough else ledger.CONFLICTS
        mark, late = account.mark(share, ledger.FEWEST_CONFLICTS), account.mark(ledger.NEARLY_ALL)
        focusing = may_hide and at_first < ledger.SHORT_LATER * needed

        def fits(records: int, seconds: float) -> bool:
            return account.fits(records, seconds, mark)

        reduction = reduction_of(self.explorer, gil=gil, focusing=focusing, fits=fits, until=until, counted=account.counted)

        def ended() -> bool:
            self._note(reduction)
            self._only_if_steps_unchanged(None)  # `TurnedConflicts` knows whether it failed
            if not account.reached(mark):
                return False
            if account.counted and not account.reached() and not fits(1, 0.0):  # what is likely takes no record
                return not reduction.frontier.likely
            if reduction.runs < ledger.FIRST_CONFLICTS and not account.reached():
                return False
            if account.counted:
                return True
            if not gil and not account.reached(late):
                for_samples = (FEWEST - reduction.runs) * pace
                time_for_record = account.left() - reduction.record_seconds > for_samples
                if reduction.frontier.likely or (reduction.frontier.revealing and time_for_record):
                    return False
            if reduction.runs >= ledger.FEWEST_CONFLICTS or account.reached() or (short and reduction.focus is not None):
                return True
            left = account.left()
            one_more = (at_first - left) / reduction.runs
            return enough and (FEWEST - reduction.runs) * pace > left - one_more

        turned = TurnedConflicts(reduction, ended)
        yield from turned.steps
        self._note(reduction)
        self._conclude(reduction, turned.failure, timed=at_first < inf)

    def _note(self, reduction: Reduction) -> None:
        found, self.focus = self.found, reduction.focus
        found.conflicts, found.focused_conflicts = reduction.runs, reduction.focused
        found.focus = max(1, reduction.focus.points) if reduction.focus is not None else found.focus

    def _conclude(self, reduction: Reduction, failure: Failure | None, *, timed: bool) -> None:
        found, self.likely = self.found, reduction.frontier.likely
        if not self.how.gil and timed:
            found.untried, found.unrecorded = self.likely, reduction.blind
        found.failure, found.torn, found.apart = failure, found.torn or reduction.torn, found.apart or reduction.apart
        found.settled = reduction.finished and found.failure is None and not reduction.doubt
        if found.settled and not self.executor.steps_unchanged(for_certain=True):
            raise MoreSteps(None)
        if found.settled:
            found.void, found.conflicts = 0, reduction.runs
            found.independent = reduction.independent
        self.done = found.failure is not None or found.settled
