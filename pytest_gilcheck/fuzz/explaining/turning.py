"""Runs a failing schedule with one pair of conflicting accesses turned round, and as little else as can be.

Of two accesses in that order, the first thread waits before its one until the second thread has made the other. What the first one
has done from there on until then comes later, and so do whole sections of a lock that both threads need for that. All other
conflicts of the run stay as they were, and so does whatever is not known to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.running.record import Deed
from ...engine.summary import LOCK
from ...engine.touched.trace import Trace
from ...search.reordered import Reordered
from ...search.segments import Segment
from ...search.straighten import straightest
from .pairs import Pair
from .recorder import RecordedStep


@dataclass(frozen=True)
class Turned:
    """An order in which a pair is turned round.

    Attributes:
        pair: that pair.
        others: the other known pairs of the run that are turned round with it.
        unknown: whether a step is moved past others of which it is not known whether they conflict with it.
        order: the points of the run, as they come.
    """

    pair: Pair
    others: list[Pair]
    unknown: bool
    order: Sequence[int]


class Turning:
    """Makes such orders.

    Args:
        trace: of the failing run.
        steps: of the same run.
        pairs: of its steps.

    Attributes:
        segments: the run itself.
        known: whether it is known which step each point of the trace is.
    """

    def __init__(self, trace: Trace, steps: Sequence[RecordedStep], pairs: Sequence[Pair]) -> None:
        self._trace, self._pairs = trace, pairs
        self._points = sorted(trace.owners)
        ends = {point for point, access in trace.accesses.items() if access.kind == "end"}  # seldom does anybody notice that
        self._not_known = trace.not_known.keys() - ends
        self._at = sorted(trace.steps)
        self.known = len(self._at) == len(steps)
        self._sections = _sections(trace, self._points)
        self.segments, self._stopped = self._straightest(self._points)

    def segments_of(self, turned: Turned) -> tuple[list[Segment], bool]:
        """The order as segments; and whether it stops a thread more often than the run."""
        segments, stopped = self._straightest(turned.order)
        return segments, stopped > self._stopped

    def _straightest(self, order: Sequence[int]) -> tuple[list[Segment], int]:
        return straightest(Reordered(self._trace, order, self._not_known), len(order), cautious=True)

    def turned(self, pair: Pair) -> Turned:
        """The order with this pair turned round in which the fewest others are."""
        owners = self._trace.owners
        one, other = owners[self._at[pair.first]], owners[self._at[pair.second]]
        start, end = self._ends(self._at[pair.first], self._at[pair.second], one, other)
        within = [point for point in self._points if start <= point <= end]
        before = [point for point in self._points if point < start]
        after = [point for point in self._points if point > end]
        firsts, seconds = ([point for point in within if owners[point] == thread] for thread in (one, other))
        later = [*before, *(point for point in within if owners[point] != one), *firsts, *after]
        earlier = [*before, *seconds, *(point for point in within if owners[point] != other), *after]
        orders = [later] if later == earlier else [later, earlier]
        others, order = min(((self._turned_in(order), order) for order in orders), key=lambda each: len(each[0]))
        return Turned(pair, [each for each in others if each != pair], self._unknown(firsts, seconds), order)

    def _turned_in(self, order: Sequence[int]) -> list[Pair]:
        now = {point: place for place, point in enumerate(order)}
        return [pair for pair in self._pairs if now[self._at[pair.first]] > now[self._at[pair.second]]]

    def _unknown(self, firsts: Sequence[int], seconds: Sequence[int]) -> bool:
        not_known, parts = self._not_known, self._trace.parts
        for these, those in ((firsts, seconds), (seconds, firsts)):
            if any(point in not_known for point in these) and any(point in not_known or point in parts for point in those):
                return True
        return False

    def _ends(self, start: float, end: float, one: int, other: int) -> tuple[float, float]:
        """From where on the first thread waits, and until where: no section of a lock is cut that the other thread needs then."""
        while True:
            needed = {lock for lock, since, _ in self._sections.get(other, ()) if start < since <= end}
            wanted = {lock for lock, since, _ in self._sections.get(one, ()) if start <= since <= end}
            mine = [since for lock, since, until in self._sections.get(one, ()) if lock in needed and since < start <= until]
            others = [until for lock, since, until in self._sections.get(other, ()) if lock in wanted and since <= end < until]
            found = min([start, *mine]), max([end, *others])
            if found == (start, end):
                return found
            start, end = found


def _sections(trace: Trace, points: Sequence[int]) -> dict[int, list[tuple[int, float, float]]]:
    """By thread, the sections in which it holds a lock: the number of the lock, and the first and the last point."""
    found: dict[int, list[tuple[int, float, float]]] = {}
    taken: dict[tuple[int, int], int] = {}
    for point in points:
        thread = trace.owners[point]
        for part in trace.parts.get(point, ()):
            if part.part is LOCK and part.deed is Deed.ACQUIRE:
                taken[thread, part.holder] = point
            elif part.part is LOCK and part.deed is Deed.RELEASE and (thread, part.holder) in taken:
                found.setdefault(thread, []).append((part.holder, taken.pop((thread, part.holder)), point))
    for (thread, lock), since in taken.items():
        found.setdefault(thread, []).append((lock, since, math.inf))
    return found
