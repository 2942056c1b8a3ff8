"""Searches that follow a failure: with fewer preemptions, on a build with a GIL, and without what a sleep lets others do."""

from __future__ import annotations

from ..engine.outcome import Failure
from ..engine.running.record import ScheduleRun
from ..search import ledger
from ..search.explorer import Explorer
from ..search.ledger import Ledger
from ..search.minimise import minimised
from ..search.outcome import SearchOutcome
from ..search.plan import FuzzPlan
from ..search.search import Search
from ..search.strategy import run_all
from ..search.today import LikelyToday
from .result import Kind


def smaller(explorer: Explorer, searched: SearchOutcome, failure: Failure, budget: Ledger) -> Failure:
    """The failure of a search with as few preemptions as are found to do.

    An enumeration comes to the fewest first; samples, and runs that turn a conflict round, do not.
    """
    if not searched.sampled and failure.schedule.preemptions <= 1:
        return failure
    explorer.progress("minimising")
    account = budget.account(ledger.MINIMISING, failure.run.points)
    best = minimised(explorer, failure, account)
    budget.closed(account, "minimising", "not fully minimised")
    return best


def with_fewer(explorer: Explorer, plan: FuzzPlan, failure: Failure, sequential: list[ScheduleRun], budget: Ledger) -> Failure:
    """The same failure with fewer preemptions, if all schedules that have fewer can be run and one of them fails so.

    Minimising takes switches out of the schedule that was found, and the smallest one may be another.
    """
    few = failure.schedule.preemptions
    if few <= 1:
        return failure
    limit = budget.account(ledger.ENUMERATING, failure.run.points)
    search = Search(explorer, few - 1, limit, plan.seed, gil=not failure.run.masked, sampling=False)
    found = search.run(sequential).failure
    same = found is not None and found.symptom is failure.symptom and found.schedule.preemptions < few
    return found if same and found is not None else failure


def classified(
    explorer: Explorer, plan: FuzzPlan, failure: Failure, sequential: list[ScheduleRun], budget: Ledger
) -> tuple[Failure, Kind | None]:
    """The failure in a form that a build with a GIL can show, if there is one; and its kind, None if that was not decided."""
    if not failure.run.masked:
        return failure, Kind.BREAKS_TODAY
    explorer.progress("does it break today?")
    likely = LikelyToday(failure)
    if not budget.over():
        run_all(explorer, likely)
    if likely.failure is not None:
        return with_fewer(explorer, plan, likely.failure, sequential, budget), Kind.BREAKS_TODAY
    account = budget.account(ledger.CLASSIFYING, failure.run.points)
    search = Search(explorer, plan.preemptions, account, plan.seed, gil=True)
    today = search.run(sequential)
    if today.failure is not None:
        found = smaller(explorer, today, today.failure, budget)
        return with_fewer(explorer, plan, found, sequential, budget), Kind.BREAKS_TODAY
    if today.expired:
        budget.late.append("the search for a failure with a GIL")
        return failure, None
    if today.too_few and (search.likely or today.counting < ledger.FEWEST_TO_CLASSIFY):
        budget.gave_up("whether it breaks today was not decided")
        return failure, None
    return failure, Kind.GIL_MASKED


def passing_if_sleeps_last(
    explorer: Explorer, plan: FuzzPlan, failure: Failure, sequential: list[ScheduleRun], budget: Ledger
) -> int:
    """How many schedules pass in which each sleep lasts until the other threads wait; 0 if one fails, or too few were tried."""
    clock = explorer.engine.clock
    if not failure.run.cut_short or budget.over():
        return 0
    explorer.progress("a sleep for a wait?")
    limit = budget.account(ledger.SLEEPING, failure.run.points)
    most, clock.most_delays = clock.most_delays, 0
    try:
        gil = not failure.run.masked
        found = Search(explorer, failure.schedule.preemptions, limit, plan.seed, gil=gil, sampling=False).run(sequential)
    finally:
        clock.most_delays = most
    enough = found.all_enumerated or found.explored >= ledger.FEWEST_OF_SLEEP
    return found.explored if found.failure is None and enough else 0


def slept_instead(failure: Failure, passing: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """That a sleep stands for a wait, in words, and where; nothing if it does not.

    Args:
        passing: see `passing_if_sleeps_last`.
    """
    sleeps = tuple(dict.fromkeys(failure.run.cut_short))
    if not (sleeps and passing):
        return "", ()
    tried = f"none of {passing:,} schedules fails in which it lasts until the other threads wait"
    where = " and ".join(each.text for each in sleeps)
    told = f"; a sleep stands for a wait at {where}: {tried}. Wait for what they do: join, result(), an event"
    return told, tuple(dict.fromkeys((each.file, each.line) for each in sleeps))
