"""The interrupt check for the runner."""

from __future__ import annotations

from ..core.arguments import Arguments
from ..core.interpreter import Interpreter
from ..core.prepared import Prepared
from ..core.verdict import Verdict
from ..core.workloads import Workload, call_once, name_of
from .check import interrupt
from .claim import claim
from .plan import plan
from .result import InterruptResult

_MARGIN = 20.0  # seconds for what comes before and after a trial


def prepare(work: Workload, name: str | None, given: Arguments) -> Prepared[InterruptResult]:
    """An interrupt check of ``work``.

    Raises:
        BadValue: a signal that cannot be sent or handled.
    """
    planned = plan(given)
    claimed = claim(given)
    return Prepared(
        run=lambda progress: interrupt(work, claimed, planned, name=name, progress=progress),
        undecided=lambda reason: InterruptResult(
            conclusion=Verdict.INCONCLUSIVE,
            reason=reason,
            workload=name or name_of(work),
            claim=claimed,
            interpreter=Interpreter.current(),
        ),
        plainly=lambda: call_once(work),
        claim={
            "text": str(claimed),
            "signals": [number.name for number in claimed.signals],
            "within": claimed.within,
            "exits_within": claimed.exits_within,
        },
        parameters=planned,
        longest_phase=planned.timeout + planned.over + 10 * claimed.within + 3 * claimed.exits_within + _MARGIN,
    )
