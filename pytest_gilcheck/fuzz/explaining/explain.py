"""Explains a failing run: its steps in columns, and the pair of accesses whose order decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..running.record import BlockedThread, ScheduleRun
from ..schedule import Choice, Schedule
from ..searching.explorer import Explorer, Failure
from ..searching.minimise import observed
from .recorder import RecordedStep, Recorder
from .rows import SourceRow, SwitchRow, columns_of, rows_of


@dataclass(frozen=True)
class Explanation:
    """What happened in the minimal failing run: as text, and as rows."""

    text: str
    rows: tuple[SourceRow | SwitchRow, ...]


def explain(explorer: Explorer, failure: Failure, *, over: Callable[[], bool] = lambda: False) -> tuple[Explanation, Failure]:
    """Explain a failure; also returns the failure as it occurred in the run that was recorded for this.

    Args:
        over: whether no time is left for more runs than that one.
    """
    steps, run, again = _watched(explorer, failure.schedule)
    again = again or failure
    lines = []
    if run.stuck:
        lines += _table(run.blocked)
    rows = rows_of(steps, run)
    lines += columns_of(rows, max([len(explorer.program.threads), *(step.thread + 1 for step in steps)]))
    if (pair := _deciding(explorer, failure, steps, over)) is not None:
        first, second = pair
        lines.append(f"  decided by  T{first.thread} {first.deed or first.source} at {first.place}")
        lines.append(
            f"       before T{second.thread} {second.deed or second.source} at {second.place}; in the opposite order nothing fails"
        )
    return Explanation("\n".join(lines), tuple(rows)), again


def _watched(explorer: Explorer, schedule: Schedule) -> tuple[list[RecordedStep], ScheduleRun, Failure | None]:
    recorder = Recorder(explorer.engine.takes_part)
    with observed(explorer.engine, recorder):
        run, failure = explorer.follow(schedule)
    recorder.settle()
    return recorder.steps, run, failure


def _table(waiting: tuple[BlockedThread, ...]) -> list[str]:
    """A table of the blocked threads: what each waits for, which thread holds it, where that was acquired and created."""
    lines = []
    for entry in waiting:
        held = f", held by {entry.holder}" if entry.holder else ""
        lines.append(f"  {entry.thread} waits for {entry.waits_for}{held}")
        lines.append(f"      at    {entry.at}")
        if entry.taken:
            lines.append(f"      taken {entry.taken}")
        if entry.made:
            lines.append(f"      made  {entry.made}")
    return lines


def _deciding(
    explorer: Explorer, failure: Failure, steps: list[RecordedStep], over: Callable[[], bool]
) -> tuple[RecordedStep, RecordedStep] | None:
    """The pair of accesses whose order differs between this run and the nearest schedule that does not fail; None if unknown."""
    choices = failure.schedule.choices
    preemptions = [index for index, choice in enumerate(choices) if not choice.forced]
    for position in reversed(preemptions):
        for offset in (1, -1, 2, -2, 3, -3):
            point = choices[position].point + offset
            if over():
                return None
            if point < 1:
                continue
            neighbour = Schedule((*choices[:position], Choice(point, choices[position].thread), *choices[position + 1 :]))
            other, _, broken = _watched(explorer, neighbour)
            if broken is None and (pair := _flipped(steps, other)) is not None:
                return pair
        other, _, broken = _watched(explorer, Schedule((*choices[:position], *choices[position + 1 :])))
        if broken is None and (pair := _flipped(steps, other)) is not None:
            return pair
    return None


def _flipped(failing: list[RecordedStep], passing: list[RecordedStep]) -> tuple[RecordedStep, RecordedStep] | None:
    """The first conflicting pair of accesses that has the opposite order in the run that passes; None if there is none.

    A step of one run is identified in the other by its thread, place and access, and by the number of such steps of that thread
    before it. Objects cannot identify it, because every run has a new state.
    """
    order = {name: index for index, name in enumerate(_named(passing))}
    names = _named(failing)
    pairs = [
        (later - earlier, earlier, later)
        for later in range(len(failing))
        for earlier in range(max(0, later - 200), later)
        if failing[earlier].conflicts(failing[later])
        and names[earlier] in order
        and names[later] in order
        and order[names[earlier]] > order[names[later]]
    ]
    if not pairs:
        return None
    _, earlier, later = min(pairs)
    return failing[earlier], failing[later]


def _named(steps: list[RecordedStep]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[Any, ...], int] = {}
    names = []
    for step in steps:
        name = (step.thread, step.file, step.line, step.access.kind, step.access.name)
        counts[name] = counts.get(name, 0) + 1
        names.append((*name, counts[name]))
    return names
