"""Which waits time may end, and when it passes: the rules of `virtual_time`, applied to the threads of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..schedule import CLOCK
from .task import DONE, PARKED, READY, SLEEPING, Task
from .virtual_time import VirtualClock

_MOST_PASSED = 100  # times that time passes beside sleeps of a sequential order until it only passes for these
_LEAP = 1_000_000  # nanoseconds that pass for threads that spin and read a clock; twice as many each further time


class Deadlines:
    """The waits of the threads of the present run.

    Args:
        clock: their clock.
        tasks: those threads; the list changes with the run.
        main: the main thread, which waits like the others during setup, invariant and teardown.

    Attributes:
        late_reading: the candidate that stands for a late reading of a clock.
        leaps: how often time passed since a thread last waited, because all of them spin.
        passed: how often in this run it passed beside a sleep of a sequential order.
    """

    __slots__ = ("_clock", "_main", "_tasks", "late_reading", "leaps", "passed")

    def __init__(self, clock: VirtualClock, tasks: Sequence[Task], main: Task) -> None:
        self._clock, self._tasks, self._main = clock, tasks, main
        self.late_reading = Task(CLOCK, "time", main.semaphore)
        self.late_reading.state = SLEEPING
        self.leaps = self.passed = 0

    def others(self, task: Task | None) -> list[Task]:
        """The other threads that may run now: runnable ones, and those whose wait ends by its deadline if time passes."""
        if not self._clock.matters:  # nobody waits with a deadline
            return [other for other in self._tasks if other.state is READY and other is not task]
        found = []
        for other in self._tasks:
            if other is task:
                continue
            state = other.state
            if state is READY or ((state is PARKED or state is SLEEPING) and other.deadline is not None and self._may_end(other)):
                found.append(other)
        return found

    def _may_end(self, task: Task) -> bool:
        """Whether the deadline of this thread may pass although others are runnable."""
        clock, deadline = self._clock, task.deadline
        assert deadline is not None, "the caller has looked"
        if clock.may_reach(deadline):
            return True
        if task.state is not SLEEPING or clock.read or not clock.delays:
            return False
        for other in self._tasks:
            if other.state is PARKED and other.deadline is not None and other.deadline <= deadline:
                return False  # it would time out, although nothing kept the threads that it waits for from running so long
        return True

    def is_ready(self, task: Task) -> bool:
        """Whether this thread may run without any delay."""
        return task.state is READY or (task.deadline is not None and task.deadline <= self._clock.now)

    def any(self) -> bool:
        """Whether any thread waits with a deadline."""
        if not self._clock.matters:
            return False
        for task in self._tasks:  # noqa: SIM110 # any() of a generator takes three times as long, and every switch calls this
            if task.deadline is not None:
                return True
        return False

    def delay(self, deadline: int) -> int:
        """Let time pass to a deadline, although a thread is runnable; returns by how many nanoseconds that is late."""
        late = self._clock.delay_to(deadline)
        self.end_past()
        return late

    def end_past(self) -> None:
        """End the waits whose deadlines are past. One that is due this moment may end so, or by what happens this moment."""
        now = self._clock.now
        for task in self._tasks:
            if task.deadline is not None and task.deadline < now and (task.state is PARKED or task.state is SLEEPING):
                task.state, task.deadline, task.timed_out = READY, None, True

    def end_wait(self, task: Task) -> int:
        """End the wait of this thread by its deadline; returns the nanoseconds of the delay, if that takes one."""
        deadline, late = task.deadline, 0
        if deadline is not None and deadline > self._clock.now:
            late = self.delay(deadline)
        task.state, task.deadline, task.timed_out = READY, None, True
        return late

    def due_until(self, time: int) -> bool:
        """Whether the deadline of a waiting thread comes until then."""
        waiting = (PARKED, SLEEPING)
        return any(task.deadline is not None and task.deadline <= time and task.state in waiting for task in self._tasks)

    def advance(self) -> list[Task]:
        """No task is runnable: advance the clock to the earliest deadline, and return the tasks that are due then."""
        waiting = _with_deadline((*self._tasks, self._main))
        if not waiting:
            return []
        now = self._clock.now = max(self._clock.now, min(deadline for deadline, _ in waiting))
        return [task for deadline, task in waiting if deadline <= now]

    def beside_sleepers(self, tasks: list[Task]) -> list[Task]:
        """Those of these threads that the sleeps of a sequential order let run; all, if nobody sleeps so.

        These are threads that the program has started, and the one of its own that has started a sleeper.
        """
        sleepers = self.sleepers()
        return [task for task in tasks if not task.root or task in sleepers.values()] if sleepers else tasks

    def pass_beside_sleepers(self) -> Task | None:
        """All of those wait: advance the clock to the next deadline of these, and return whose it is.

        None if that is a timeout, which others could meet. A heartbeat does not let time pass for ever.
        """
        sleepers = self.sleepers()
        self.passed += 1
        waiting = _with_deadline(sleepers if self.passed > _MOST_PASSED else self.beside_sleepers([*self._tasks]))
        deadline, next_ = min(waiting, key=lambda each: (each[0], each[1].state is PARKED))
        if next_.root and next_.state is PARKED:
            return None
        self._clock.now = max(self._clock.now, deadline)
        self.end_past()
        return next_

    def sleepers(self) -> dict[Task, Task]:
        """The threads that sleep in a sequential order, each with the one of the program's own that it is, or that started it."""
        asleep = ((task, task if task.root else task.starter) for task in self._tasks if task.holds and task.state is SLEEPING)
        return {task: starter for task, starter in asleep if starter is not None and starter.state is not DONE}

    def end_sleep(self) -> bool:
        """A thread computes for long, and nobody else can run: end the next sleep, unless a wait has an earlier deadline."""
        waiting = _with_deadline(self._tasks)
        if not waiting:
            return False
        deadline, next_ = min(waiting, key=lambda each: (each[0], each[1].state is SLEEPING))
        if next_.state is SLEEPING:
            self._clock.now = max(self._clock.now, deadline)
        return next_.state is SLEEPING

    def leap(self) -> bool:
        """Let time pass, because every runnable thread spins; returns whether it could."""
        clock = self._clock
        due = min((task.deadline for task in self._tasks if task.deadline is not None and task.state is not DONE), default=None)
        if clock.read:  # nobody knows for which time it waits
            later = clock.now + (_LEAP << min(self.leaps, 40))
            clock.now = later if due is None else max(clock.now, min(later, due))
            self.leaps += 1
        elif due is not None:
            clock.now = max(clock.now, due)
        else:
            return False
        self.end_past()
        return True


def _with_deadline(tasks: Iterable[Task]) -> list[tuple[int, Task]]:
    """The deadlines of those that wait, with them."""
    return [(task.deadline, task) for task in tasks if task.deadline is not None and task.state in (PARKED, SLEEPING)]
