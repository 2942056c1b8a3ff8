"""The evidence of a probe: one record for each experiment and interpreter, without a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from ..core import evidence
from .result import TEXT, ProbedInterpreter
from .rows import FACTS, GROUPS, ProbeGroup, ProbeRow
from .table import shown


def records(probed: Sequence[ProbedInterpreter]) -> list[evidence.Record]:
    """Return the records of all experiments, interpreter by interpreter.

    The range of a figure is ``name_low`` to ``name_high``. A missing figure is null, and the details give the reason.
    """
    return [_record(interpreter, group) for interpreter in probed for group in GROUPS if group is not FACTS]


def _record(interpreter: ProbedInterpreter, group: ProbeGroup) -> evidence.Record:
    figures: dict[str, float | str | None] = {}
    units: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in group.rows:
        figure = interpreter.figures[row.name]
        figures[row.name] = figure.text if figure.unit == TEXT else figure.value
        if figure.low is not None:
            figures |= {f"{row.name}_low": figure.low, f"{row.name}_high": figure.high}
        if figure.value is not None:
            units[row.name] = figure.unit
        if figure.note:
            notes[row.name] = figure.note
    details = {
        "text": "\n".join([f"{group.title}:", *(f"{row.label}: {_line(interpreter, row)}" for row in group.rows)]),
        "units": units,
        "remarks": notes,
        "published": {row.name: [str(one) for one in row.published] for row in group.rows if row.published},
        "build": interpreter.facts["full"],  # without any path of this machine: evidence is published
    }
    record = evidence.record("probe", group.name, None, {}, figures, details=details)
    build = interpreter.as_evidence()["build"]
    return {
        **record,
        "interpreter": interpreter.as_evidence(),
        "gil": {"before": build, "after": build},
    }  # the probed interpreter, not the one that runs the probe


def _line(interpreter: ProbedInterpreter, row: ProbeRow) -> str:
    figure = interpreter.figures[row.name]
    return "; ".join(part for part in (shown(figure), figure.note) if part)
