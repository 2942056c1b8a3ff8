"""Minimises a failing schedule: first reduces the number of preemptions, then moves each one earlier.

A sampled schedule switches at many points. If one switch were removed, the numbers of all later points would change. So the
schedule is taken as a list of segments (a thread, and how many of its own steps), and two segments of one thread are joined by
moving those between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from ..engine.bytecode.visible import Access
from ..engine.running.engine import Engine
from ..engine.running.record import Observer
from ..engine.running.task import Task
from ..engine.schedule import Choice, Schedule
from ..engine.touched.trace import Trace
from . import ledger
from .explorer import Explorer, Failure
from .ledger import Account
from .reordering import reordered
from .segments import Segment, by_thread, merged, of_order, with_stretch
from .straighten import straightened


class Segments:
    """Follows segments as far as possible: each thread in turn, until it has made as many of its own steps as the segments up to
    then have. A thread that has to wait makes up for it later, so the segments after that keep their meaning."""

    may_end = False
    tracks = True

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._goals: list[Segment] = []  # a thread, and the number of its steps from the beginning of the run
        counts: dict[int, int] = {}
        for index, count in segments:
            counts[index] = counts.get(index, 0) + count
            self._goals.append((index, counts[index]))
        self._left: list[Segment] = []
        self._made: defaultdict[int, int] = defaultdict(int)
        self._stopped: set[int] = set()  # threads that stopped right before a step, and make it without being asked again
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._left, self._made, self._stopped = list(reversed(self._goals)), defaultdict(int), set()
        self.next = 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        self._stopped.add(task.index)
        return self._counted(self._wanted([task, *others]) or task)

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        return self._counted(self._wanted([*ready, *late]) or default)

    def _wanted(self, candidates: Sequence[Task]) -> Task | None:
        while self._left:
            index, goal = self._left[-1]
            target = next((task for task in candidates if task.index == index), None)
            if target is not None and self._made[index] < goal:
                return target
            self._left.pop()
        return None

    def _counted(self, task: Task) -> Task:
        if task.index in self._stopped:
            self._stopped.discard(task.index)
            self._made[task.index] += 1
        return task


def minimised(explorer: Explorer, failure: Failure, limit: Account) -> Failure:
    """The smallest failure with the same symptom that is found within the limit, which counts runs. If a build with a GIL can show
    the failure, it can show the smallest one too.

    First the switches are left out that turn no conflict round. Then whole stretches of segments are sorted by thread, half of them
    at once, then smaller ones (as delta debugging does, Zeller and Hildebrandt, TSE 2002); then single switches are removed.
    Finally, other orders of the threads are tried (`reordering`).
    """
    before = explorer.runs
    limit.start(lambda: explorer.runs - before)
    if limit.reached():
        return failure
    best = _straightened(explorer, failure, limit)
    segments = None if limit.reached() else _segments(explorer, best)
    if segments is None:
        return best
    size = len(segments)
    while size >= 2 and not limit.reached():
        start, shorter = 0, False
        while start < len(segments) and not limit.reached():
            joined = _joined(segments, start) if size == 2 else ()
            for candidate in (_sorted(segments, start, size), *joined):
                if len(candidate) >= len(segments):
                    continue
                found = _try_segments(explorer, Segments(candidate), failure)
                if found is None or found.schedule.preemptions >= best.schedule.preemptions:
                    continue
                again = _segments(explorer, found)
                if again is not None and len(again) < len(segments):
                    best, segments, shorter = found, again, True
                    break
            else:
                start += max(1, size // 2)
        if not shorter or size > 2:
            size = min(size, len(segments)) // 2 if size > 3 else size - 1
    return _move_earlier(explorer, _reordered(explorer, best, segments, limit), limit)


def _reordered(explorer: Explorer, best: Failure, segments: list[Segment], limit: Account) -> Failure:
    """The failure with the threads in another order, if that needs fewer preemptions."""
    count = len(explorer.program.threads)
    for cuts in range(1 if count <= ledger.ALL_AT_FIRST else 0, best.schedule.preemptions):
        for candidate in islice(reordered(segments, cuts), ledger.MOST_REORDERED):
            if limit.reached():
                return best
            found = _try_segments(explorer, Segments(candidate), best)
            if found is not None and found.schedule.preemptions < best.schedule.preemptions:
                return found
    return best


def _straightened(explorer: Explorer, failure: Failure, limit: Account) -> Failure:
    """The failure without the switches that turn no conflict round, as far as that is known of what its run touches."""
    trace = Trace(explorer.engine)
    with trace:
        run, _ = explorer.follow(failure.schedule, recording=True)
    for cautious in (False, True):
        if limit.reached():
            break
        found = _try_segments(explorer, Segments(straightened(trace, run.points, cautious=cautious)), failure)
        if found is not None and found.schedule.preemptions < failure.schedule.preemptions:
            return found
    return failure


def _sorted(segments: list[Segment], start: int, size: int) -> list[Segment]:
    """The segments with those of one stretch joined, thread by thread, in the order of first appearance in it."""
    return with_stretch(segments, start, size, by_thread(segments[start : start + size]))


def _move_earlier(explorer: Explorer, failure: Failure, limit: Account) -> Failure:
    """The failure with each preemption at the earliest point at which the run still fails."""
    best = failure
    for position in range(len(failure.schedule.choices)):
        for candidate in earlier(best.schedule, position):
            if limit.reached():
                return best
            _, found = explorer.follow(candidate)
            if _as_bad(found, failure) and found is not None and len(found.schedule.choices) <= len(best.schedule.choices):
                best = found
                break
    return best


def earlier(schedule: Schedule, position: int) -> Iterator[Schedule]:
    """The schedule with the preemption at a position moved to each earlier point; nothing if there is none."""
    choices = schedule.choices
    if position >= len(choices) or choices[position].forced:
        return
    first = choices[position - 1].point + 1 if position else 1
    for point in range(first, choices[position].point):
        yield Schedule((*choices[:position], Choice(point, choices[position].thread), *choices[position + 1 :]))


def _try_segments(explorer: Explorer, policy: Segments, failure: Failure) -> Failure | None:
    _, found = explorer.once(policy)
    if not _as_bad(found, failure) or found is None:
        return None
    _, again = explorer.follow(found.schedule)  # in the form in which it will be replayed
    return again if _as_bad(again, failure) else None


def _as_bad(found: Failure | None, failure: Failure) -> bool:
    """Whether a run failed with the same symptom, and on a build with a GIL too if the failure does."""
    return found is not None and found.symptom is failure.symptom and found.run.masked <= failure.run.masked


def _segments(explorer: Explorer, failure: Failure) -> list[Segment] | None:
    """How many steps each thread made, in order; None if the schedule does not fail again."""
    order: list[int] = []
    with observed(explorer.engine, lambda task, point, access, frame: order.append(task.index)):
        _, again = explorer.follow(failure.schedule)
    if not _as_bad(again, failure):
        return None
    return of_order(order)


def _joined(segments: list[Segment], first: int) -> Iterator[list[Segment]]:
    """The segments with the one after the first moved behind the one that follows it, or before the first."""
    before, here, after = segments[:first], segments[first : first + 3], segments[first + 3 :]
    if len(here) == 3:
        one, between, other = here
        yield merged([*before, one, other, between, *after])
        yield merged([*before, between, one, other, *after])


@contextmanager
def observed(engine: Engine, observer: Observer) -> Iterator[None]:
    """Have an observer called before every visible step of the runs in this block."""
    engine.observer = observer
    try:
        yield
    finally:
        engine.observer = None
