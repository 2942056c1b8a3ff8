"""What a probe has found as evidence: one record for each experiment and interpreter, without a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from ..core import evidence
from .result import TEXT, Column
from .rows import FACTS, GROUPS, Group, Row
from .table import shown


def records(columns: Sequence[Column]) -> list[evidence.Record]:
    """The records of all experiments, interpreter by interpreter.

    A figure's range is ``name_low`` to ``name_high``; a figure there is none of is null, and why is in the details.
    """
    return [_record(column, group) for column in columns for group in GROUPS if group is not FACTS]


def _record(column: Column, group: Group) -> evidence.Record:
    figures: dict[str, float | str | None] = {}
    units: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in group.rows:
        figure = column.figures[row.name]
        figures[row.name] = figure.text if figure.unit == TEXT else figure.value
        if figure.low is not None:
            figures |= {f"{row.name}_low": figure.low, f"{row.name}_high": figure.high}
        if figure.value is not None:
            units[row.name] = figure.unit
        if figure.note:
            notes[row.name] = figure.note
    details = {
        "text": "\n".join([f"{group.title}:", *(f"{row.label}: {_line(column, row)}" for row in group.rows)]),
        "units": units,
        "remarks": notes,
        "published": {row.name: [str(one) for one in row.published] for row in group.rows if row.published},
        "build": column.facts["full"],  # and no path of this machine: evidence is published
    }
    record = evidence.record("probe", group.name, None, {}, figures, details=details)
    build = column.interpreter()["build"]
    return {**record, "interpreter": column.interpreter(), "gil": {"before": build, "after": build}}  # not those that run us


def _line(column: Column, row: Row) -> str:
    figure = column.figures[row.name]
    return "; ".join(part for part in (shown(figure), figure.note) if part)
