"""Explains a failing run: its steps in columns, and the pair of accesses whose order decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...engine.outcome import Failure
from ...engine.running.record import BlockedThread
from ...engine.schedule import Schedule
from ...search.explorer import Explorer
from .deciding import deciding, watched
from .pairs import Pair
from .recorder import RecordedStep
from .rows import SourceRow, SwitchRow, columns_of, rows_of

_MOST_LISTED = 4  # pairs, of those that differ


@dataclass(frozen=True)
class Explanation:
    """What happened in the minimal failing run: as text, and as rows.

    Attributes:
        places: the lines of the pair that decides, of all pairs that differ, or where threads wait for each other: (file, line).
    """

    text: str
    rows: tuple[SourceRow | SwitchRow, ...]
    places: tuple[tuple[str, int], ...] = ()


def explain(explorer: Explorer, failure: Failure, *, over: Callable[[], bool] = lambda: False) -> tuple[Explanation, Failure]:
    """Explain a failure; also returns the failure as it occurred in the run that was recorded for this.

    Args:
        over: whether no more runs than that one are to be made.
    """
    explorer.program.output.drop()
    steps, run, again = watched(explorer, failure.schedule)
    explorer.program.output.keep()
    again = again or failure
    lines = []
    if run.stuck:
        lines += _table(run.blocked)
    rows = rows_of(steps, run)
    lines += columns_of(rows, max([len(explorer.program.threads), *(step.thread + 1 for step in steps)]))
    waits = run.stuck and not failure.schedule.preemptions  # the table says more: a pair tells who came first, and no more

    def passing(schedule: Schedule) -> Sequence[RecordedStep] | None:
        near, _, broken = watched(explorer, schedule)
        return near if broken is None else None

    if not waits and (pairs := deciding(failure.schedule, steps, passing, over)):
        lines += decided(steps, pairs)
        places = places_of(steps, pairs)
    else:
        places = tuple(sorted({entry.spot for entry in run.blocked if run.stuck and entry.spot[0]}))
    return Explanation("\n".join(lines), tuple(rows), places), again


def places_of(steps: Sequence[RecordedStep], pairs: Sequence[Pair]) -> tuple[tuple[str, int], ...]:
    """The lines of the pair that is told first, each as (file, line)."""
    return tuple(sorted({(steps[index].file, steps[index].line) for index in (pairs[0].first, pairs[0].second)}))


def decided(steps: Sequence[RecordedStep], pairs: Sequence[Pair]) -> list[str]:
    """Which pair decides, in words; or that none does alone, and which ones differ."""
    if len(pairs) == 1:
        first, second = _in_words(steps, pairs[0])
        passes = "; a neighbouring schedule that passes has them in the opposite order"
        return [f"  decided by  {first}", f"       before {second}{passes}"]
    lines = ["  decided by  no pair alone; a neighbouring schedule that passes has these in the opposite order:"]
    for pair in pairs[:_MOST_LISTED]:
        first, second = _in_words(steps, pair)
        lines += [f"              {first}", f"       before {second}"]
    left = len(pairs) - _MOST_LISTED
    return [*lines, f"              and {left} other pair{'s' * (left > 1)}"] if left > 0 else lines


def _in_words(steps: Sequence[RecordedStep], pair: Pair) -> tuple[str, str]:
    first, second = steps[pair.first], steps[pair.second]
    return f"T{first.thread} {first.in_words} at {first.place}", f"T{second.thread} {second.in_words} at {second.place}"


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
