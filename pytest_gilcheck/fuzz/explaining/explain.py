"""Explains a failing run: its steps in columns, and the pair of accesses whose order decides."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.own_builtins import OWN
from ..running.record import BlockedThread, ScheduleRun
from ..schedule import Choice, Schedule
from ..searching.explorer import Explorer, Failure
from ..searching.minimise import observed
from ..steps.touch import ALL
from .recorder import RecordedStep, Recorder
from .rows import SourceRow, SwitchRow, columns_of, rows_of

__builtins__ = OWN  # of the functions below

# By the number of an object; then by a name in it, a thread, and whether it is changed: the steps so far, of very many the last.
_Users = defaultdict[int, defaultdict[tuple[str, int, bool], deque[int]]]
_FARTHEST = 3  # points by which a preemption is moved to find a schedule that passes
_MOST_USES = 20  # of one name by one thread, that are looked at for each further one: reads and changes


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
    explorer.program.output.drop()
    steps, run, again = _watched(explorer, failure.schedule)
    explorer.program.output.keep()
    again = again or failure
    lines = []
    if run.stuck:
        lines += _table(run.blocked)
    rows = rows_of(steps, run)
    lines += columns_of(rows, max([len(explorer.program.threads), *(step.thread + 1 for step in steps)]))
    if (found := _deciding(explorer, failure, steps, over)) is not None:
        first, second = found.first, found.second
        lines.append(f"  decided by  T{first.thread} {first.in_words} at {first.place}")
        others = f" and {found.others} other pair{'s' * (found.others > 1)}" if found.others else ""
        lines.append(
            f"       before T{second.thread} {second.in_words} at {second.place}; "
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
        stale: whether the first one reads what the second one changes.
        others: the number of other objects, or names in them, whose accesses are in another order there, too.
    """

    first: RecordedStep
    second: RecordedStep
    stale: bool
    others: int


def _deciding(explorer: Explorer, failure: Failure, steps: list[RecordedStep], over: Callable[[], bool]) -> _Flipped | None:
    """The pair whose order differs between this run and a near schedule that does not fail, with as few others as can be.

    None if no such schedule is known. If one passes that has no known pair in another order, something unknown decides: then only a
    read that is made stale is told.
    """
    choices = failure.schedule.choices
    for position in reversed([index for index, choice in enumerate(choices) if not choice.forced]):
        passing = _passing_neighbours(explorer, steps, choices, position, over)
        known = [found for found in passing if found is not None and (found.stale or None not in passing)]
        if known:
            return min(known, key=lambda found: (not found.stale, found.others))  # of several, the nearest
    return None


def _passing_neighbours(
    explorer: Explorer, steps: list[RecordedStep], choices: tuple[Choice, ...], position: int, over: Callable[[], bool]
) -> list[_Flipped | None]:
    """What has another order in each of the nearest schedules that do not fail: those in which one preemption comes earlier or
    later, nearest first, and the one without it.

    A schedule that passes only as long as the preemption is at one point may hide the failure by another race, such as an update of
    the test's own counter that is lost. It counts only if there are none that pass from there on.
    """
    before, after, (point, thread) = choices[:position], choices[position + 1 :], choices[position][:2]
    ran: dict[int, list[tuple[bool, _Flipped | None]]] = {-1: [], 1: []}
    for distance in range(1, _FARTHEST + 1):
        for way, results in ran.items():
            if point + way * distance >= 1 and not over():
                neighbour = Schedule((*before, Choice(point + way * distance, thread), *after))
                results.append(_compared(explorer, steps, neighbour))
    lasting: list[tuple[int, _Flipped | None]] = []
    passing_at_once: list[tuple[int, _Flipped | None]] = []
    for results in ran.values():
        passes = [passing for passing, _ in results]
        if True in passes:
            first = passes.index(True)
            (lasting if all(passes[first:]) else passing_at_once).append((first, results[first][1]))
    if not over():
        passing, found = _compared(explorer, steps, Schedule((*before, *after)))
        lasting += [(_FARTHEST, found)] * passing
    return [found for _, found in sorted(lasting or passing_at_once, key=lambda each: each[0])]


def _compared(explorer: Explorer, steps: list[RecordedStep], schedule: Schedule) -> tuple[bool, _Flipped | None]:
    """Whether a schedule does not fail, and if so, the pair that has another order in it than in these steps."""
    other, _, broken = _watched(explorer, schedule)
    return broken is None, _flipped(steps, other) if broken is None else None


def _flipped(failing: list[RecordedStep], passing: list[RecordedStep]) -> _Flipped | None:
    """A conflicting pair of accesses that has the opposite order in the run that passes; None if there is none.

    Of several, one whose first access is a read that the other one makes stale; of these, one that reads another value in the run
    that passes; then the pair with the fewest steps between. A step of one run is identified in the other by its thread, place and
    access, and by the number of such steps of that thread before it. Objects cannot identify it, because every run has a new state.
    """
    order = {name: index for index, name in enumerate(_named(passing))}
    there = [order.get(name) for name in _named(failing)]
    users: _Users = defaultdict(lambda: defaultdict(lambda: deque(maxlen=_MOST_USES)))
    pairs = []
    for later, (second, other) in enumerate(zip(failing, there, strict=True)):
        for earlier in _uses_before(users, second) if other is not None else ():
            first, one = failing[earlier], there[earlier]
            if one is None or other is None or one < other or (where := first.conflict(second)) is None:
                continue
            if passing[one].conflict(passing[other]) is None:  # the same line of source, at work on another object
                continue
            same = bool(first.value) and first.value == passing[one].value
            pairs.append((first.changes(where), same, later - earlier, earlier, later, where))
        for (holder, name), changes in second.touched.items():
            users[holder][name, second.thread, changes].append(later)
    if not pairs:
        return None
    changes, *_, earlier, later, _ = min(pairs)
    return _Flipped(failing[earlier], failing[later], not changes, len({where for *_, where in pairs}) - 1)


def _uses_before(users: _Users, step: RecordedStep) -> set[int]:
    """The earlier steps that touch what this one does: names of which there are many uses hide no other one."""
    return {
        index
        for holder, name in step.touched
        for (part, thread, _), uses in users[holder].items()
        if thread != step.thread and (part == name or ALL in (part, name))
        for index in uses
    }


def _named(steps: list[RecordedStep]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[Any, ...], int] = {}
    names = []
    for step in steps:
        name = (step.thread, step.file, step.line, step.access.kind, step.access.name)
        counts[name] = counts.get(name, 0) + 1
        names.append((*name, counts[name]))
    return names
