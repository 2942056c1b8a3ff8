"""From a run and its record to a `RunSummary`: what needs the live objects of the run is found out here."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from ...core.classes import bases_of
from ...core.origin import ours
from ..bytecode.at import unwrapped
from ..bytecode.calls import is_step
from ..bytecode.changing import Changing
from ..bytecode.visible import place_in_code
from ..program import Program
from ..running.engine import Engine
from ..running.record import ScheduleRun
from ..summary import Focusing, Part, RunSummary, Spot, Torn, Touched, Want
from .objects import Objects
from .trace import Trace, told

_REMEMBERED = 8  # runs whose changed objects are looked for in later runs
_NO_TIME = "there was no time to record every run"


def summarised(run: ScheduleRun, want: Want) -> RunSummary:
    """A run that has ended, as far as that is wanted: what it touched aside, and how it failed."""
    return RunSummary(
        schedule=run.schedule,
        points=run.points,
        stuck=run.stuck if run.broken_off else "",
        masked=run.masked,
        anchors=tuple(run.anchors) if want.anchors else (),
        polls=run.yields > 0,
        spans=run.spans if want.choices else (),
        forks=run.forks if want.choices else (),
        readings=run.readings if want.choices else (),
        reachable=run.reachable if want.switches else frozenset(),
        lengths=run.lengths if want.switches else {},
    )


def touched_of(trace: Trace, *, found_again: bool, focusing: Focusing | None = None) -> Touched:
    """What a run has touched whose threads rest.

    Args:
        found_again: what `Written.again` says of it.
    """
    instructions = _Instructions()
    torn = {point: _named(each, trace, point) for point, each in trace.torn.items()}
    apart = {point: _named(each, trace, point) for point, each in trace.taken_apart.items()}
    return Touched(
        owners=trace.owners,
        parts=_numbered(trace.parts),
        steps=trace.steps,
        after=trace.lives.after,
        not_known={point: what if isinstance(what, str) else instructions.at(*what) for point, what in trace.not_known.items()},
        no_step=trace.no_step,
        ends={point for point, access in trace.accesses.items() if access.kind == "end"},
        spots={point: instructions.at(*place) for point, place in trace.spots.items()},
        guessed=trace.guessed,
        torn=torn,
        taken_apart=apart,
        told=dict(_told(trace)) if torn or apart else {},
        shares=trace.shares(),
        found_again=found_again,
        gave_up=trace.gave_up,
        focusing=focusing,
    )


class _Instructions:
    """One `Spot` for each place, by the id of its code: a code object compares and hashes by all that it contains."""

    def __init__(self) -> None:
        self._of_code: dict[int, dict[int, Spot]] = {}

    def at(self, code: CodeType, offset: int) -> Spot:
        of_code = self._of_code.get(id(code))
        if of_code is None:
            of_code = self._of_code[id(code)] = {}
        spot = of_code.get(offset)
        if spot is None:
            spot = of_code[offset] = Spot(code.co_filename, code.co_firstlineno, offset)
        return spot


def _numbered(parts: dict[int, list[Part]]) -> dict[int, list[Part]]:
    """The same, with a number for each key of an element: those that are equal have the same."""
    numbers: dict[Any, int] = {}
    return {
        point: [
            each if type(each.part) is str else Part(each.holder, numbers.setdefault(each.part, len(numbers)), each.deed)
            for each in touched
        ]
        for point, touched in parts.items()
    }


def _named(torn: Torn, trace: Trace, point: int) -> Torn:
    return torn._replace(call=place_in_code(*trace.spots[point])) if point in trace.spots else torn


def _told(trace: Trace) -> Iterator[tuple[int, str]]:
    """The steps that touch what C touches in several steps, for a reader."""
    torn = frozenset[int]().union(*(each.holders for each in (*trace.torn.values(), *trace.taken_apart.values())))
    texts: dict[tuple[int, int], str] = {}
    for point, parts in trace.parts.items():
        if point in trace.spots and any(part.holder in torn for part in parts):
            code, offset = trace.spots[point]
            if (id(code), offset) not in texts:
                texts[id(code), offset] = told(code, offset)
            yield point, texts[id(code), offset]


def doubt_of(run: ScheduleRun, trace: Trace, engine: Engine, names: Changing, threads: int) -> str:
    """Why nothing follows from a run for the schedules that were not run; empty if there is no reason.

    Args:
        threads: how many the program has.
    """
    if trace.gave_up:
        return _NO_TIME
    if trace.not_known:
        return f"it is not known what {trace.doubt} touches"
    if engine.clock.matters or run.delays or run.readings:
        return "time plays a part"
    if engine.chance.gave_bytes:
        return "chance plays a part"
    started = engine.tasks[threads:]
    if run.uncontrolled or run.left or trace.lives.doubt(started, may_end_early=engine.may_end_early):
        return "not all of its threads are known"
    if started and (names.thread_matters or names.thread_ends_matter):
        return "its files ask which thread runs, or whether one has ended"
    if run.yields or run.broken_off or len(trace.owners) != run.points:
        return "a thread polls, or a run does not end"
    if names.ends_matter:
        return "its files use weak references, files or finalizers, so it may matter when an object ends"
    if names.anything or names.looked_into:
        return "its files use vars(), setattr() or the like, so names may change without a store"
    return ""


def doubt_of_threads(program: Program, takes_part: Callable[[str], bool]) -> str:
    """Why nothing follows from any run of a program; empty if there is no reason."""
    ours_ = [thread for thread in program.threads if ours(getattr(getattr(thread, "__code__", None), "co_filename", ""))]
    calls = [*(thread for thread in program.threads if not any(thread is each for each in ours_)), *program.calls]
    if (ours_ and not program.calls) or any(is_step(unwrapped(each, [])[0], None, takes_part) for each in calls):
        return "its threads begin in code that is not under test"
    return ""


def alike(program: Program) -> tuple[int, ...]:
    """By thread, the first of the program's threads that does the same."""
    return tuple(next(index for index, other in enumerate(program.threads) if other is each) for each in program.threads)


class Written:
    """The objects that earlier runs have changed, as far as they still live."""

    def __init__(self) -> None:
        self._objects = Objects()
        self._runs = 0

    def let_go(self) -> None:
        """No longer keep what nothing else refers to; before a run."""
        self._objects.let_go()

    def again(self, trace: Trace) -> bool:
        """Whether a run has changed what an earlier one had changed: it is not made anew for each run."""
        written = {number: each for number, each in trace.written().items() if not _only_grows(each)}
        if any(self._objects.knows(each) for each in written.values()):
            return True
        self._runs += 1
        if self._runs <= _REMEMBERED:
            for each in written.values():
                self._objects.number(each)
        return False


def _only_grows(thing: object) -> bool:
    """Whether this is the standard output of the process, which the program writes and does not read."""
    return thing is sys.stdout and io.TextIOWrapper in bases_of(type(thing))
