"""What the threads of the program call: their visible steps and their waits.

`events` reports the steps (`Controlled.step`), `primitives` and `files` what the code under test does with locks and clocks.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import NoReturn

from ...core.lookup import looked_up
from ..bytecode import switch_points
from ..bytecode.apart import ApartCall
from ..bytecode.visible import CLOCK_READING, ENTRY, IN_C, Access
from .stuck import SetupStuck, describe_blocked
from .task import PARKED, READY, SLEEPING, Abort, Task, Uncontrolled, blocked_outside
from .turns import Turns
from .virtual_time import READING

_get_ident = threading.get_ident
_join = threading.Thread.join


class Controlled(Turns):
    """The turns of the threads, as these see them."""

    __slots__ = ()

    def step(self, access: Access, frame: FrameType | None = None) -> None:
        """Count a visible step that the calling thread is about to make, and switch if the policy says so.

        Args:
            frame: where the step is; by default the frame of the caller's caller.
        """
        if not self.exploring:
            return
        task = self.owner
        if _get_ident() != task.ident:
            found = self.regain()
            if found is None:
                return
            task = found
        point = self.point = self.point + 1
        if self.measuring:
            counts = access.kind != "end" and access.name != ENTRY
            lengths, index = self.record.lengths, task.index
            lengths[index] = (looked_up(lengths, index) or 0) + counts
            if task.gil_checked:
                self.record.reachable.add(point)
        if point == self.next:
            self.decide(task, point, access, frame or sys._getframe(2))
        if self.observer is not None:
            self.observer(task, point, access, frame or sys._getframe(2))
        task.gil_checked = False

    def at_switch_point(self, kind: str, name: object) -> None:
        """The hook of `switch_points`: a read inside what is otherwise one step."""
        if not self.exploring or (task := self.current()) is None:
            return
        checked = task.gil_checked
        if type(name) is ApartCall:
            task.gil_checked = False
            self.step(IN_C, sys._getframe(2))
            if self.recorder is not None:
                self.recorder.inside(name)
            task.gil_checked = checked
            return
        if kind == switch_points.ITERATE:
            task.gil_checked = False  # for a build with a GIL it is one C call
        elif kind == switch_points.LOOP:
            task.gil_checked = True
        self.step(Access("read", "[]", 0), sys._getframe(2))
        if kind == switch_points.ITERATE:
            task.gil_checked = checked

    def clock_reading(self, frame: FrameType) -> int:
        """The virtual time at which the calling thread reads a clock; a visible step if it is code under test."""
        if self.exploring and self.takes_part(frame.f_code.co_filename):
            self.clock.read = self.clock.matters = True
            task = self.owner
            if self.recording and self.clock.delays and self.clock.delay:
                self.record.readings.append(self.point + 1)
            self.step(CLOCK_READING, frame)
            task.gil_checked = True
        return self.clock.reading()

    def park(self, task: Task, waits_for: object, deadline: int | None = None, *, sleeping: bool = False) -> bool:
        """Wait until another thread calls `wake`, or until the deadline.

        Args:
            waits_for: the object that `wake` will be called with; for a text, only the deadline ends the wait.
            deadline: nanoseconds of the virtual clock; None for none. It is a moment later at least: who waits for no time, again
                and again, could be chosen before all others for ever.
            sleeping: whether the task waits for the clock alone.

        Returns:
            Whether the deadline ended the wait.

        Raises:
            SetupStuck: the main thread waits, and no thread is runnable.
        """
        if self.aborting:
            raise Abort
        if task.ident != _get_ident() or self.owner is not task:
            self.regain()
        task.state = SLEEPING if sleeping else PARKED
        task.waits_for, task.deadline, task.timed_out, task.spins = waits_for, deadline, False, 0
        self.deadlines.leaps = 0
        if deadline is not None:
            self.clock.matters = True
            task.deadline = max(deadline, self.clock.now + READING)
        task.frame = sys._getframe(1)
        if (pauses := self.fairness.pauses) is not None:
            pauses.only_waits(task, task.frame)
        self.release_and_wait(task)
        while task is self.main and (self.idle or self.owner is not task) and not self._nobody_runs():
            task.semaphore.wait()  # it is also woken to look whether a run has ended
        if self.idle and task is self.main:
            self.awake = task
            self.idle = False
            task.state = READY
            what = describe_blocked(task, self.takes_part).waits_for
            raise SetupStuck(f"it waits for {what}, and no thread is runnable")
        task.waits_for = task.deadline = None
        self._has_turn(task)
        if self.recorder is not None and self.exploring:
            self.recorder.goes_on(task)
        return task.timed_out

    def _nobody_runs(self) -> bool:
        """Whether no thread is runnable, and none that is blocked outside of control will come back in time."""
        if self.idle and self.returned:
            self.release(self.main)
        return self.idle and (bool(self.record.stuck) or not blocked_outside(self.tasks))

    def wake(self, waits_for: object) -> None:
        """Make every thread that waits for this object runnable."""
        woken = False
        for task in self.tasks:
            if task.waits_for is waits_for and task.state is PARKED:
                task.state, task.deadline, woken = READY, None, True
        if self.main.waits_for is waits_for and self.main.state is PARKED:
            self.main.state, self.main.deadline = READY, None
        if woken and self.recording and self.exploring:
            self._span()

    def sleep(self, task: Task, nanoseconds: int, what: str) -> None:
        """Let the calling thread sleep.

        In a sequential order, only threads that the program has started run meanwhile (`Deadlines.beside_sleepers`): to sleep may
        stand for a wait for them. Or none do (`sleeps_alone`). A thread that has slept often polls, so others may have to run.

        Args:
            what: the sleep, in words.
        """
        self.clock.matters = True
        slept = self.sleeps.get(task.index, 0)
        task.holds = self.exploring and slept < self.most_sleeps
        if task.holds:
            self.sleeps[task.index] = slept + 1
            if self.sleeps_alone or self.tasks[-1].root:  # the program has started none
                self.clock.now += nanoseconds
                if self.children:
                    self._let_children_run(nanoseconds)
                self.deadlines.end_past()
                return
        self.park(task, what, self.clock.now + nanoseconds, sleeping=True)

    def await_end_of(self, thread: threading.Thread) -> None:
        """Wait until a thread whose task is done has really ended, which on a busy machine takes as long as it takes."""
        self.unwatched(_join, thread)

    def refuse(self, what: str) -> NoReturn:
        """End the run, because the code under test does what cannot be explored.

        Raises:
            Uncontrolled: in the calling thread.
        """
        self.record.refused = self.record.refused or what
        raise Uncontrolled(what)
