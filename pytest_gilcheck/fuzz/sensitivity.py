"""Whether the program is sensitive to its locks: searches again with each lock in turn made to do nothing."""

from __future__ import annotations

from dataclasses import replace

from ..core.clocks import monotonic
from ..core.source import place
from ..core.verdict import Verdict
from ..engine.running import primitives
from ..engine.running.record import ScheduleRun
from ..search.explorer import Explorer
from ..search.ledger import Ledger, limited
from ..search.plan import GIL_POINTS, FuzzPlan
from ..search.search import Search
from .result import FuzzResult, LockSensitivity


def without_each_lock(
    explorer: Explorer, plan: FuzzPlan, result: FuzzResult, sequential: list[ScheduleRun], deadline: Ledger
) -> FuzzResult:
    """Search again without each lock in turn. The program must then fail, or the check says nothing about that lock.

    Args:
        result: of the search with all locks, which holds.
    """
    tried: list[LockSensitivity] = []
    locks = _names(primitives.locks_used)
    for index, (lock, where) in enumerate(locks.items()):
        explorer.progress(f"without the lock {where}")
        primitives.disabled_lock = lock
        try:
            now = monotonic()  # a search by time shares what is left of the budget with the locks that follow
            until = now + (deadline.left() / (len(locks) - index) if plan.schedules is None else plan.budget)
            limit = limited(until, plan.own_schedules)
            gil = plan.mode == GIL_POINTS  # else switches that the check does not make would say that it notices the lock
            searched = Search(explorer, plan.preemptions, limit, plan.seed, gil=gil, asked=plan.schedules).run(sequential)
        finally:
            primitives.disabled_lock = None
        failure = searched.failure
        message = f"{failure.symptom}: {failure.message}" if failure else f"no failure ({searched})"
        if searched.expired:
            message = f"budget={plan.budget:g} s ended after {searched.explored:,} schedules (schedules={plan.schedules})"
        tried.append(LockSensitivity(where, failure is not None, message))
    result = replace(result, locks=tuple(tried))
    if not tried:
        reason = "the code under test acquires no lock of its own, so sensitivity=True has nothing to remove"
        return replace(result, conclusion=Verdict.INCONCLUSIVE, reason=reason)
    if blind := [lock for lock in tried if not lock.noticed]:
        reason = f"insensitive: {blind[0]}; so the check says nothing about that lock: make the invariant depend on it"
        return replace(result, conclusion=Verdict.INCONCLUSIVE, reason=reason)
    needed = "its lock is needed" if len(tried) == 1 else f"each of its {len(tried)} locks is needed"
    return replace(result, reason=f"{result.reason}; {needed}")


def _names(used: dict[primitives.Identity, str]) -> dict[primitives.Identity, str]:
    """What to call each lock: where it was created, and what else tells it from others that were created there."""
    named = dict(used)
    for where in set(used.values()):
        if len(alike := sorted((lock for lock in used if used[lock] == where), key=lambda lock: lock[::-1])) == 1:
            continue
        for number, lock in enumerate(alike, 1):
            others = {call for other in alike if other != lock for call in other}
            caller = next((place(*call[:3]) for call in lock[1:] if call not in others), "")
            named[lock] = f"{where}{caller and f', called at {caller}'}, number {number} of {len(alike)}"
    return named
