"""One run of the workload in a child process, with or without the exception, as the parent process sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..core.child import ChildSide, Ending, fork
from ..core.errors import EndedByItself
from ..core.exit_status import not_of_the_workload
from ..core.own_builtins import PutBack
from ..core.packing import unpacked
from ..core.system import FAILING
from ..core.workloads import Workload, name_of
from .child_side import Target, run_in_child
from .plan import InjectionPlan

_dumps = json.dumps  # the workload may have replaced that of the module


@dataclass(frozen=True)
class InjectionRun:
    """What one run reported.

    Attributes:
        steps: visible steps, up to the one at which the exception was raised.
        digest: checksum of the positions of these steps; two runs with the same digest took the same path.
        raised_at: place, source, kind and reachability of the step at which the exception was raised; if it is a step of library
            code, whose library that is, and the line of the user's that called it (otherwise empty); None if nothing was raised.
        reachable: indices of the steps at which the exception can occur; only of a run without an exception.
        returned: whether the workload returned although the exception was raised.
        broken: what was wrong afterwards.
        error: why the run ended early or cannot be used; empty if it can.
        library: the steps of library code at which the exception can occur, each by its key and the number of the visit; only
            of a run without an exception.
        passed: modules of libraries that the run entered without being stepped through there; only of a run without an exception.
        code: file, first line and qualified name of all code under test that was run; only of a run without an exception.
    """

    steps: int = 0
    digest: int = 0
    raised_at: tuple[str, str, str, bool, str, str] | None = None
    reachable: list[int] = field(default_factory=list)
    returned: bool = False
    broken: list[str] = field(default_factory=list)
    error: str = ""
    library: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    code: list[list[Any]] = field(default_factory=list)


def run_once(work: Workload, plan: InjectionPlan, target: Target | None, timeout: float) -> InjectionRun:
    """Run the workload once in a fork of this process.

    Args:
        target: the step at which the exception is raised; None for a run without one.
        timeout: seconds until the run is ended.

    Raises:
        BaseException: what the workload raised by itself, or its setup.
        EndedByItself: one of them ended the process, in a run without an exception, or before it was raised.
    """
    side = fork(timeout)
    if isinstance(side, ChildSide):
        try:
            answer = run_in_child(side, work, plan, target)
            with PutBack():  # for good: nothing of the workload follows
                side.answer(_dumps(answer).encode())
        finally:
            for _ in FAILING:
                pass
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        set_up, *notes = side.notes() or [b""]
        where = "" if set_up or plan.setup is None else f"in setup={name_of(plan.setup)}, "
        if outcome.ending is Ending.EXITED and (why := not_of_the_workload(outcome.status)):
            return InjectionRun(error=f"{where}the process {why}")
        if outcome.ending is not Ending.HUNG and (where or target is None):
            raise EndedByItself(f"{where or 'without any injected exception, '}{outcome}")
        return InjectionRun(error=f"{where}{outcome.headline}", raised_at=tuple(json.loads(notes[-1])) if notes else None)
    answer = json.loads(outcome.payload)
    if failure := answer.pop("failure", ""):
        raise unpacked(failure)
    raised_at = answer.pop("raised_at")
    return InjectionRun(raised_at=None if raised_at is None else tuple(raised_at), **answer)
