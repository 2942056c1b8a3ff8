"""Minimises a failing schedule: first reduces the number of preemptions, then moves each one earlier.

A sampled schedule switches at many points. If one switch were removed, the numbers of all later points would change. So the
schedule is taken as a list of segments (a thread, and how many of its own steps), and two segments of one thread are joined by
moving those between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from ..engine.bytecode.visible import Access
from ..engine.outcome import Failure
from ..engine.running.task import Task
from ..engine.schedule import Choice, Schedule
from . import ledger
from .explorer import Explorer
from .ledger import Account
from .reordering import reordered
from .segments import Segment, by_thread, merged, of_order, with_stretch
from .strategy import Driver, InThisProcess, Proposal, Steps, Strategy, following


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


class Minimising(Strategy):
    """Looks for the smallest failure with the same symptom. If a build with a GIL can show the failure, it can show that one too.

    First whole stretches of segments are sorted by thread, half of them at once, then smaller ones (as delta debugging does, Zeller
    and Hildebrandt, TSE 2002); then single switches are removed. Finally, other orders of the threads are tried (`reordering`).

    What does not work: to begin with an equivalent order of the recorded run that has few switches. That took 70 lines, and as many
    runs: 18 samples with 23 to 516 preemptions came to one preemption with it and without it.

    Args:
        threads: of the program.

    Attributes:
        best: the smallest failure so far.
    """

    def __init__(self, failure: Failure, account: Account, threads: int) -> None:
        super().__init__()
        self._failure, self._account, self._threads = failure, account, threads
        self.best = failure

    def _search(self) -> Steps[None]:
        over = self._account.reached
        if over():
            return
        segments = None if over() else (yield from self._segments(self.best))
        if segments is None:
            return
        size = len(segments)
        while size >= 2 and not over():
            start, shorter = 0, False
            while start < len(segments) and not over():
                joined = _joined(segments, start) if size == 2 else ()
                for candidate in (_sorted(segments, start, size), *joined):
                    if len(candidate) >= len(segments):
                        continue
                    found = yield from self._fewer(candidate)
                    if found is None:
                        continue
                    again = yield from self._segments(found)
                    if again is not None and len(again) < len(segments):
                        self.best, segments, shorter = found, again, True
                        break
                else:
                    start += max(1, size // 2)
            if not shorter or size > 2:
                size = min(size, len(segments)) // 2 if size > 3 else size - 1
        self._failure = self.best  # from here on, what a build with a GIL can show by now, it can show in the end
        yield from self._reorder(segments)
        yield from self._move_earlier()

    def _reorder(self, segments: list[Segment]) -> Steps[None]:
        """Put the threads in another order, if that needs fewer preemptions."""
        for cuts in range(1 if self._threads <= ledger.ALL_AT_FIRST else 0, self.best.schedule.preemptions):
            for candidate in islice(reordered(segments, cuts), ledger.MOST_REORDERED):
                if self._account.reached():
                    return
                found = yield from self._fewer(candidate)
                if found is not None:
                    self.best = found
                    return

    def _move_earlier(self) -> Steps[None]:
        """Move each preemption to the earliest point at which the run still fails."""
        for position in range(len(self.best.schedule.choices)):
            for candidate in earlier(self.best.schedule, position):
                if self._account.reached():
                    return
                _, found = yield following(candidate)
                if self._as_bad(found) and found is not None and len(found.schedule.choices) <= len(self.best.schedule.choices):
                    self.best = found
                    break

    def _fewer(self, segments: Sequence[Segment]) -> Steps[Failure | None]:
        """The failure with these segments, in the form in which it will be replayed, if it has fewer preemptions than the best."""
        _, found = yield Proposal(Segments(segments))
        if not self._as_bad(found) or found is None:
            return None
        _, again = yield following(found.schedule)
        if not self._as_bad(again) or again is None or again.schedule.preemptions >= self.best.schedule.preemptions:
            return None
        return again

    def _segments(self, failure: Failure) -> Steps[list[Segment] | None]:
        """How many steps each thread made, in order; None if the schedule does not fail again."""
        order: list[int] = []
        _, again = yield following(failure.schedule, observer=lambda task, point, access, frame: order.append(task.index))
        return of_order(order) if self._as_bad(again) else None

    def _as_bad(self, found: Failure | None) -> bool:
        """Whether a run failed with the same symptom, and on a build with a GIL too if the failure does."""
        failure = self._failure
        return found is not None and found.symptom is failure.symptom and found.run.masked <= failure.run.masked


def minimised(explorer: Explorer, failure: Failure, account: Account) -> Failure:
    """The smallest failure that is found within the account."""
    minimising = Minimising(failure, account, len(explorer.program.threads))
    Driver(InThisProcess(explorer), account).run(minimising)
    return minimising.best


def _sorted(segments: list[Segment], start: int, size: int) -> list[Segment]:
    """The segments with those of one stretch joined, thread by thread, in the order of first appearance in it."""
    return with_stretch(segments, start, size, by_thread(segments[start : start + size]))


def earlier(schedule: Schedule, position: int) -> Iterator[Schedule]:
    """The schedule with the preemption at a position moved to each earlier point; nothing if there is none."""
    choices = schedule.choices
    if position >= len(choices) or choices[position].forced:
        return
    first = choices[position - 1].point + 1 if position else 1
    for point in range(first, choices[position].point):
        yield Schedule((*choices[:position], Choice(point, choices[position].thread), *choices[position + 1 :]))


def _joined(segments: list[Segment], first: int) -> Iterator[list[Segment]]:
    """The segments with the one after the first moved behind the one that follows it, or before the first."""
    before, here, after = segments[:first], segments[first : first + 3], segments[first + 3 :]
    if len(here) == 3:
        one, between, other = here
        yield merged([*before, one, other, between, *after])
        yield merged([*before, between, one, other, *after])
