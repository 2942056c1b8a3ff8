"""What the threads of a program share, by one recorded run: if that is nothing, no schedule need be spent."""

from __future__ import annotations

from types import CodeType

from ..core.clocks import monotonic
from ..engine.program import Program
from ..engine.schedule import Schedule
from ..engine.touched.trace import Trace, told
from ..search.explorer import Explorer
from ..search.harness import explorer_for
from ..search.plan import FuzzPlan


def shared_by(program: Program, limit: float) -> str:
    """Why the schedules of this program have to be searched; empty if its threads shared nothing that was seen.

    The first record is of the first run of this process, which makes what only a first run makes, such as a cache. What a step may
    touch counts as touched. In a later record there must be no step of which it is not known
    what it touches; when it does so need not be known, because it counts for the whole run.

    Args:
        limit: seconds that the records may take.

    Raises:
        NotExplorable: no schedule can control the program.
        BaseException: what its setup raised.
    """
    until = monotonic() + limit
    with explorer_for(program, FuzzPlan(budget=limit), lambda label: None) as explorer:
        if why := _recorded(explorer, until, first=True):
            return why
        explorer.events.forget()
        explorer.in_order()
        return _recorded(explorer, until, first=False) or (str(explorer.uncontrolled[0]) if explorer.uncontrolled else "")


def _recorded(explorer: Explorer, until: float, *, first: bool) -> str:
    trace = Trace(explorer.engine, focusing=True, until=until)
    with trace:
        run, failure = explorer.follow(Schedule(), recording=True)
    if failure is not None:
        return failure.message
    if trace.gave_up or run.unreported:
        return "its record takes too long"
    if trace.shares():
        return "its threads touch the same, and one changes it"
    if first:
        return ""
    unknown = [
        point for point, what in trace.not_known.items() if what is not trace.in_middle.get(point) and not _is_end(trace, point)
    ]
    return f"it is not known what {_in_words(trace.not_known[unknown[0]])} touches" if unknown else ""


def _is_end(trace: Trace, point: int) -> bool:
    """Whether only the end of an object is not known here: what its finalizer does makes steps of its own."""
    access = trace.accesses.get(point)
    return access is not None and access.kind == "end"


def _in_words(unknown: str | tuple[CodeType, int]) -> str:
    return unknown if isinstance(unknown, str) else told(*unknown)
