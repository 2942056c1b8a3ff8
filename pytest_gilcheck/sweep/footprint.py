"""What the threads of a program share, by one recorded run: if that is nothing, no schedule need be spent."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from ..core.clocks import monotonic
from ..engine.bytecode.visible import CLOCK_READING
from ..engine.program import Program
from ..engine.schedule import Schedule
from ..engine.touched.trace import Trace, told
from ..search.explorer import Explorer
from ..search.harness import explorer_for
from ..search.plan import FuzzPlan
from .contended import Thing, things_of
from .harmless import Harmless, is_in_code
from .in_c import modules_in_c

_CLOCK = CLOCK_READING.name  # each client reads it for itself


class Footprint(NamedTuple):
    """What the clients of a test share.

    Attributes:
        why: the schedules have to be searched; empty if the clients share nothing that was seen.
        things: what they contend for (`contended`), if that is all known; else empty.
        in_c: the modules of C code of which they call something.
    """

    why: str
    things: Sequence[Thing] = ()
    in_c: Sequence[str] = ()


def footprint(program: Program, limit: float) -> Footprint:
    """What the threads of this program share.

    The first record is of the first run of this process, which makes what only a first run makes, such as a cache. What a step may
    touch counts as touched. In a later record there must be no step of which it is not known what it touches; if there is one in
    the first, that must not show anything that both touch, changed or not. When a step touches it need not be known.

    Args:
        limit: seconds that the records may take.

    Raises:
        NotExplorable: no schedule can control the program.
        BaseException: what its setup raised.
    """
    until = monotonic() + limit
    with explorer_for(program, FuzzPlan(budget=limit), lambda label: None) as explorer:
        first = _recorded(explorer, until)
        if first.failed or first.things or (first.unknown and first.shares):
            return _told(first)
        explorer.events.forget()
        explorer.in_order()
        second = _told(_recorded(explorer, until))
        return Footprint(str(explorer.uncontrolled[0])) if not second.why and explorer.uncontrolled else second


class _Record(NamedTuple):
    failed: str = ""  # there is none, and why
    things: Sequence[Thing] = ()
    unknown: str = ""
    shares: bool = False  # it shows an object that both touch, whether it changes or not
    in_c: Sequence[str] = ()


def _told(record: _Record) -> Footprint:
    if record.failed or not (record.things or record.unknown):
        return Footprint(record.failed, in_c=record.in_c)
    if not record.things:
        return Footprint(f"it is not known what {record.unknown} touches")
    return Footprint("its threads touch the same, and one changes it", () if record.unknown else record.things)


def _recorded(explorer: Explorer, until: float) -> _Record:
    trace, harmless = Trace(explorer.engine, focusing=True, until=until), Harmless()
    explorer.prepared = harmless.look
    with trace:
        run, failure = explorer.follow(Schedule(), recording=True)
    if failure is not None:
        return _Record(failure.message)
    if trace.gave_up or run.unreported:
        return _Record("its record takes too long")
    things, unplaced = things_of(trace, harmless)
    unknown = [what for point, what in trace.not_known.items() if not _is_harmless(trace, point, what)]
    return _Record("", things, _in_words(unknown[0]) if unknown else unplaced, trace.shares(), modules_in_c(trace))


def _is_harmless(trace: Trace, point: int, unknown: str | tuple[CodeType, int]) -> bool:
    """Whether nothing follows from not knowing this. What a finalizer does makes steps of its own, where an object ends."""
    access = trace.accesses.get(point)
    if (access is not None and access.kind == "end") or unknown is trace.in_middle.get(point):
        return True
    return unknown == _CLOCK or is_in_code(trace.spots.get(point))


def _in_words(unknown: str | tuple[CodeType, int]) -> str:
    return unknown if isinstance(unknown, str) else told(*unknown)
