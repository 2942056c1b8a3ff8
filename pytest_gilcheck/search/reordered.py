"""The transitions of a recorded run in another order, as if a run had made them so."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..engine.touched.trace import Trace


class Reordered:
    """What `Races` and `straightened` ask of a `Trace`, for its points in another order.

    Args:
        order: the points of the trace.
        not_known: those of which it is not known what they touch.
    """

    def __init__(self, trace: Trace, order: Sequence[int], not_known: Container[int]) -> None:
        now = {point: place for place, point in enumerate(order, 1)}
        self.owners = {now[point]: owner for point, owner in trace.owners.items() if point in now}
        self.parts = {now[point]: parts for point, parts in trace.parts.items() if point in now}
        self.not_known = {now[point]: what for point, what in trace.not_known.items() if point in not_known and point in now}
        self.steps = {now[point] for point in trace.steps if point in now}
