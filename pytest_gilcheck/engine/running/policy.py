"""Policies: how a run chooses the thread that runs next."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Protocol

from ..bytecode.visible import Access
from ..schedule import CLOCK, TEARDOWN, Choice, Schedule
from .task import DONE, READY, Task

NEVER = 0  # no point has this number
STARTED_FIRST: tuple[int, ...] = ()  # the order in which whoever is started runs before its starter goes on


class Policy(Protocol):
    """Chooses the next thread, at steps that it names itself and at every forced point.

    Attributes:
        next: the next point at which `at` is to be called; `NEVER` for none. If that point is past, or was a forced one, the next
            step is meant.
        may_end: whether `forced` may be offered the pseudo task `TEARDOWN`, which ends the run early.
        tracks: whether `forced` must be called even if only one task is ready, because the policy counts what tasks do.
    """

    next: int
    may_end: bool
    tracks: bool

    def begin(self, tasks: Sequence[Task]) -> None:
        """Called when a run begins."""

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        """The task that makes the next step: the current one, or one of the others, which then continues from where it stands.

        Others that are not ready are made so by a delay.
        """

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        """The task that runs where the current one cannot continue: a ready one, or one that a delay makes ready."""


class Planned:
    """Follows a schedule as far as the run allows it, and records the first choice that it does not allow."""

    may_end = True
    tracks = False

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._left: list[Choice] = []
        self.next = NEVER
        self.diverged: Choice | None = None

    def begin(self, tasks: Sequence[Task]) -> None:
        self._left = list(reversed(self._schedule.choices))
        self.diverged = None
        self.next = self._left[-1].point if self._left else NEVER

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        return self._follow(point, False, others) or task

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        if not self._left or self._left[-1].point > point:
            return default
        return self._follow(point, True, [*ready, *late]) or default

    @property
    def unused(self) -> Choice | None:
        """The first choice that could not be made, or whose point the run never reached; None if all were made."""
        return self.diverged or (self._left[-1] if self._left else None)

    def _follow(self, point: int, forced: bool, candidates: Sequence[Task]) -> Task | None:
        choice = self._left.pop()
        self.next = self._left[-1].point if self._left else NEVER
        if choice.point == point and (choice.forced is forced or choice.thread == CLOCK):
            for task in candidates:
                if task.index == choice.thread:
                    return task
        self.diverged = self.diverged or choice
        return None


class PlannedAndLeft(Planned):
    """Follows a schedule; from its last preemption on, the thread that was preempted goes on only where no other one can.

    So whatever the other threads do comes before what that thread was about to do, also if they are only started later, or wait for
    each other.
    """

    def begin(self, tasks: Sequence[Task]) -> None:
        super().begin(tasks)
        self._preempted: Task | None = None

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        chosen = super().at(point, task, others, access)
        if chosen is not task:
            self._preempted = task
        return chosen

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        chosen = super().forced(point, ready, default, late)
        if self._left or chosen is not default or default is not self._preempted:
            return chosen
        return next((task for task in ready if task is not default and task.index != TEARDOWN), default)


class PlannedWithout:
    """Follows a schedule of a run in which some steps were hidden (`Events.narrow`), in one where every step is a point.

    Args:
        hidden: the ids of those steps.
    """

    may_end = True
    tracks = True

    def __init__(self, schedule: Schedule, hidden: Container[int]) -> None:
        self._planned, self._hidden = Planned(schedule), hidden
        self._point = 0  # of the run in which they were hidden
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._planned.begin(tasks)
        self._point, self.next = 0, 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        if id(access) in self._hidden:
            return task
        self._point += 1
        if self._planned.next == NEVER or self._point < self._planned.next:
            return task
        return self._planned.at(self._point, task, others, access)

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        self._point += 1
        self.next = point + 1
        return self._planned.forced(self._point, ready, default, late)


class SequentialOrder:
    """Runs the threads one after the other in a given order, each as far as it can go.

    While a thread waits, those that it has started run before the others, until it can go on: whoever starts a thread waits for it,
    and perhaps for what it does.

    Args:
        times_out: whether a wait with a deadline ends by that before a thread goes on that comes later in the order. It takes a
            clock for which a deadline may be so far away (`VirtualClock.any_delay`).
    """

    may_end = False
    tracks = False

    def __init__(self, order: Sequence[int], *, times_out: bool = False) -> None:
        self.next = NEVER
        self._times_out = times_out
        self._order = {index: place for place, index in enumerate(order)}

    def begin(self, tasks: Sequence[Task]) -> None: ...

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        starter = task.starter
        self.next = point + 1
        if starter is None or starter.state is not READY:
            return task
        self.next = NEVER
        return starter

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        target = min(ready, key=self._place)
        if self._times_out and late:
            target = min([*ready, *late], key=lambda task: (self._turn(task), task.state is not READY, self._place(task)))
        waited_for = target.starter is not None and target.starter.state is not DONE
        self.next = point + 1 if waited_for else NEVER
        return target

    def _turn(self, task: Task) -> int:
        """The place in the order of the thread that this is, or that has started it."""
        return self._place(task)[0]

    def _place(self, task: Task) -> tuple[int, bool, int]:
        """Of a thread that another one has started: after that one, which may wait for it; behind all once that one has ended."""
        order, starter = self._order, task.starter
        if task.index in order:
            return order[task.index], False, 0
        place = len(order) if starter is None or starter.state is DONE else order.get(starter.index, len(order))
        return place, True, task.index


class StartedFirst(SequentialOrder):
    """Runs each thread that the program starts, as far as it can go, before the one goes on that has started it or woken it."""

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        return max((other for other in others if _is_started(other)), key=_index, default=task) if others else task

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        self.next = point + 1
        started = [task for task in ready if _is_started(task)]
        return max(started, key=_index) if started else min(ready, key=self._place)


def _is_started(task: Task) -> bool:
    return not task.root and task.state is READY


def _index(task: Task) -> int:
    return task.index
