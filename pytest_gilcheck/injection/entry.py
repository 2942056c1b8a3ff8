"""The injection check for the runner."""

from __future__ import annotations

from ..core.arguments import Arguments
from ..core.interpreter import Interpreter
from ..core.prepared import Prepared
from ..core.verdict import Verdict
from ..core.workloads import Workload, call_once, name_of
from .check import inject
from .plan import plan
from .result import InjectionResult

_MARGIN = 10.0  # seconds for what comes before and after a run


def prepare(work: Workload, name: str | None, given: Arguments) -> Prepared[InjectionResult]:
    """An injection check of ``work``.

    Raises:
        BadValue: an exception class that needs arguments.
    """
    planned = plan(given)
    return Prepared(
        run=lambda progress: inject(work, planned, name=name, progress=progress),
        undecided=lambda reason: InjectionResult(
            conclusion=Verdict.INCONCLUSIVE,
            reason=reason,
            workload=name or name_of(work),
            interpreter=Interpreter.current(),
            mode=planned.mode,
            exception=planned.exception_name,
        ),
        plainly=lambda: call_once(work),
        claim={"text": f"{planned.exception_name} breaks nothing", "mode": planned.mode},
        parameters=planned,
        longest_phase=planned.timeout + _MARGIN,
    )
