"""The scaling check for the runner."""

from __future__ import annotations

from dataclasses import asdict

from ..core.arguments import Arguments
from ..core.interpreter import Interpreter, build
from ..core.prepared import Prepared
from ..core.verdict import Verdict
from ..core.workloads import Workload, call_once, name_of
from .check import scaling
from .claim import claim
from .plan import plan
from .result import ScalingResult


def prepare(work: Workload, name: str | None, given: Arguments) -> Prepared[ScalingResult]:
    """A scaling check of ``work``.

    Raises:
        BadValue: claims that contradict each other.
    """
    planned = plan(given)
    claimed = claim(given, threads=planned.threads, build=build())
    return Prepared(
        run=lambda progress: scaling(work, claimed, planned, name=name, progress=progress),
        undecided=lambda reason: ScalingResult(
            conclusion=Verdict.INCONCLUSIVE,
            reason=reason,
            workload=name or name_of(work),
            claim=claimed,
            interpreter=Interpreter.current(),
            threads=planned.threads,
        ),
        plainly=lambda: call_once(work),
        claim=asdict(claimed),
        parameters=planned,
        longest_phase=planned.timeout,
    )
