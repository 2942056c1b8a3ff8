"""Finds out which pair of conflicting accesses of a failing run decides that it fails.

A pair decides if the same schedule passes with it turned round, and with nothing else that may matter (`trials`).

Where no pair decides, or the schedule cannot be turned so (it has delays of a clock), the nearest schedules that pass tell which
pairs differ: those with one preemption earlier, later, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...engine.outcome import Failure
from ...engine.running.policy import Planned
from ...engine.schedule import CLOCK, Choice, Schedule
from ...engine.touched.trace import Trace
from ...search.explorer import Explorer
from ...search.ledger import FARTHEST
from .pairs import Pair, turned_round
from .recorder import RecordedStep
from .trials import Trials, rank, watched


@dataclass(frozen=True)
class Deciding:
    """What decides that a run fails.

    Attributes:
        pair: the pair that does; None if none does alone.
        differing: the pairs that a schedule that passes has in the opposite order, without that.
    """

    pair: Pair | None
    differing: tuple[Pair, ...] = ()


def deciding(
    explorer: Explorer, failure: Failure, steps: Sequence[RecordedStep], trace: Trace, over: Callable[[], bool]
) -> Deciding | None:
    """What decides that this run fails; None if no schedule that passes is known, or nothing is known that differs in it."""
    trials = Trials(explorer, failure, steps, trace, over)
    if all(choice.thread < CLOCK for choice in failure.schedule.choices) and (found := trials.deciding()) is not None:
        return Deciding(*found)
    listed = _listed(steps, [pairs for turned, pairs in trials.passed if not turned.unknown], trials)
    return Deciding(None, listed) if len(listed) > 1 else _neighbouring(explorer, failure, steps, over, trials)


def _listed(steps: Sequence[RecordedStep], passing: Sequence[Sequence[Pair]], trials: Trials) -> tuple[Pair, ...]:
    """The fewest pairs that a schedule that passes has in the opposite order, and that may matter: one for each thing that they
    touch; empty if none is known to pass."""
    found: list[list[Pair]] = []
    for pairs in passing:
        told: list[Pair] = []
        for pair in sorted(pairs, key=lambda pair: rank(steps, pair)):
            if not trials.of_no_effect(pair) and not any(pair.same_place(other) for other in told):
                told.append(pair)
        if told:
            found.append(told)
    fewest = min(found, key=len, default=[])
    return tuple(fewest)


def _neighbouring(
    explorer: Explorer, failure: Failure, steps: Sequence[RecordedStep], over: Callable[[], bool], trials: Trials
) -> Deciding | None:
    """What differs between this run and a near schedule that passes.

    If one passes that has no known pair in another order, something unknown decides: then only a read that is made stale is told.
    """
    choices = failure.schedule.choices
    for position in reversed([index for index, choice in enumerate(choices) if not choice.forced]):
        passing = _passing_neighbours(explorer, steps, choices, position, over)
        known = [pairs for pairs in passing if any(rank(steps, pair)[0] == 0 for pair in pairs) or (pairs and all(passing))]
        if found := _listed(steps, known, trials):
            return Deciding(None, found) if len(found) > 1 else Deciding(found[0])
    return None


def _passing_neighbours(
    explorer: Explorer, steps: Sequence[RecordedStep], choices: tuple[Choice, ...], position: int, over: Callable[[], bool]
) -> list[list[Pair]]:
    """What has another order in each of the nearest schedules that do not fail: those in which one preemption comes earlier or
    later, nearest first, and the one without it.

    A schedule that passes only as long as the preemption is at one point may hide the failure by another race, such as an update of
    the test's own counter that is lost. It counts only if there are none that pass from there on.
    """
    before, after, (point, thread) = choices[:position], choices[position + 1 :], choices[position][:2]
    ran: dict[int, list[list[Pair] | None]] = {-1: [], 1: []}
    for distance in range(1, FARTHEST + 1):
        for way, results in ran.items():
            if point + way * distance >= 1 and not over():
                neighbour = Schedule((*before, Choice(point + way * distance, thread), *after))
                results.append(_passing(explorer, steps, neighbour))
    lasting: list[tuple[int, list[Pair]]] = []
    passing_at_once: list[tuple[int, list[Pair]]] = []
    for results in ran.values():
        first = next((index for index, pairs in enumerate(results) if pairs is not None), len(results))
        if first < len(results) and (pairs := results[first]) is not None:
            (lasting if None not in results[first:] else passing_at_once).append((first, pairs))
    if not over() and (pairs := _passing(explorer, steps, Schedule((*before, *after)))) is not None:
        lasting.append((FARTHEST, pairs))
    return [pairs for _, pairs in sorted(lasting or passing_at_once, key=lambda each: each[0])]


def _passing(explorer: Explorer, steps: Sequence[RecordedStep], schedule: Schedule) -> list[Pair] | None:
    """What has another order in the run of a schedule; None if it fails."""
    other, _, broken = watched(explorer, Planned(schedule))
    return turned_round(steps, other) if broken is None else None
