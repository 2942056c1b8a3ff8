"""Schedules that turn a conflict round (`reduction`), and how much of the account these get.

A record takes up to 30 times as long as the run. So if there is no time to record all that waits, each schedule is first run
without a record, and what passed is recorded afterwards, to learn what branches off from it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ..core.clocks import monotonic
from ..engine.running.policy import PlannedAndLeft
from ..engine.schedule import Schedule
from ..engine.touched.trace import Trace
from . import ledger
from .explorer import Explorer, Symptom
from .focus import Focus
from .frontier import WithoutRecord
from .ledger import FEWEST, SPARE, Account
from .outcome import SearchOutcome
from .reduction import Reduction
from .strategy import Executor, How, MoreSteps, PartOfSearch, Proposal, Steps, Strategy, following, in_order, run_all


class TurnedConflicts(Strategy):
    """Schedules of a reduction until none is left, or one fails.

    Args:
        account: says how much a schedule takes: seconds; by count, a run, or as many as a record counts.
        ended: asked after each schedule whether to end.
    """

    def __init__(self, reduction: Reduction, account: Account, ended: Callable[[], bool]) -> None:
        super().__init__()
        self.reduction, self.account, self.ended = reduction, account, ended
        self.explorer = reduction.explorer

    def _search(self) -> Steps[None]:
        reduction = self.reduction
        if (yield from self._all()) and reduction.records == 1 and not reduction.doubt:
            yield from self._in_reverse()
            if reduction.frontier.waiting:
                yield from self._all()

    def _all(self) -> Steps[bool]:
        """Run all that waits; returns whether that was all, and none failed."""
        reduction, frontier = self.reduction, self.reduction.frontier
        without = WithoutRecord(frontier)
        while reduction.failure is None:
            begun = monotonic()
            if (schedule := without.next(bool(reduction.doubt))) is not None:
                yield from self._without_record(schedule)
                without.took(1.0 if self.account.counted else monotonic() - begun)
                if self.ended():
                    return False
                continue
            counts = (schedule := frontier.again()) is None
            if schedule is None:
                if (schedule := frontier.next(bool(reduction.doubt))) is None:
                    return True
                reduction.runs += 1
            self.explorer.hide({})
            reduction.codes = self.explorer.events.codes
            trace = reduction.trace(focusing=reduction.focusing and reduction.focus is None, until=reduction.until())
            yield from self._examined(schedule, trace, counts=counts)
            reduction.record_seconds = monotonic() - begun
            reduction.blind = reduction.blind or (trace.gave_up and reduction.records == 1)
            if self.ended() or trace.gave_up:  # the next record would take as long
                return False
            without.recorded(ledger.RECORD if self.account.counted else reduction.record_seconds, fits=reduction.fits)
        return False

    def _in_reverse(self) -> Steps[None]:
        """Record the order in which the last thread comes first, after a run that has shown no conflict.

        It shows what depends on who comes first, and whether one run changes what the next one finds.
        """
        reduction = self.reduction
        order, reduction.failure = yield in_order(range(len(self.explorer.program.threads) - 1, -1, -1), counts=False)
        if reduction.failure is not None:
            return
        yield from self._examined(order.schedule, reduction.trace(until=reduction.until()), counts=False)
        if reduction.failure is None:
            reduction.independent = reduction.finished and not (reduction.doubt or reduction.shared)

    def _examined(self, schedule: Schedule, trace: Trace, *, counts: bool) -> Steps[None]:
        """Run a schedule, record what it touches, and enter what branches off from it.

        What fails each time that it is recorded, and not otherwise, is no failure of the program: it may count references, say. A
        failure that comes and goes is one, whatever the reason.
        """
        reduction = self.reduction
        reduction.written.let_go()
        reduction.records += 1
        run, failure = yield following(schedule, recording=True, measuring=reduction.gil, counts=counts, trace=trace)
        if failure is not None and failure.symptom is not Symptom.HANGS:  # which would take as long again
            recorded = failure
            _, failure = yield following(schedule, measuring=reduction.gil, counts=False)
            if failure is None:
                what = f"it is not known what {trace.objects.disturbed} touches"
                if not trace.objects.disturbed:
                    again = following(schedule, recording=True, measuring=reduction.gil, counts=False, trace=reduction.trace())
                    what = "the program notices that it is recorded"
                    failure = recorded if (yield again).failure is None else None
                if failure is None:
                    reduction.doubt = reduction.doubt or what
        reduction.failure = failure
        if failure is None:
            reduction.examine(schedule, run, trace)

    def _without_record(self, schedule: Schedule) -> Steps[None]:
        """Run a schedule; in `focus`, if it branches off from the run of which that is."""
        reduction, measuring = self.reduction, self.reduction.gil
        reduction.runs += 1
        focus = reduction.focus if len(schedule.choices) <= 1 else None
        if focus is not None:
            self.explorer.hide(focus.hidden)
            run, failure = yield Proposal(PlannedAndLeft(focus.without(schedule)))
            if failure is not None or focus.led(run, schedule):
                reduction.focused += 1
                if failure is not None:
                    reduction.failure = self.explorer.with_every_step(failure, focus.hidden)
                return
            reduction.focus, reduction.focusing = None, False  # its points are others than in the recorded run
        self.explorer.hide({})
        _, reduction.failure = yield Proposal(PlannedAndLeft(schedule), measuring=measuring, counts=focus is None)


def first_focus(explorer: Explorer) -> Focus | None:
    """The steps of a plain run that touch what several threads touch; None if that is not known."""
    reduction = Reduction(explorer, focusing=True)
    run_all(explorer, TurnedConflicts(reduction, Account(inf), lambda: True))
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

    def __init__(self, executor: Executor, account: Account, found: SearchOutcome, how: How, explorer: Explorer) -> None:
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

        reduction = Reduction(self.explorer, gil=gil, focusing=focusing, fits=fits, until=until)

        def ended() -> bool:
            self._note(reduction)
            self._only_if_steps_unchanged()
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

        yield from TurnedConflicts(reduction, account, ended).steps
        self._note(reduction)
        self._conclude(reduction, timed=at_first < inf)

    def _note(self, reduction: Reduction) -> None:
        found, self.focus = self.found, reduction.focus
        found.conflicts, found.focused_conflicts = reduction.runs, reduction.focused
        found.focus = max(1, reduction.focus.points) if reduction.focus is not None else found.focus

    def _conclude(self, reduction: Reduction, *, timed: bool) -> None:
        found, self.likely = self.found, reduction.frontier.likely
        if not self.how.gil and timed:
            found.untried, found.unrecorded = self.likely, reduction.blind
        found.failure, found.torn, found.apart = reduction.failure, found.torn or reduction.torn, found.apart or reduction.apart
        found.settled = reduction.finished and found.failure is None and not reduction.doubt
        if found.settled and not self.executor.steps_unchanged(for_certain=True):
            raise MoreSteps
        if found.settled:
            found.void, found.conflicts = 0, reduction.runs
            found.independent = reduction.independent
        self.done = found.failure is not None or found.settled
