"""What held the GIL: the expression, its line, and whether it was bytecode or a C call that did not release the GIL.

What a place does with a short switch interval distinguishes the two (`holds`). Bytecode then keeps the GIL for that interval and a
moment, and a C call for its own length. A call of half a millisecond counts as bytecode: it delays others as little, and a shorter
interval helps. Between that and a millisecond, both are named.

Where there are too few samples of a place, the length of the waits may tell. Bytecode releases the GIL on request, that is, after a
switch interval. Another thread may get it first, so one interval counts for each busy thread, and one for the other probes. A
longer wait means a C call that did not check for requests. A shorter one may be either, and both are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import CodeType
from typing import TypeAlias

from ..core.gil_holders import HolderPlace, Holding
from ..core.source import Position, line_text, place, position_text
from ..core.texts import attribute_of, name_in, text_of
from ..core.workloads import called_by
from .lateness import ms
from .slowest_line import SlowestLine

BYTECODE, IN_C, EITHER = "bytecode", "C call", "bytecode or C call"
FEWEST = 3  # samples of a place that tell
_BRIEF, _LONG = 0.0005, 0.001  # seconds that bytecode keeps the GIL at most, and a C call at least, with a short switch interval
_LAST = "the last operation of the workload"
_NAMED = 0.25  # of the waited time: a known place with at least this share comes before an unknown one
_SLACK = 0.001  # seconds that waking up may take on a busy machine, in addition to the switch intervals
_LONGEST = 60  # characters of source shown for an operation

_Key: TypeAlias = tuple[str, str | None, str | None]  # line, expression and caller


@dataclass(frozen=True)
class Culprit:
    """One place that held the GIL.

    Attributes:
        line: ``"file:line (function)"``.
        expression: the source text of the call or the statement; None without a source.
        kind: ``"bytecode"``, which releases the GIL on request, ``"C call"``, which holds it until the call returns, or
            ``"bytecode or C call"`` where that could not be told.
        share: of the time that the heartbeat waited for the GIL.
        typical, longest: the median and the longest wait charged to this place, in seconds.
        caller: the line outside the standard library that called it, if the place is inside the standard library.
        interval: the switch interval that the workload has set, in seconds; None if it has set none that is longer.
        kept: the median time for which it keeps the GIL after a request for it, in seconds, with a short switch interval; None if
            there are too few samples.
    """

    line: str
    expression: str | None
    kind: str
    share: float
    typical: float
    longest: float
    caller: str | None = None
    interval: float | None = None
    kept: float | None = None

    def __str__(self) -> str:
        what = f"{self.expression} at {self.line}" if self.expression else self.line
        called = f", called from {self.caller}" if self.caller else ""
        return f"{what}{called}, {self._how()}"

    def _how(self) -> str:
        if self.kind == IN_C:
            always = "" if self.kept is None else ", whatever the switch interval"
            return f"a C call that holds the GIL {ms(self.kept or self.typical)} at a time{always}"
        released = "bytecode, which releases the GIL on request"
        if self.interval is not None:
            released = f"{released} after the {ms(self.interval)} that the workload has given to sys.setswitchinterval"
        if self.kind != EITHER:
            return released
        why = "too few samples tell" if self.kept is None else f"with a short switch interval it keeps the GIL for {ms(self.kept)}"
        return f"{released}; or a C call that does not ({why})"

    def figures(self) -> dict[str, object]:
        return {
            "line": self.line,
            "expression": self.expression,
            "kind": self.kind,
            "share": self.share,
            "typical": self.typical,
            "longest": self.longest,
            "caller": self.caller,
            "kept": self.kept,
        }


def culprits(
    holdings: Iterable[Holding],
    interval: float,
    workers: int,
    work: object,
    last: SlowestLine | None = None,
    before: float | None = None,
    holds: Mapping[HolderPlace, Sequence[float]] | None = None,
) -> tuple[Culprit, ...]:
    """Describe the places, longest waited for first; places with the same line and expression are merged.

    Args:
        holdings: the places and the waits charged to them.
        interval: the switch interval, in seconds.
        before: that of the check, if the workload may have set a longer one.
        workers: threads that run the workload.
        work: the workload, shown where its last operation held the GIL, and nothing more is known.
        last: its slowest line, which stands for its last operation.
        holds: seconds for which places kept the GIL with a short switch interval, one for each sample (`holds.held_for`).
    """

    def key(at: HolderPlace) -> _Key:
        if at.file is not None:
            return str(at), expression(at), at.caller
        return (_whole(work), _LAST, None) if last is None else _last(last)

    together: dict[_Key, list[Holding]] = {}
    for holding in holdings:
        together.setdefault(key(holding.place), []).append(holding)
    kept: dict[_Key, list[float]] = {}
    for at, samples in (holds or {}).items():
        kept.setdefault(key(at), []).extend(samples)
    found = []
    for (line, text, caller), parts in together.items():
        waits, samples = [wait for part in parts for wait in part.waits], kept.get((line, text, caller), [])
        found.append(
            Culprit(
                line, text, _kind(waits, samples, (workers + 1) * interval + _SLACK), sum(part.share for part in parts),
                median(waits), max(waits), caller, None if before is None or interval <= before else interval,
                median(samples) if len(samples) >= FEWEST else None,
            )
        )  # fmt: skip
    found.sort(key=lambda culprit: culprit.share, reverse=True)
    if (
        found
        and found[0].expression == _LAST
        and (named := [each for each in found if each.share >= _NAMED and each.expression != _LAST])
    ):
        found.insert(0, found.pop(found.index(named[0])))
    return tuple(found)


def _kind(waits: Sequence[float], holds: Sequence[float], longest: float) -> str:
    """Bytecode, a C call, or either.

    Args:
        longest: seconds that a thread may wait for bytecode.
    """
    if len(holds) < FEWEST:
        return IN_C if median(waits) > longest else EITHER
    return IN_C if median(holds) >= _LONG else BYTECODE if median(holds) <= _BRIEF else EITHER


def _last(line: SlowestLine) -> tuple[str, str | None, None]:
    text = _shortened(line_text(line.file, line.line)) or None
    where = place(line.file, line.line, line.function)
    return where, f"the freeing of what the function leaves behind, after {text}" if line.freed else text, None


def expression(at: HolderPlace) -> str | None:
    """The source of the call at this place; the whole line where no call is known; None where there is no source."""
    file = at.file or ""
    text = line_text(file, at.line) if at.call is None else position_text(file, Position(at.line, at.line, *at.call))
    return _shortened(text) or None


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _whole(work: object) -> str:
    work = called_by(work)
    code = attribute_of(attribute_of(work, "__func__") or work, "__code__")
    name = name_in(work) or text_of(work)
    return place(code.co_filename, code.co_firstlineno, name) if isinstance(code, CodeType) else name
