"""The rows of a recorded run: source lines and the switches between them; and these rows as text in columns."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...engine.running.record import ScheduleRun
from .recorder import RecordedStep

_WIDTH = 80  # columns of a line of the story
_POINT = 6  # columns for the number of a step
_LANE = 8  # columns by which each thread is set in
_MOST_ROWS = 44
_AROUND = 4  # rows shown before and after each switch, if there are too many rows
_MOST_SWITCHES = 16  # of each kind of which rows are shown then: the first, and a few of the last
_LAST_SWITCHES = 2
_MOST_DEEDS = 8  # of one line of source that are told
_LAST_DEEDS = 2
_BENEATH = "(inside the standard library)"  # of steps inside `threading` and executors, in no function of the program


@dataclass
class SourceRow:
    """One line of source that a thread ran without a switch, with what it read and wrote there.

    Attributes:
        beneath: whether it stands for all of a visit to the standard library, see `RecordedStep`.
    """

    thread: int
    point: int
    source: str
    deeds: list[str]
    file: str
    line: int
    beneath: bool = False

    @property
    def note(self) -> str:
        """What it did, in the order of the first time; of very many different deeds, the first and the last."""
        told = [f"{deed} ({count} times)" if count > 1 else deed for deed, count in Counter(self.deeds).items()]
        if len(told) > _MOST_DEEDS:
            told = [*told[: _MOST_DEEDS - _LAST_DEEDS], "...", *told[-_LAST_DEEDS:]]
        return "; ".join(told)

    def figures(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "index": self.point,
            "source": self.source,
            "note": self.note,
            "file": self.file,
            "line": self.line,
        }


@dataclass
class SwitchRow:
    """A switch from thread ``before`` to thread ``after``, which preempts the first, or comes when that ends or waits."""

    before: int
    after: int
    preempts: bool

    @property
    def why(self) -> str:
        """Completes "the first thread ..."."""
        return "is preempted" if self.preempts else "ends or waits"

    def __str__(self) -> str:
        return f"-- T{self.before} {self.why}: T{self.after} runs --"

    def figures(self) -> dict[str, Any]:
        return {"switch": [self.before, self.after], "why": self.why}


def rows_of(steps: list[RecordedStep], run: ScheduleRun) -> list[SourceRow | SwitchRow]:
    """The rows of a run: consecutive steps of one line of source make one row, and so do those inside `threading` and executors."""
    rows: list[SourceRow | SwitchRow] = []
    owners = {step.point: step.thread for step in steps}
    preempted = {(choice.point, choice.thread) for choice in run.schedule.choices if not choice.forced}
    going_on = _next_points(steps)
    last: RecordedStep | None = None
    for index, step in enumerate(steps):
        if last is not None and step.thread != last.thread:
            stands = going_on[index - 1]  # at the point of its next step
            if stands is not None:
                stopped = (stands, step.thread) in preempted
            else:  # it makes no further step
                stopped = any(
                    last.point < point <= max(step.point, last.point + 1)
                    for point, thread in preempted
                    if thread == step.thread and owners.get(point, last.thread) == last.thread
                )
            rows.append(SwitchRow(last.thread, step.thread, stopped))
        before = rows[-1] if rows else None
        deeds = [step.deed] if step.deed else []
        if isinstance(before, SourceRow) and (
            before.beneath if step.beneath else (before.file, before.line) == (step.file, step.line)
        ):
            before.deeds += deeds
        else:
            source = _BENEATH if step.beneath else step.source
            rows.append(SourceRow(step.thread, step.point, source, deeds, step.file, step.line, step.beneath))
        last = step
    return rows


def _next_points(steps: list[RecordedStep]) -> list[int | None]:
    """Of each step, the point of the next one of its thread."""
    after: dict[int, int] = {}
    found: list[int | None] = []
    for step in reversed(steps):
        found.append(after.get(step.thread))
        after[step.thread] = step.point
    return found[::-1]


def columns_of(rows: list[SourceRow | SwitchRow], columns: int) -> list[str]:
    """The rows as text, set in by thread, with file and line at the end; of too many, only those around some switches."""
    shown: list[SourceRow | SwitchRow | None] = list(rows)  # None: rows were left out here
    if len(rows) > _MOST_ROWS:
        switches: dict[bool, list[int]] = {True: [], False: []}
        for index, each in enumerate(rows):
            if isinstance(each, SwitchRow):
                switches[each.preempts].append(index)
        told = [*_some(switches[True]), *_some(switches[False])]
        keep = {near for index in told for near in range(index - _AROUND, index + _AROUND + 1)}
        shown = [row if index in keep else None for index, row in enumerate(rows)]
        shown = [row for index, row in enumerate(shown) if row is not None or index == 0 or shown[index - 1] is not None]
    lines = [" " * _POINT + "".join(f"T{index}".ljust(_LANE) for index in range(columns)).rstrip()]
    for row in shown:
        lines += _source_lines(row) if isinstance(row, SourceRow) else [f"{' ' * _POINT}{row or '...'}"]
    return lines


def _some(switches: list[int]) -> list[int]:
    """Those of which rows are shown: threads that poll in turn, for ever, make thousands."""
    few = len(switches) <= _MOST_SWITCHES
    return switches if few else [*switches[: _MOST_SWITCHES - _LAST_SWITCHES], *switches[-_LAST_SWITCHES:]]


def _source_lines(row: SourceRow) -> list[str]:
    """A line of source with its place, and below it what the thread read and wrote there."""
    indent = " " * (_LANE * row.thread)
    *_, folder, file = ["", *row.file.replace(os.sep, "/").split("/")]
    place = f"{folder + '/' if folder and file.startswith('__') else ''}{file}:{row.line}"  # each package has an __init__.py
    head = f"{row.point:>{_POINT - 2}}  {indent}"
    room = max(20, _WIDTH - len(head) - len(place) - 2)
    source = row.source if len(row.source) <= room else f"{row.source[: room - 3]}..."
    lines = [f"{head}{source:<{room}}  {place}"]
    return [*lines, f"{' ' * (_POINT + 2)}{indent}{row.note}"] if row.deeds else lines
