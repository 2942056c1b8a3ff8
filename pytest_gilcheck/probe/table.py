"""The figures as a text table: one line for each figure, one column for each interpreter, published figures last."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .published import SOURCES
from .result import BYTES, RATE, RATIO, SECONDS, TEXT, Figure, ProbedInterpreter
from .rows import GROUPS, ProbeRow

_CELL = 19  # terminal columns for a figure
_PUBLISHED = (22, 64)  # terminal columns for published figures: at least, at most
_NARROWEST = 40
_MOST_LINES = 3  # of a cell; a longer text becomes a footnote
_GAP = "  "
_SCALES = {
    SECONDS: ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    BYTES: ((2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    RATE: ((1.0, "/s"),),
    RATIO: ((1.0, "x"),),
}


def table(interpreters: Sequence[ProbedInterpreter], width: int) -> str:
    """Return the table for a terminal of ``width`` columns. Interpreters that do not fit side by side follow in further parts."""
    label = max(len(row.label) for group in GROUPS for row in group.rows) + 2
    fit = max(1, (width - label - len(_GAP) - _PUBLISHED[0]) // (_CELL + len(_GAP)))
    notes: list[str] = []
    lines: list[str] = []
    for first in range(0, len(interpreters), fit):
        lines += _part(interpreters[first : first + fit], label, width, notes)
    below = [f"[{number}] {line}" for number, line in enumerate(notes, 1)]
    below += [
        "Figures: the median of several measurements, and their range. Published figures are of other machines: compare ratios."
    ]
    below += [f"[{name}] {source}" for name, source in SOURCES.items()]
    return "\n".join([*lines, *(part for line in below for part in textwrap.wrap(line, max(width, _NARROWEST)))])


def _part(interpreters: Sequence[ProbedInterpreter], label: int, width: int, notes: list[str]) -> list[str]:
    taken = label + len(interpreters) * (_CELL + len(_GAP)) + len(_GAP)
    widths = [label, *(_CELL for _ in interpreters), min(max(_PUBLISHED[0], width - taken), _PUBLISHED[1])]
    lines = _line(["", *(interpreter.label for interpreter in interpreters), "published"], widths)
    for group in GROUPS:
        lines += ["", *textwrap.wrap(group.title, max(width, _NARROWEST))]
        for row in group.rows:
            cells = [_cell(interpreter.figures.get(row.name), notes) for interpreter in interpreters]
            lines += _line([f"  {row.label}", *cells, _published(row)], widths)
    return [*lines, ""]


def _published(row: ProbeRow) -> str:
    return "; ".join(map(str, row.published))


def _line(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [textwrap.wrap(cell, width, drop_whitespace=False) or [""] for cell, width in zip(cells, widths, strict=True)]
    wrapped = [wrapped[0], *([part.strip() for part in parts] for parts in wrapped[1:])]
    height = max(map(len, wrapped))
    rows = ([parts[at] if at < len(parts) else "" for parts in wrapped] for at in range(height))
    return [_GAP.join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip() for parts in rows]


def _cell(figure: Figure | None, notes: list[str]) -> str:
    """Return a figure with its note; a long note becomes a footnote."""
    if figure is None:
        return "not measured"
    value = shown(figure)
    whole = f"{value}; {figure.note}" if value and figure.note else value or figure.note
    if figure.unit == TEXT or len(textwrap.wrap(whole, _CELL)) <= _MOST_LINES:
        return whole
    note = figure.note or whole
    if note not in notes:
        notes.append(note)
    return f"{value or 'none'} [{notes.index(note) + 1}]"


def shown(figure: Figure) -> str:
    """Return a figure with its range, without its note; empty if it is missing."""
    if figure.unit == TEXT:
        return figure.text
    if figure.value is None:
        return ""
    scale, name = next((pair for pair in _SCALES[figure.unit] if abs(figure.value) >= pair[0]), _SCALES[figure.unit][-1])
    ratio = figure.unit == RATIO

    def number(value: float) -> str:
        return f"{value:.2f}" if ratio and value < 99.5 else _digits(value / scale)

    text = number(figure.value) + ("" if ratio or figure.unit == RATE else " ") + name
    if (
        figure.count > 1
        and figure.low is not None
        and figure.high is not None
        and (low := number(figure.low)) != (high := number(figure.high))
    ):
        return f"{text} {low}..{high}"
    return text


def _digits(value: float) -> str:
    """Return three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
