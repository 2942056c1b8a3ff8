"""The latency check for the runner."""

from __future__ import annotations

import sys
from dataclasses import asdict

from ..core.arguments import Arguments
from ..core.interpreter import Interpreter
from ..core.prepared import Prepared
from ..core.verdict import Verdict
from ..core.workloads import Workload, call_once, name_of
from .check import latency
from .claim import claim
from .plan import plan
from .result import LatencyResult

_MARGIN = 10.0  # seconds for what comes before and after the measurement


def prepare(work: Workload, name: str | None, given: Arguments) -> Prepared[LatencyResult]:
    """A latency check of ``work``.

    Raises:
        BadValue: bounds that contradict each other.
    """
    planned = plan(given)
    claimed = claim(given)
    return Prepared(
        run=lambda progress: latency(work, claimed, planned, name=name, progress=progress),
        undecided=lambda reason: LatencyResult(
            conclusion=Verdict.INCONCLUSIVE,
            reason=reason,
            workload=name or name_of(work),
            claim=claimed,
            interpreter=Interpreter.current(),
            workers=planned.workers,
            switch_interval=sys.getswitchinterval(),
        ),
        plainly=lambda: call_once(work),
        claim=asdict(claimed),
        parameters=planned,
        longest_phase=planned.timeout + planned.longest_budget + _MARGIN,
    )
