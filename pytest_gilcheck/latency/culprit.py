"""What held the GIL, in words: the expression, its line, and whether it was bytecode or a call into C that never let go.

The length of the waits tells the two apart. Bytecode lets go when asked, which is after a switch interval; the asking thread may
be passed over, so the interval counts once for each busy thread and once for the other probes. What holds on longer did not look.
A C call shorter than that passes for bytecode, and delays others no more than bytecode does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from types import CodeType

from ..core.holders import Holding, Place
from ..core.source import Position, line_text, place, position_text
from .lateness import ms

BYTECODE, IN_C = "bytecode", "C call"
_LAST = "the last operation of the workload"
_NAMED = 0.25  # of the waited time, from which a place that has a name comes before one that has none
_SLACK = 0.001  # seconds beside the switch interval that waking up may take on a busy machine
_LONGEST = 60  # characters of source that name an operation


@dataclass(frozen=True)
class Culprit:
    """One place that held the GIL.

    Attributes:
        line: ``"file:line (function)"``.
        expression: the call or the statement, as it stands in the source; None without a source.
        kind: ``"bytecode"``, which lets go when asked, or ``"C call"``, which holds on until it returns.
        share: of the time that the heartbeat waited for the GIL.
        typical, longest: seconds of a wait charged to it, the median and the longest.
        caller: the line outside of the standard library that called it, where it is inside.
    """

    line: str
    expression: str | None
    kind: str
    share: float
    typical: float
    longest: float
    caller: str | None = None

    def __str__(self) -> str:
        what = f"{self.expression} at {self.line}" if self.expression else self.line
        called = f", called from {self.caller}" if self.caller else ""
        holds_on = f"a C call that holds the GIL {ms(self.typical)} at a time"
        how = holds_on if self.kind == IN_C else "bytecode, which lets go when asked"
        return f"{what}{called}, {how}"

    def figures(self) -> dict[str, object]:
        return {
            "line": self.line,
            "expression": self.expression,
            "kind": self.kind,
            "share": self.share,
            "typical": self.typical,
            "longest": self.longest,
            "caller": self.caller,
        }


def culprits(holdings: Iterable[Holding], interval: float, workers: int, work: object) -> tuple[Culprit, ...]:
    """Name the places, longest waited for first; places on one line with one expression count as one.

    Args:
        holdings: the places and the waits charged to them.
        interval: the switch interval, in seconds.
        workers: threads that run the workload.
        work: the workload, which is named where its very last operation held the GIL.
    """
    together: dict[tuple[str, str | None, str | None], list[Holding]] = {}
    for holding in holdings:
        at = holding.place
        key: tuple[str, str | None, str | None] = (_whole(work), _LAST, None)
        if at.file is not None:
            key = (str(at), expression(at), at.caller)
        together.setdefault(key, []).append(holding)
    found = []
    for (line, text, caller), parts in together.items():
        waits = [wait for part in parts for wait in part.waits]
        kind = IN_C if median(waits) > (workers + 1) * interval + _SLACK else BYTECODE
        found.append(Culprit(line, text, kind, sum(part.share for part in parts), median(waits), max(waits), caller))
    found.sort(key=lambda culprit: culprit.share, reverse=True)
    if (
        found
        and found[0].expression == _LAST
        and (named := [each for each in found if each.share >= _NAMED and each.expression != _LAST])
    ):
        found.insert(0, found.pop(found.index(named[0])))
    return tuple(found)


def expression(at: Place) -> str | None:
    """The source of the call at this place; the whole line where no call is known; None where there is no source."""
    file = at.file or ""
    text = line_text(file, at.line) if at.call is None else position_text(file, Position(at.line, at.line, *at.call))
    text = " ".join(text.split())
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...") or None


def _whole(work: object) -> str:
    code = getattr(getattr(work, "__func__", work), "__code__", None)
    name = getattr(work, "__qualname__", repr(work))
    return place(code.co_filename, code.co_firstlineno, name) if isinstance(code, CodeType) else str(name)
