"""Finds out which pairs of conflicting accesses decide that a run fails: those that a near schedule which passes has turned round.

Near schedules have one preemption earlier, later, or left out. Of several pairs the one is named of which the first access learns
what the second one makes untrue; then code under test comes before the test's own, and a thread that goes on to touch the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...engine.outcome import Failure
from ...engine.running.policy import Planned
from ...engine.running.record import ScheduleRun
from ...engine.schedule import Choice, Schedule
from ...search.explorer import Explorer
from ...search.ledger import FARTHEST
from ...search.strategy import observed
from .pairs import Pair, turned_round
from .recorder import RecordedStep, Recorder

# The steps of the run of a schedule, if it passes; None if it fails.
Passing = Callable[[Schedule], Sequence[RecordedStep] | None]


def watched(explorer: Explorer, schedule: Schedule) -> tuple[list[RecordedStep], ScheduleRun, Failure | None]:
    """The steps of the run of a schedule, the run, and how it fails."""
    recorder = Recorder(explorer.engine.takes_part)
    with observed(explorer.engine, recorder):
        run, failure = explorer.once(Planned(schedule))
    recorder.settle()
    return recorder.steps, run, failure


def deciding(schedule: Schedule, steps: Sequence[RecordedStep], passing: Passing, over: Callable[[], bool]) -> tuple[Pair, ...]:
    """The pairs that a near schedule which passes has in the opposite order, and of which nothing tells one from the others; empty
    if none is known.

    If one passes that has no known pair in another order, something unknown decides: then only a read that is made stale is told.
    """
    choices = schedule.choices
    for position in reversed([index for index, choice in enumerate(choices) if not choice.forced]):
        near = _passing_neighbours(passing, steps, choices, position, over)
        known = [pairs for pairs in near if any(_rank(steps, pair)[0] == 0 for pair in pairs) or (pairs and all(near))]
        if found := min((_told(steps, pairs) for pairs in known), key=lambda told: (_rank(steps, told[0]), len(told)), default=[]):
            return tuple(found)
    return ()


def _told(steps: Sequence[RecordedStep], pairs: Sequence[Pair]) -> list[Pair]:
    """Of these pairs, the best ones, one for each thing that they touch."""
    told: list[Pair] = []
    for pair in sorted(pairs, key=lambda pair: _rank(steps, pair)):
        if told and _rank(steps, pair) > _rank(steps, told[0]):
            break
        if not any(pair.same_place(other) for other in told):
            told.append(pair)
    return told


def _rank(steps: Sequence[RecordedStep], pair: Pair) -> tuple[int, int, bool]:
    """By what pairs are sorted: those first that make stale what the first thread has read; then those of which it learns what its
    call does; then all others. Of each, those in code under test come before the test's own, and then those after which the first
    thread touches the same again: it goes on with what the second one has made untrue."""
    first, second = steps[pair.first], steps[pair.second]
    learns = 0 if not first.changes(pair.where) else 1 if first.learns else 2
    holder = pair.where[0]
    acts = any(step.thread == first.thread and any(held == holder for held, _ in step.touched) for step in steps[pair.second + 1 :])
    return learns, first.own + second.own, not acts


def _passing_neighbours(
    passing: Passing, steps: Sequence[RecordedStep], choices: tuple[Choice, ...], position: int, over: Callable[[], bool]
) -> list[list[Pair]]:
    """What has another order in each of the near schedules that do not fail: those in which one preemption comes earlier or later,
    nearest first, and the one without it.

    A schedule that passes only as long as the preemption is at one point may hide the failure by another race, such as an update of
    the test's own counter that is lost. It counts only if there are none that pass from there on.
    """
    before, after, (point, thread) = choices[:position], choices[position + 1 :], choices[position][:2]
    ran: dict[int, list[list[Pair] | None]] = {-1: [], 1: []}
    for distance in range(1, FARTHEST + 1):
        for way, results in ran.items():
            if point + way * distance >= 1 and not over():
                neighbour = Schedule((*before, Choice(point + way * distance, thread), *after))
                results.append(_turned(passing, steps, neighbour))
    lasting: list[tuple[int, list[Pair]]] = []
    passing_at_once: list[tuple[int, list[Pair]]] = []
    for results in ran.values():
        last = len(results) - next((index for index, pairs in enumerate(reversed(results)) if pairs is None), len(results))
        for index, pairs in enumerate(results):
            if pairs is not None:
                (lasting if index >= last else passing_at_once).append((index, pairs))
    if not over() and (pairs := _turned(passing, steps, Schedule((*before, *after)))) is not None:
        lasting.append((FARTHEST, pairs))
    return [pairs for _, pairs in sorted(lasting or passing_at_once, key=lambda each: each[0])]


def _turned(passing: Passing, steps: Sequence[RecordedStep], schedule: Schedule) -> list[Pair] | None:
    """What has another order in the run of a schedule; None if it fails."""
    other = passing(schedule)
    return None if other is None else turned_round(steps, other)
