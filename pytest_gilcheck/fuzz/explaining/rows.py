"""The rows of a recorded run: source lines and the switches between them; and these rows as text in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..running.engine import ScheduleRun
from .recorder import RecordedStep

_WIDTH = 46
_MOST_ROWS = 44
_AROUND = 4  # rows shown before and after each switch, if there are too many rows


@dataclass
class SourceRow:
    """One line of source that a thread ran without a switch, with what it read and wrote there."""

    thread: int
    point: int
    source: str
    deeds: list[str]
    file: str
    line: int

    def __str__(self) -> str:
        return "; ".join([f"{self.source}  # {self.deeds[0]}", *self.deeds[1:]]) if self.deeds else self.source

    def figures(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "index": self.point,
            "source": self.source,
            "note": "; ".join(self.deeds),
            "file": self.file,
            "line": self.line,
        }


@dataclass
class SwitchRow:
    """A switch from thread ``before`` to thread ``after``; ``why`` completes "the first thread ..."."""

    before: int
    after: int
    why: str

    def __str__(self) -> str:
        return f"-- T{self.before} {self.why}: T{self.after} runs --"

    def figures(self) -> dict[str, Any]:
        return {"switch": [self.before, self.after], "why": self.why}


def rows_of(steps: list[RecordedStep], run: ScheduleRun) -> list[SourceRow | SwitchRow]:
    """The rows of a run: consecutive steps of one line of source make one row."""
    rows: list[SourceRow | SwitchRow] = []
    owners = {step.point: step.thread for step in steps}
    last: RecordedStep | None = None
    for step in steps:
        if last is not None and step.thread != last.thread:
            stopped = any(
                not choice.forced and choice.thread == step.thread and owners.get(choice.point, last.thread) == last.thread
                for choice in run.schedule.choices
                if last.point < choice.point <= max(step.point, last.point + 1)
            )
            rows.append(SwitchRow(last.thread, step.thread, "is preempted" if stopped else "ends or waits"))
        before = rows[-1] if rows else None
        deeds = [step.deed] if step.deed else []
        if isinstance(before, SourceRow) and (before.file, before.line) == (step.file, step.line):
            before.deeds += deeds
        else:
            rows.append(SourceRow(step.thread, step.point, step.source, deeds, step.file, step.line))
        last = step
    return rows


def columns_of(rows: list[SourceRow | SwitchRow], columns: int) -> list[str]:
    """The rows as lines of text, each in its thread's column. If there are too many, only those around switches."""
    shown: list[SourceRow | SwitchRow | None] = list(rows)  # None: rows were left out here
    if len(rows) > _MOST_ROWS:
        switches = [index for index, row in enumerate(rows) if isinstance(row, SwitchRow)]
        keep = {near for index in switches for near in range(index - _AROUND, index + _AROUND + 1)}
        shown = [row if index in keep else None for index, row in enumerate(rows)]
        shown = [row for index, row in enumerate(shown) if row is not None or index == 0 or shown[index - 1] is not None]
    heads = "".join(f"T{index}".ljust(_WIDTH if columns > 1 else 0) for index in range(columns)).rstrip()
    lines = [f"     {heads}"]
    for row in shown:
        if isinstance(row, SourceRow):
            lines.append(f"{row.point:>4} {' ' * (_WIDTH * row.thread)}{row}")
        else:
            lines.append(f"     {row or '...'}")
    return lines
