"""The policy of a sequential order: it switches between two operations, and nowhere else.

An operation that has to wait in its turn ends the order: what goes on after that is none. Unless waiting is ``"visible"``: then it
goes on as soon as it can, before any other operation begins. That is for designs in which waiting shows, such as a lock of which a
waiting writer keeps new readers out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from ..engine.bytecode.visible import Access
from ..engine.running.engine import Engine
from ..engine.running.policy import NEVER
from ..engine.running.task import READY, Task
from .oracle import Outcome, completed
from .worker import BETWEEN, Run


class Waiting(StrEnum):
    """What an operation that waits does in a sequential order."""

    STRICT = "strict"
    VISIBLE = "visible"


class MergePolicy:
    """Follows choices of threads, then takes the first one at each further place.

    Args:
        engine: that runs it.
        run: returns the present run.
        choices: the threads at the first places.
        waiting: see `Waiting`.

    Attributes:
        made: the thread that was chosen at each place.
        ready: those that could be chosen there.
        waits: the thread whose operation ended the order; None if it was followed to its end.
        done: what had returned then.
        places: how many points between two operations there were.
        visible: whether an operation that waits may go on between two others.
    """

    may_end = False
    tracks = True  # also where only one thread can run: it may be about to wait

    def __init__(self, engine: Engine, run: Callable[[], Run], choices: tuple[int, ...], waiting: str) -> None:
        self._engine, self._run, self._choices, self.visible = engine, run, choices, waiting == Waiting.VISIBLE
        self.begin(())

    def begin(self, tasks: Sequence[Task]) -> None:
        self.next = NEVER
        self.made: list[int] = []
        self.ready: list[list[int]] = []
        self.waits: int | None = None
        self.done: Outcome = ()
        self.places = 0
        self._running: int | None = None

    def between(self) -> None:
        """Called by a thread between two of its operations: the one place at which an order may switch."""
        self.places += 1
        self.next = self._engine.next = self._engine.point + 1
        self._engine.step(BETWEEN)

    def at(self, point: int, task: Task, others: Sequence[Task], access: Access) -> Task:
        self.next = NEVER
        if access is not BETWEEN:
            return task
        return self._chosen([task, *(each for each in others if each.state is READY)])

    def forced(self, point: int, ready: Sequence[Task], default: Task, late: Sequence[Task]) -> Task:
        if self._in_operation(self._running) and self.waits is None:
            if (inside := self._goes_on_inside(ready)) is not None:
                return inside
            if not self.visible:
                self.ends_here()
                return default
        return self._chosen(list(ready))

    def _goes_on_inside(self, ready: Sequence[Task]) -> Task | None:
        """Who runs while an operation has not returned: what it has started, or itself when its time has come; None if it waits."""
        engine = self._engine
        assert self._running is not None, "the caller has looked"
        mine = engine.tasks[self._running]
        if started := [each for each in ready if not each.root]:
            return started[0]
        if mine.state is not READY and mine.deadline is not None:  # in a sequential order nobody else lets time pass
            engine.clock.now = max(engine.clock.now, mine.deadline)
            mine.state, mine.deadline, mine.timed_out = READY, None, True
        return mine if mine.state is READY else None

    def ends_here(self) -> None:
        """Note that the operation that runs waits, so that the order ends."""
        self.waits, self.done = self._running, completed(self._run())

    def _chosen(self, candidates: list[Task]) -> Task:
        """The thread of the next operation; of one that has waited, if that can go on."""
        if resumed := [each for each in candidates if self._in_operation(each.index)]:
            candidates = resumed
        chosen = candidates[0]
        if len(candidates) > 1 and self.waits is None:
            place = len(self.made)
            wanted = self._choices[place] if place < len(self._choices) else None
            chosen = next((each for each in candidates if each.index == wanted), chosen)
            self.made.append(chosen.index)
            self.ready.append([each.index for each in candidates])
        self._running = chosen.index
        return chosen

    def _in_operation(self, index: int | None) -> bool:
        threads = self._run().threads
        return index is not None and index < len(threads) and bool(threads[index]) and threads[index][-1].returned is None

    def further(self) -> list[tuple[int, ...]]:
        """The choices of the orders that branch off from this one, where it made a choice of its own."""
        found = []
        for place in range(len(self._choices), len(self.made)):
            for other in self.ready[place]:
                if other != self.made[place]:
                    found.append((*self.made[:place], other))
        return found
