"""Whether threads that pause between their looks, in a sleep or a wait with a timeout, poll for what none of them will do.

`spinning` sees a loop that makes many steps without a pause. One that sleeps makes few, and each time others may run; if these all
do the same, the run goes on for ever. So once a run is much longer than any sequential order, all its threads are watched through
their pauses. If each that can run comes to the same place in the same state, and none has written anything, none ever will.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

from ..bytecode.visible import Access
from .spinning import SPINS, LoopWatch, in_a_wait
from .task import Task

_STEPS = 2_000  # that are watched; then not again before the run is twice as long


class PauseWatch:
    """Watches the steps of all threads of a run for a while, through their pauses."""

    __slots__ = ("_spinning", "_watches", "left")

    def __init__(self) -> None:
        self._watches: dict[int, LoopWatch] = {}  # by the index of the task
        self._spinning: set[int] = set()
        self.left = _STEPS

    def step(self, task: Task, access: Access, frame: FrameType, acquired: int, able: Sequence[Task]) -> bool:
        """Note a step; returns whether the threads do nothing but poll, and for nothing that will come.

        Args:
            acquired: the number of times that locks were acquired. Alone, a thread may acquire them: nobody finds them held.
            able: the threads that can run, now or when time has passed.
        """
        self.left -= 1
        if len(able) == 1:
            acquired = 0
        watch = self._watches.get(task.index)
        if watch is None and in_a_wait(frame):
            return False  # it has made a lock for that wait, so its locals are others each time
        if watch is None:
            self._watches[task.index] = LoopWatch(task, frame, 0, acquired, pausing=True)
            return False
        found = watch.step(access, frame, acquired)
        if watch.may_end:
            self._watches.clear()
            self._spinning.clear()
            return False
        if found is SPINS:
            self._spinning.add(task.index)
        if found is not None:
            del self._watches[task.index]
        return all(other.index in self._spinning for other in able)

    def only_waits(self, task: Task, frame: FrameType) -> None:
        """The thread waits with a timeout, or releases a lock: its present call is no work, if it is no more than that."""
        watch = self._watches.get(task.index)
        if watch is not None:
            watch.only_waits(frame)
