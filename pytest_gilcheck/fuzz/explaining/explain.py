"""Explains a failing run: its steps in columns, and the pair of accesses whose order decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...engine.outcome import Failure
from ...engine.running.policy import Planned
from ...engine.running.record import BlockedThread
from ...engine.touched.trace import Trace
from ...search.explorer import Explorer
from .deciding import Deciding, deciding
from .pairs import Pair
from .recorder import RecordedStep
from .rows import SourceRow, SwitchRow, columns_of, rows_of
from .trials import watched

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
    trace = Trace(explorer.engine)
    explorer.program.output.drop()
    steps, run, again = watched(explorer, Planned(failure.schedule), trace)
    explorer.program.output.keep()
    again = again or failure
    lines = []
    if run.stuck:
        lines += _table(run.blocked)
    rows = rows_of(steps, run)
    lines += columns_of(rows, max([len(explorer.program.threads), *(step.thread + 1 for step in steps)]))
    waits = run.stuck and not failure.schedule.preemptions  # the table says more: a pair tells who came first, and no more
    if not waits and (found := deciding(explorer, failure, steps, trace, over)) is not None:
        lines += _decided(steps, found)
        pairs = (found.pair,) if found.pair is not None else found.differing[:1]
        places = [(steps[index].file, steps[index].line) for pair in pairs for index in (pair.first, pair.second)]
    else:
        places = [entry.spot for entry in run.blocked if run.stuck and entry.spot[0]]
    return Explanation("\n".join(lines), tuple(rows), tuple(sorted(set(places)))), again


def _decided(steps: Sequence[RecordedStep], found: Deciding) -> list[str]:
    """Which pair decides, in words; or that none does alone, and which ones differ."""
    differing = found.differing
    if found.pair is not None:
        first, second = _in_words(steps, found.pair)
        others = f" and {len(differing)} other pair{'s' * (len(differing) > 1)}" if differing else ""
        passes = f"; a neighbouring schedule that passes has them{others} in the opposite order"
        return [f"  decided by  {first}", f"       before {second}{passes}"]
    lines = ["  decided by  no pair alone; a neighbouring schedule that passes has these in the opposite order:"]
    for pair in differing[:_MOST_LISTED]:
        first, second = _in_words(steps, pair)
        lines += [f"              {first}", f"       before {second}"]
    left = len(differing) - _MOST_LISTED
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
