"""Takes out of a run the switches that turn no conflict round.

A run is equivalent to every other order of its transitions in which conflicting ones come as they did. Of these orders, one with
few switches is built: a thread goes on for as long as all that its next transition has to come after has been made.
"""

from __future__ import annotations

from itertools import pairwise

from ..engine.summary import Transitions
from .races import Races
from .segments import Segment, merged


def straightened(transitions: Transitions, points: int, *, cautious: bool) -> list[Segment]:
    """An equivalent order of the transitions of a run, as segments.

    Args:
        points: of the run.
        cautious: whether transitions of which it is not known what they touch stay where they are among all others.
    """
    races = Races(transitions, points, cautious=cautious)
    of_thread: dict[int, list[int]] = {}
    for point in range(1, points + 1):
        if point in transitions.owners:
            of_thread.setdefault(transitions.owners[point], []).append(point)
    orders = [_order(of_thread, races, first) for first in of_thread]
    best = min(orders, key=lambda order: _switches(order, transitions), default=[])
    return merged((transitions.owners[point], int(point in transitions.steps)) for point in best)


def _order(of_thread: dict[int, list[int]], races: Races, thread: int) -> list[int]:
    made: dict[int, int] = dict.fromkeys(of_thread, 0)  # the last transition of each thread
    left = {each: list(reversed(points)) for each, points in of_thread.items()}
    order: list[int] = []

    def ready(each: int) -> bool:
        return bool(left[each]) and all(
            made[other] >= last for other, last in races.needs(left[each][-1]).items() if other != each and other in made
        )

    while any(left.values()):
        if not ready(thread):
            thread = next((each for each in left if ready(each)), -1)
            if thread < 0:
                return order
        made[thread] = left[thread].pop()
        order.append(made[thread])
    return order


def _switches(order: list[int], transitions: Transitions) -> tuple[int, int]:
    """Of an order: how many transitions it lacks, and how often a thread is stopped that has more to do."""
    owners = transitions.owners
    last = {owners[point]: point for point in order}
    stopped = sum(owners[one] != owners[other] and last[owners[one]] != one for one, other in pairwise(order))
    return -len(order), stopped
