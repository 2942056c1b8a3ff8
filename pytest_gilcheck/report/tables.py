"""The matrix as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from .clean import clean, name_of_test, one_line, padded, wrapped
from .matrix import Matrix, MatrixCell, MatrixColumn
from .regressions import ComparisonFinding
from .words import ASCII_MARKS, MARKS, WORST_FIRST, bounds, interval, main_figure, short_figure, slower

_HEAD = 12  # columns for the label of a line
_NARROWEST, _WIDEST = 14, 24  # columns for one interpreter
_COLUMNS = (
    "test", "check", "number", "interpreter", "verdict", "figure", "value", "unit", "low", "high", "cost", "cost_low", "cost_high",
    "reason",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs text that begins so


def text(table: Matrix, found: Sequence[ComparisonFinding] = (), *, width: int = 80, plain: bool = False) -> str:
    """Return the matrix for a terminal, followed by the findings.

    Args:
        width: columns of the terminal; interpreters that do not fit follow in a second block.
        plain: use ASCII only.
    """
    lines = [] if table.rows else ["no checks"]
    fit = max(1, (width - _HEAD) // _NARROWEST)
    every = range(len(table.columns))
    for start in range(0, len(table.columns), fit):
        part = every[start : start + fit]
        lines += _block(table, part, width, ASCII_MARKS if plain else MARKS)
        lines.append("")
    legend = [_legend(ASCII_MARKS if plain else MARKS)] if table.rows else []
    for words in [*legend, *changes(table), *map(str, found)]:
        lines += wrapped(words, width, indent="  ")
    ellipsis = "..." if plain else "\u2026"
    return "\n".join(clean(line).replace("\u2026", ellipsis) for line in lines)


def changes(table: Matrix) -> list[str]:
    """Return a line for each test whose verdicts differ between interpreters, and one for records that were left out."""
    lines = []
    for row in table.rows:
        if row.changed:
            by_verdict: dict[str, list[str]] = {}
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell is not None:
                    by_verdict.setdefault(cell.record["verdict"] or "measured", []).append(column.label)
            lines.append(
                f"changes: {one_line(row.name)}: "
                + "; ".join(f"{verdict} on {', '.join(on)}" for verdict, on in by_verdict.items())
            )
    if table.replaced:
        lines.append(f"{table.replaced} records were left out because there is a newer record of the same check")
    return lines


def markdown(table: Matrix, found: Sequence[ComparisonFinding] = ()) -> str:
    """Return the matrix as a Markdown table, in GitHub's dialect."""
    head = ["test", *(column.label for column in table.columns)]
    lines = ["| " + " | ".join(map(_escaped, head)) + " |", "|" + " --- |" * len(head)]
    for row in table.rows:
        cells = [f"`{_code(row.name)}`" + (f" ({_escaped(row.check)})")]
        for index, cell in enumerate(row.cells):
            cells.append(_escaped_cell(cell, index == table.reference))
        lines.append("| " + " | ".join(cells) + " |")
    if (means := _means(table)) is not None:
        lines.append("| one thread, geometric mean | " + " | ".join(means) + " |")
    lines += ["", _legend(MARKS), *(f"- {_escaped(line)}" for line in changes(table))]
    lines += [f"- **{_escaped(str(finding))}**" for finding in found]
    return "\n".join(lines)


def comma_separated(table: Matrix) -> str:
    """Return the matrix as CSV, a line for each test on each interpreter; text that a spreadsheet would run gets a ``'``."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell is None:
                continue
            costs = (cell.cost.ratio, cell.cost.low, cell.cost.high) if cell.cost is not None else (None, None, None)
            figure = main_figure(cell.record) or (None, None, None)
            line = [row.subject, row.check, row.number, column.label, cell.record["verdict"], *figure, *bounds(cell.record), *costs]
            writer.writerow([_without_formula(value) for value in [*line, one_line(cell.record["reason"])]])
    return stream.getvalue()


def as_json(table: Matrix, found: Sequence[ComparisonFinding] = ()) -> str:
    """Return the matrix as JSON: columns, rows with figures, mean costs, and findings."""

    def column_document(column: MatrixColumn) -> dict[str, Any]:
        return {"label": column.label, "interpreter": column.interpreter, "file": column.file or None}

    def cell_document(cell: MatrixCell | None) -> dict[str, Any] | None:
        if cell is None:
            return None
        costs = None if cell.cost is None else {"ratio": cell.cost.ratio, "low": cell.cost.low, "high": cell.cost.high}
        kept = ("verdict", "reason", "figures", "recorded", "token")
        return {name: cell.record[name] for name in kept} | {"cost": costs}

    means = [table.mean_cost(index) for index in range(len(table.columns))]
    document = {
        "columns": [column_document(column) for column in table.columns],
        "reference": table.columns[table.reference].label if table.columns else None,
        "rows": [
            {
                "subject": row.subject,
                "check": row.check,
                "number": row.number,
                "changed": row.changed,
                "cells": [cell_document(cell) for cell in row.cells],
            }
            for row in table.rows
        ],
        "mean_cost": [None if mean is None else {"ratio": mean[0], "tests": mean[1]} for mean in means],
        "findings": [
            {
                "condition": str(finding.condition),
                "subject": finding.subject,
                "interpreter": finding.interpreter,
                "decided": finding.decided,
                "message": finding.message,
            }
            for finding in found
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False)


def _block(table: Matrix, part: range, width: int, marks: dict[str | None, str]) -> list[str]:
    """Return the lines of some interpreters side by side: a few lines for each test."""
    each = max(_NARROWEST, min(_WIDEST, (width - _HEAD) // len(part)))

    def line(head: str, cells: list[str]) -> str:
        return (padded(head, _HEAD) + "".join(padded(one_line(cell, each - 1), each) for cell in cells)).rstrip()

    lines = [line("", [table.columns[index].label for index in part])]
    for row in table.rows:
        cells = [row.cells[index] for index in part]
        if all(cell is None for cell in cells):
            continue
        lines.append(name_of_test(row.name, width))
        lines.append(line(f"  {one_line(row.check, _HEAD - 3)}", [_verdict_and_figure(cell, marks) for cell in cells]))
        if any(intervals := ["" if cell is None else interval(cell.record) for cell in cells]):
            lines.append(line("  interval", intervals))
        costs = ["reference" if index == table.reference else _cost(row.cells[index]) for index in part]
        if any(cell is not None and cell.cost is not None for cell in row.cells):
            lines.append(line("  1 thread", costs))
    if (means := _means(table)) is not None:
        lines.append("one thread, geometric mean")
        lines.append(line("", [means[index] for index in part]))
    return lines


def _verdict_and_figure(cell: MatrixCell | None, marks: dict[str | None, str]) -> str:
    if cell is None:
        return ""
    return f"{marks.get(cell.record['verdict'], '?')} {short_figure(cell.record)}"


def _cost(cell: MatrixCell | None) -> str:
    if cell is None or cell.cost is None:
        return ""
    certain = cell.cost.low is not None and cell.cost.high is not None and not cell.cost.low <= 1 <= cell.cost.high
    return f"{'' if certain else '~'}{slower(cell.cost.ratio)}"


def _means(table: Matrix) -> list[str] | None:
    means = [table.mean_cost(index) for index in range(len(table.columns))]
    if not any(means):
        return None
    return [
        "reference" if index == table.reference else "" if mean is None else f"{slower(mean[0])} ({mean[1]})"
        for index, mean in enumerate(means)
    ]


def _legend(marks: dict[str | None, str]) -> str:
    verdicts = "  ".join(f"{marks[verdict]} {verdict}" for verdict in reversed(WORST_FIRST))
    return f"{verdicts}  ~ less than its own uncertainty"


def _escaped_cell(cell: MatrixCell | None, reference: bool) -> str:
    if cell is None:
        return ""
    parts = [f"{MARKS.get(cell.record['verdict'], '?')} **{_escaped(short_figure(cell.record))}**"]
    if known := interval(cell.record):
        parts[0] += f" ({known})"
    if not reference and (words := _cost(cell)):
        parts.append(f"one thread {words}")
    return "<br>".join(parts)


def _escaped(value: str) -> str:
    """Return the text with every character escaped that means something to Markdown."""
    flat = one_line(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{mark}" if mark in "\\`*_{}[]|#~!@" else mark for mark in flat)


def _code(value: str) -> str:
    return one_line(value).replace("`", "'").replace("|", "\\|")


def _without_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    line = one_line(value)
    return f"'{line}" if line.startswith(_FORMULA) else line
