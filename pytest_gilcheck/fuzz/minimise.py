"""From a schedule that fails to a small one: fewer preemptions first, then earlier ones.

A sampled schedule switches at many steps. Counted through the whole run, they would all move when one is taken away; so it is
taken for a list of segments (this thread, so many of its own steps), and two segments of one thread are joined by moving what is
between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from .engine import Engine, Observer
from .explorer import Explorer, Failure
from .schedule import Choice, Schedule
from .task import Task
from .visible import Access

Segment = tuple[int, int]  # a thread, and how many of its own steps


class Segments:
    """Follows segments as far as it can."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._left: list[Segment] = []
        self._stopped: set[int] = set()  # threads that stand before a step, which they make unasked
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._left = list(reversed(self._segments))
        self._stopped = set()
        self.next = 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        self._stopped.add(task.index)
        return self._follow([task, *others]) or self._gone_on(task)

    def forced(self, point: int, ready: Sequence[Task], default: Task) -> Task:
        return self._follow(ready) or self._gone_on(default)

    def _follow(self, candidates: Sequence[Task]) -> Task | None:
        while self._left:
            index, count = self._left[-1]
            target = next((task for task in candidates if task.index == index), None)
            if count == 0 or target is None:
                self._left.pop()
                continue
            if index in self._stopped:
                self._left[-1] = index, count - 1
            return self._gone_on(target)
        return None

    def _gone_on(self, task: Task) -> Task:
        self._stopped.discard(task.index)
        return task


def minimal(explorer: Explorer, failure: Failure, until: float) -> Failure:
    """The smallest failure of the same kind that is found before the time ``until``."""
    best = failure
    segments = _segments(explorer, failure)
    improved = segments is not None
    while improved and segments is not None and monotonic() < until:
        improved = False
        for first in range(len(segments) - 2):
            if monotonic() > until:
                break
            found = _tried(explorer, Segments(_joined(segments, first)), failure)
            if found is not None and found.schedule.preemptions < best.schedule.preemptions:
                shorter = _segments(explorer, found)
                if shorter is not None:
                    best, segments, improved = found, shorter, True
                    break
    return _earlier(explorer, best, until)


def _earlier(explorer: Explorer, failure: Failure, until: float) -> Failure:
    """The same with each preemption as early as it still fails."""
    best = failure
    for position in range(len(failure.schedule.choices)):
        choices = best.schedule.choices
        if position >= len(choices) or choices[position].forced:
            continue
        first = choices[position - 1].point + 1 if position else 1
        for point in range(first, choices[position].point):
            if monotonic() > until:
                return best
            earlier = (*choices[:position], Choice(point, choices[position].thread), *choices[position + 1 :])
            _, found = explorer.follow(Schedule(earlier))
            if _same(found, failure) and found is not None and len(found.schedule.choices) <= len(choices):
                best = found
                break
    return best


def _tried(explorer: Explorer, policy: Segments, failure: Failure) -> Failure | None:
    _, found = explorer.once(policy)
    if not _same(found, failure) or found is None:
        return None
    _, again = explorer.follow(found.schedule)  # as it will be replayed
    return again if _same(again, failure) else None


def _same(found: Failure | None, failure: Failure) -> bool:
    return found is not None and found.trouble is failure.trouble


def _segments(explorer: Explorer, failure: Failure) -> list[Segment] | None:
    """Who made how many steps, in order; None if the schedule does not fail again."""
    order: list[int] = []
    with observed(explorer.engine, lambda task, point, access, frame: order.append(task.index)):
        _, again = explorer.follow(failure.schedule)
    if not _same(again, failure):
        return None
    segments: list[Segment] = []
    for index in order:
        if segments and segments[-1][0] == index:
            segments[-1] = index, segments[-1][1] + 1
        else:
            segments.append((index, 1))
    return segments


def _joined(segments: list[Segment], first: int) -> list[Segment]:
    """The segment after the first one moved behind the one that follows it."""
    moved = [*segments[: first + 1], segments[first + 2], segments[first + 1], *segments[first + 3 :]]
    joined: list[Segment] = []
    for index, count in moved:
        if joined and joined[-1][0] == index:
            joined[-1] = index, joined[-1][1] + count
        else:
            joined.append((index, count))
    return joined


@contextmanager
def observed(engine: Engine, observer: Observer) -> Iterator[None]:
    """Have every step of the runs in this block told to an observer."""
    engine.observer = observer
    try:
        yield
    finally:
        engine.observer = None
