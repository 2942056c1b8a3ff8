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
    if (found := _deciding(explorer, failure, steps, over)) is not None:
        first, second = found.first, found.second
        lines.append(f"  decided by  T{first.thread} {first.deed or first.source} at {first.place}")
        others = f" and {found.others} other pair{'s' * (found.others > 1)}" if found.others else ""
        lines.append(
            f"       before T{second.thread} {second.deed or second.source} at {second.place}; "
            f"a neighbouring schedule that passes has them{others} in the opposite order"
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


@dataclass(frozen=True)
class _Flipped:
    """A pair of conflicting accesses of which the order differs in a run that does not fail.

    Attributes:
        others: the number of other objects, or names in them, whose accesses are in another order there, too.
    """

    first: RecordedStep
    second: RecordedStep
    others: int


def _deciding(explorer: Explorer, failure: Failure, steps: list[RecordedStep], over: Callable[[], bool]) -> _Flipped | None:
    """The pair whose order differs between this run and the nearest schedule that does not fail, with as few others as can be.

    None if no such schedule is known.
    """
    choices = failure.schedule.choices
    preemptions = [index for index, choice in enumerate(choices) if not choice.forced]
    for position in reversed(preemptions):
        before, after, thread = choices[:position], choices[position + 1 :], choices[position].thread
        points = [choices[position].point + offset for offset in (1, -1, 2, -2, 3, -3)]
        neighbours = [Schedule((*before, Choice(point, thread), *after)) for point in points if point >= 1]
        best: _Flipped | None = None
        for neighbour in (*neighbours, Schedule((*before, *after))):
            if over():
                return best
            other, _, broken = _watched(explorer, neighbour)
            found = _flipped(steps, other) if broken is None else None
            if found is not None and (best is None or found.others < best.others):
                best = found
            if best is not None and not best.others:
                break
        if best is not None:
            return best
    return None


def _flipped(failing: list[RecordedStep], passing: list[RecordedStep]) -> _Flipped | None:
    """A conflicting pair of accesses that has the opposite order in the run that passes; None if there is none.

    Of several, one whose first access is a read that the other one makes stale, then the pair with the fewest steps between. A step
    of one run is identified in the other by its thread, place and access, and by the number of such steps of that thread before it.
    Objects cannot identify it, because every run has a new state.
    """
    order = {name: index for index, name in enumerate(_named(passing))}
    names = _named(failing)
    pairs = [
        (failing[earlier].access.kind != "read", later - earlier, earlier, later)
        for later in range(len(failing))
        for earlier in range(max(0, later - 200), later)
        if failing[earlier].conflicts(failing[later])
        and names[earlier] in order
        and names[later] in order
        and order[names[earlier]] > order[names[later]]
    ]
    if not pairs:
        return None
    *_, earlier, later = min(pairs)
    touched = {failing[pair[2]].where for pair in pairs}
    return _Flipped(failing[earlier], failing[later], len(touched) - 1)


def _named(steps: list[RecordedStep]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[Any, ...], int] = {}
    names = []
    for step in steps:
        name = (step.thread, step.file, step.line, step.access.kind, step.access.name)
        counts[name] = counts.get(name, 0) + 1
        names.append((*name, counts[name]))
    return names
