"""A stress check: the program for real, and a search that tells what kind of failure it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from ...core.verdict import Verdict
from ..plan import FuzzPlan
from ..program import Program
from ..result import FuzzResult, Kind
from ..searching.explorer import NothingToExplore
from ..searching.harness import explorer_for
from ..searching.search import Search
from .stress import stress


def stressed(program: Program, how: FuzzPlan, blank: FuzzResult, progress: Callable[[str], None]) -> FuzzResult:
    """Run the program for real, in guarded children.

    Raises:
        BaseException: what the setup raised.
        BadValue: this process cannot have such children now.
        PlainFailure: the program fails in every sequential order.
    """
    with explorer_for(program, how, progress) as explorer:
        try:
            explorer.sequential(visible=False)
            expected = frozenset(explorer.baseline.expected)
        except NothingToExplore:  # what cannot be controlled can still be run
            expected = frozenset()
    report = stress(program, how.budget, expected=(expected,) * len(program.threads), timeout=how.timeout, progress=progress)
    blank = replace(blank, coverage=report.headline(), schedules=report.instances, story="\n".join(str(report).splitlines()[1:]))
    if report.trouble is None:
        if report.undecided:
            return replace(blank, reason=f"{report.headline()}; {report.undecided}")
        return replace(blank, verdict=Verdict.HOLDS, reason=report.headline())
    progress("does a schedule show it too?")
    kind, words = _kind(program, how, progress)
    reason = f"{report.trouble}: {report.headline()}; {words}"
    return replace(blank, verdict=Verdict.VIOLATED, reason=reason, kind=kind, trouble=report.trouble)


def _kind(program: Program, how: FuzzPlan, progress: Callable[[str], None]) -> tuple[Kind, str]:
    """Whether a schedule of visible steps breaks the program as well."""
    try:
        with explorer_for(program, how, progress) as explorer:
            sequential = explorer.sequential()
            found = Search(explorer, how.preemptions, monotonic() + how.budget / 2, how.seed).run(sequential)
            if found.failure is None:
                return Kind.C_LEVEL, f"no schedule breaks it ({found})"
            if not found.failure.run.masked:
                return Kind.BREAKS_TODAY, "a schedule breaks it too, without mode='stress', where a build with a GIL can switch"
            today = Search(explorer, how.preemptions, monotonic() + how.budget / 2, how.seed, gil=True).run(sequential)
            kind = Kind.GIL_MASKED if today.failure is None else Kind.BREAKS_TODAY
            return kind, "a schedule breaks it too: without mode='stress' it can be replayed"
    except NothingToExplore as error:
        return Kind.C_LEVEL, f"no schedule can be searched: {error}"
