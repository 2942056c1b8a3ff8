"""Minimises a schedule in child processes: a child tries one candidate after another until one does what the schedule does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...engine.running.policy import Planned, Policy
from ...engine.schedule import Schedule
from ...search.minimise import Segments, earlier
from ...search.segments import Segment, by_thread, merged, of_order, with_stretch

Tries = Callable[[Sequence[Policy]], "Schedule | None"]  # in a child, until a run does it; the schedule of that run


def smaller(schedule: Schedule, order: Sequence[int], tries: Tries, over: Callable[[], bool]) -> Schedule:
    """A schedule with as few preemptions as are found, each as early as possible, that does the same.

    Args:
        order: the index of the thread of each step; empty if it is unknown.
        tries: runs policies in a child process.
        over: whether the time is over.
    """
    best = schedule
    if best.preemptions <= 1:
        return best
    segments = of_order(order)
    while segments and best.preemptions > 1 and not over():
        found = tries([Segments(candidate) for candidate in _candidates(segments)])
        if found is None or found.preemptions >= best.preemptions:
            break
        best, segments = found, []
        if (orders := _order_of(found, order)) is not None:
            segments = orders
    position = 0
    while position < len(best.choices) and not over():
        candidates = [Planned(each) for each in earlier(best, position)]
        found = tries(candidates) if candidates else None
        if found is not None and found.preemptions <= best.preemptions:
            best = found
        position += 1
    return best


def _candidates(segments: list[Segment]) -> Iterator[list[Segment]]:
    """The segments with a stretch of them sorted by thread: long stretches first."""
    size = len(segments)
    while size >= 2:
        for start in range(0, len(segments) - 1, max(1, size // 2)):
            stretch = by_thread(segments[start : start + size])
            for joined in (stretch, stretch[::-1]):
                candidate = with_stretch(segments, start, size, joined)
                if len(candidate) < len(segments):
                    yield candidate
        size = size // 2 if size > 3 else size - 1


def _order_of(schedule: Schedule, order: Sequence[int]) -> list[Segment] | None:
    """The segments of a schedule that was found, if they follow from its choices; None if they do not."""
    if any(choice.forced for choice in schedule.choices):
        return None
    segments: list[Segment] = []
    last, thread = 1, 0
    for choice in schedule.choices:
        segments.append((thread, choice.point - last))
        last, thread = choice.point, choice.thread
    segments.append((thread, max(1, len(order) - last + 1)))
    return merged(segment for segment in segments if segment[1] > 0)
