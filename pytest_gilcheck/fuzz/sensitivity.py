"""Is the program sensitive to its locks? Searches again with each lock in turn made to do nothing."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from ..core.verdict import Verdict
from .plan import FuzzPlan
from .result import FuzzResult, LockSensitivity
from .running import primitives
from .running.engine import ScheduleRun
from .searching.explorer import Explorer
from .searching.search import Search


def without_each_lock(explorer: Explorer, plan: FuzzPlan, result: FuzzResult, sequential: list[ScheduleRun]) -> FuzzResult:
    """Search again without each lock in turn: the program must then fail, or it proves nothing about that lock."""
    tried = []
    for where in list(primitives.locks_used):
        explorer.progress(f"without the lock {where}")
        primitives.disabled_lock = where
        try:
            searched = Search(explorer, plan.preemptions, monotonic() + plan.budget, plan.seed).run(sequential)
        finally:
            primitives.disabled_lock = None
        failure = searched.failure
        message = f"{failure.symptom}: {failure.message}" if failure else f"nothing breaks ({searched})"
        tried.append(LockSensitivity(where, failure is not None, message))
    result = replace(result, locks=tuple(tried))
    if not tried:
        return replace(
            result, verdict=Verdict.INCONCLUSIVE, reason="the code under test takes no lock: there is nothing to do without"
        )
    if blind := [lock for lock in tried if not lock.noticed]:
        reason = f"insensitive: without {blind[0].where} {blind[0].message}, so it proves nothing about that lock"
        return replace(result, verdict=Verdict.INCONCLUSIVE, reason=reason)
    return replace(result, reason=f"{result.reason}; and each of its {len(tried)} locks is needed")
