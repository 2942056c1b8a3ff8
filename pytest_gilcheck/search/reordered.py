"""The transitions of a recorded run in another order, as if a run had made them so."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..engine.summary import Transitions


class Reordered:
    """`Transitions` of a run, as if they had been made in another order.

    Args:
        order: the points of the run.
        not_known: those of which it is not known what they touch.
    """

    def __init__(self, transitions: Transitions, order: Sequence[int], not_known: Container[int]) -> None:
        now = {point: place for place, point in enumerate(order, 1)}
        self.owners = {now[point]: owner for point, owner in transitions.owners.items() if point in now}
        self.parts = {now[point]: parts for point, parts in transitions.parts.items() if point in now}
        unknown = ((point, what) for point, what in transitions.not_known.items() if point in not_known and point in now)
        self.not_known = {now[point]: what for point, what in unknown}
        self.steps = {now[point] for point in transitions.steps if point in now}
