"""Who goes on: the rules by which a run chooses at its points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..schedule import Choice, Schedule
from ..steps.visible import Access
from .task import Task

NEVER = 0  # no point has this number


class Policy(Protocol):
    """Asked by a run, at the points that it names itself.

    Attributes:
        next: the next step at which it wants to be asked; `NEVER` for none. One that was no step but a forced point, or is past,
            means the next step there is.
    """

    next: int
    tracks: bool

    def begin(self, tasks: Sequence[Task]) -> None:
        """A run begins."""

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        """Who makes the step: the task at it, or one of the others, which then goes on from where it is."""

    def forced(self, point: int, ready: Sequence[Task], default: Task) -> Task:
        """Who goes on where the running task cannot."""


class Planned:
    """Follows a schedule, and notes where that is not possible."""

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

    def forced(self, point: int, ready: Sequence[Task], default: Task) -> Task:
        if not self._left or self._left[-1].point > point:
            return default
        return self._follow(point, True, ready) or default

    @property
    def unused(self) -> Choice | None:
        """The first choice that the run was not like, or whose point it never reached."""
        return self.diverged or (self._left[-1] if self._left else None)

    def _follow(self, point: int, forced: bool, candidates: Sequence[Task]) -> Task | None:
        choice = self._left.pop()
        self.next = self._left[-1].point if self._left else NEVER
        if choice.forced is forced and choice.point == point:
            for task in candidates:
                if task.index == choice.thread:
                    return task
        self.diverged = self.diverged or choice
        return None


class SequentialOrder:
    """The threads one after the other, each as far as it can go."""

    next = NEVER
    tracks = False

    def __init__(self, order: Sequence[int]) -> None:
        self._order = {index: place for place, index in enumerate(order)}

    def begin(self, tasks: Sequence[Task]) -> None: ...

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        return task

    def forced(self, point: int, ready: Sequence[Task], default: Task) -> Task:
        return min(ready, key=lambda task: (self._order.get(task.index, len(self._order)), task.index))
