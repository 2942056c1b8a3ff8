"""What held the GIL: the expression, its line, and whether it was bytecode or a C call that did not release the GIL.

The length of the waits distinguishes the two. Bytecode releases the GIL on request, that is, after a switch interval. Another
thread may get it first, so one interval counts for each busy thread, and one for the other probes. A longer wait means a C call
that did not check for requests. A C call shorter than that is reported as bytecode, and delays other threads no more than
bytecode does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from types import CodeType

from ..core.holders import HolderPlace, Holding
from ..core.source import Position, line_text, place, position_text
from ..core.texts import attribute_of, name_in, text_of
from ..core.workloads import called_by
from .lateness import ms
from .slowest_line import SlowestLine

BYTECODE, IN_C = "bytecode", "C call"
_LAST = "the last operation of the workload"
_NAMED = 0.25  # of the waited time: a known place with at least this share comes before an unknown one
_SLACK = 0.001  # seconds that waking up may take on a busy machine, in addition to the switch intervals
_LONGEST = 60  # characters of source shown for an operation


@dataclass(frozen=True)
class Culprit:
    """One place that held the GIL.

    Attributes:
        line: ``"file:line (function)"``.
        expression: the source text of the call or the statement; None without a source.
        kind: ``"bytecode"``, which releases the GIL on request, or ``"C call"``, which holds it until the call returns.
        share: of the time that the heartbeat waited for the GIL.
        typical, longest: the median and the longest wait charged to this place, in seconds.
        caller: the line outside the standard library that called it, if the place is inside the standard library.
        interval: the switch interval that the workload has set, in seconds; None if it has set none that is longer.
    """

    line: str
    expression: str | None
    kind: str
    share: float
    typical: float
    longest: float
    caller: str | None = None
    interval: float | None = None

    def __str__(self) -> str:
        what = f"{self.expression} at {self.line}" if self.expression else self.line
        called = f", called from {self.caller}" if self.caller else ""
        held = f"a C call that holds the GIL {ms(self.typical)} at a time"
        set_by = (
            "" if self.interval is None else f" after the {ms(self.interval)} that the workload has given to sys.setswitchinterval"
        )
        return f"{what}{called}, {held if self.kind == IN_C else f'bytecode, which releases the GIL on request{set_by}'}"

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


def culprits(
    holdings: Iterable[Holding],
    interval: float,
    workers: int,
    work: object,
    last: SlowestLine | None = None,
    before: float | None = None,
) -> tuple[Culprit, ...]:
    """Describe the places, longest waited for first; places with the same line and expression are merged.

    Args:
        holdings: the places and the waits charged to them.
        interval: the switch interval, in seconds.
        before: that of the check, if the workload may have set a longer one.
        workers: threads that run the workload.
        work: the workload, shown where its last operation held the GIL, and nothing more is known.
        last: its slowest line, which stands for its last operation.
    """
    together: dict[tuple[str, str | None, str | None], list[Holding]] = {}
    for holding in holdings:
        at = holding.place
        key: tuple[str, str | None, str | None] = (_whole(work), _LAST, None) if last is None else _last(last)
        if at.file is not None:
            key = (str(at), expression(at), at.caller)
        together.setdefault(key, []).append(holding)
    found = []
    for (line, text, caller), parts in together.items():
        waits = [wait for part in parts for wait in part.waits]
        kind = IN_C if median(waits) > (workers + 1) * interval + _SLACK else BYTECODE
        own = None if before is None or interval <= before else interval
        found.append(Culprit(line, text, kind, sum(part.share for part in parts), median(waits), max(waits), caller, own))
    found.sort(key=lambda culprit: culprit.share, reverse=True)
    if (
        found
        and found[0].expression == _LAST
        and (named := [each for each in found if each.share >= _NAMED and each.expression != _LAST])
    ):
        found.insert(0, found.pop(found.index(named[0])))
    return tuple(found)


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
