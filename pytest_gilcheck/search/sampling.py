"""Policies that draw a schedule at random. No single one is best, so a search uses several.

Several share a generator: to seed one takes as long as half of a small run, and what the methods of ``random`` add to those of C as
long as a step.
"""

from __future__ import annotations

from _random import Random
from collections import defaultdict
from collections.abc import Sequence

from ..engine.bytecode.visible import Access
from ..engine.running.policy import NEVER
from ..engine.running.task import READY, Task
from .ledger import DELAYED


def _considered(draw: Random, others: Sequence[Task]) -> list[Task]:
    """Those of the others that this choice considers: a schedule may have few delays, and they should not all come first."""
    return [other for other in others if other.state is READY or draw.random() < DELAYED]


def _one() -> int:
    return 1


class RandomWalk:
    """Chooses among the runnable threads with equal probability, at every step."""

    may_end = False
    tracks = False

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self.next = 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        others = _considered(self._draw, others)
        index = int(self._draw.random() * (len(others) + 1))
        return others[index] if index < len(others) else task

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        ready = [*ready, *_considered(self._draw, late)]
        return ready[int(self._draw.random() * len(ready))]


class UniformWalk:
    """Chooses each thread with a probability in proportion to the steps that it has left, which is about uniform over interleavings
    (URW, Zhao et al., "Selectively Uniform Concurrency Testing", ASPLOS 2025).

    Args:
        lengths: the number of steps of each thread in a run without preemption, by index.
    """

    may_end = False
    tracks = True

    def __init__(self, draw: Random, lengths: Sequence[int]) -> None:
        self._draw, self._lengths = draw, lengths
        self._left: defaultdict[int, int] = defaultdict(_one)
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._left = defaultdict(_one, enumerate(self._lengths))
        self.next = 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        others = _considered(self._draw, others)
        chosen = self._drawn([task, *others]) if others else task
        self._left[chosen.index] -= 1
        return chosen

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        return self._drawn([*ready, *_considered(self._draw, late)])

    def _drawn(self, tasks: Sequence[Task]) -> Task:
        left = self._left
        weights = [left[task.index] for task in tasks]
        if min(weights) < 1:
            weights = [max(1, weight) for weight in weights]
        drawn = self._draw.random() * sum(weights)
        for task, weight in zip(tasks, weights, strict=True):
            drawn -= weight
            if drawn < 0:
                return task
        return tasks[-1]  # the difference was rounded to nothing


class Priorities:
    """Probabilistic concurrency testing (PCT, Burckhardt et al., ASPLOS 2010).

    Each thread has a random priority, and at ``depth - 1`` points the running thread falls behind all others. This finds any bug of
    that depth with a probability of at least 1/(n k^(depth-1)).

    Args:
        steps: the number of steps of a run.
    """

    may_end = False
    tracks = False

    def __init__(self, draw: Random, steps: int, depth: int = 3) -> None:
        self._draw, self._steps, self._depth = draw, max(1, steps), depth
        self._priority: dict[int, float] = {}
        self._changes: list[int] = []
        self._lowest = 0.0
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._priority = {}
        self._lowest = 0.0
        drawn = {1 + int(self._draw.random() * self._steps) for _ in range(self._depth - 1)}
        self._changes = sorted(drawn, reverse=True)
        self.next = 1  # any thread may make the first step

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        while self._changes and self._changes[-1] <= point:
            self._changes.pop()
            self._lowest -= 1
            self._priority[task.index] = self._lowest
        self.next = self._changes[-1] if self._changes else NEVER
        return max([task, *_considered(self._draw, others)], key=self._of)

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        return max([*ready, *_considered(self._draw, late)], key=self._of)

    def _of(self, task: Task) -> float:
        if task.index not in self._priority:
            self._priority[task.index] = 1 + self._draw.random()
        return self._priority[task.index]


class PartialOrder:
    """Partial order sampling (POS, Yuan et al., CAV 2018): each pending step has a random priority, which is drawn again when
    another thread makes a step that conflicts with it. Two steps conflict by the names that they touch."""

    may_end = False
    tracks = True

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._pending: dict[int, tuple[float, Access | None]] = {}
        self.next = 1

    def begin(self, tasks: Sequence[Task]) -> None:
        self._pending = {}
        self.next = 1

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = point + 1
        pending = self._pending
        if task.index not in pending or pending[task.index][1] is None:
            pending[task.index] = self._draw.random(), access
        chosen = max([task, *_considered(self._draw, others)], key=self._of)
        self._made(chosen)
        return chosen

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        chosen = max([*ready, *_considered(self._draw, late)], key=self._of)
        self._made(chosen)
        return chosen

    def _made(self, task: Task) -> None:
        """Remove the step that this task makes now, and draw anew for those that conflict with it."""
        _, access = self._pending.pop(task.index, (0.0, None))
        if access is None:
            return
        for index, (_, other) in self._pending.items():
            if other is not None and other.conflicts(access):
                self._pending[index] = self._draw.random(), other

    def _of(self, task: Task) -> float:
        if task.index not in self._pending:
            self._pending[task.index] = self._draw.random(), None
        return self._pending[task.index][0]
