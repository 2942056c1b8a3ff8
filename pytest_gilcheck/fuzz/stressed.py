"""A stress check: runs the program in stress mode, and searches its schedules to classify a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..core.clocks import monotonic
from ..core.verdict import Verdict
from ..engine.outcome import NotExplorable
from ..engine.program import Program
from ..engine.stress.stress import stress
from ..search.harness import explorer_for
from ..search.ledger import limited
from ..search.plan import FuzzPlan
from ..search.search import Search
from .result import FuzzResult, Kind


def stressed(program: Program, plan: FuzzPlan, template: FuzzResult, progress: Callable[[str], None]) -> FuzzResult:
    """Run the program with threads that run at the same time, in child processes.

    Raises:
        BaseException: what the setup raised.
        BadValue: this process cannot be forked now.
        SequentialFailure: the program fails in every sequential order.
    """
    with explorer_for(program, plan, progress) as explorer:
        try:
            explorer.sequential(visible=False)
            expected = frozenset(explorer.baseline.expected)
        except NotExplorable:  # stress mode does not need control
            expected = frozenset()
    report = stress(program, plan.budget, expected=(expected,) * len(program.threads), timeout=plan.timeout, progress=progress)
    template = replace(
        template, coverage=report.headline(), schedules=report.instances, story="\n".join(str(report).splitlines()[1:])
    )
    if report.symptom is None:
        if report.undecided:
            return replace(template, reason=f"{report.headline()}; {report.undecided}")
        return replace(template, conclusion=Verdict.HOLDS, reason=report.headline())
    progress("does a schedule show it too?")
    kind, message = _kind(program, plan, progress)
    reason = f"{report.symptom}: {report.headline()}; {message}"
    return replace(template, conclusion=Verdict.VIOLATED, reason=reason, kind=kind, symptom=report.symptom)


def _kind(program: Program, plan: FuzzPlan, progress: Callable[[str], None]) -> tuple[Kind, str]:
    """Classify a failure: does a schedule of visible steps show it as well? Returns the kind and the reason."""
    try:
        with explorer_for(program, plan, progress) as explorer:
            sequential = explorer.sequential()
            found = Search(explorer, plan.preemptions, limited(monotonic() + plan.budget / 2, None), plan.seed).run(sequential)
            if found.failure is None:
                return Kind.C_LEVEL, f"no schedule shows it ({found})"
            if not found.failure.run.masked:
                return Kind.BREAKS_TODAY, "a schedule breaks it too, without mode='stress', where a build with a GIL can switch"
            today = Search(explorer, plan.preemptions, limited(monotonic() + plan.budget / 2, None), plan.seed, gil=True).run(
                sequential
            )
            kind = Kind.GIL_MASKED if today.failure is None else Kind.BREAKS_TODAY
            return kind, "a schedule breaks it too: without mode='stress' it can be replayed"
    except NotExplorable as error:
        return Kind.C_LEVEL, f"its schedules are not explorable: {error}"
