"""Whose turn it is: one thread runs, the *owner*, until it waits or the policy chooses another one.

Each thread waits on its own semaphore. At every *point* the owner itself chooses the next owner, posts that one's semaphore, and
waits on its own: one hand-off for each switch. A point is a visible step, where the owner could go on (`decide`), or a forced one,
where it cannot (`release`).

What does not work: a scheduler thread between the others (two hand-offs for each switch instead of one).
"""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.clocks import sleep as _sleep
from ...core.lookup import looked_up
from ..bytecode.visible import CLOCK_READING, Access
from ..schedule import Choice
from .policy import NEVER
from .run_state import AGAIN_ALONE, LATER_GRACE, RunState
from .stuck import classify_idle, note_stuck, roots_done
from .task import BLOCKED_OUTSIDE, DONE, END_OF_RUN, PARKED, READY, Abort, Task
from .virtual_time import MOST_DELAY

_get_ident = threading.get_ident
_OUTSIDE = "a thread that is blocked by an operation that is not under control"


def _pass_on(post: Callable[[], object], wait: Callable[[], object]) -> None:
    """Wake another thread, and wait.

    A free-threaded build ends an object in the thread that made it, between two instructions, as soon as another thread has let it
    go. A finalizer that takes a lock must not do so where this thread has given its turn away, so both calls are made from C.
    """
    if FREE_THREADED_BUILD:
        deque(map(operator.call, (post, wait)), 0)
    else:
        post()
        wait()


class Turns(RunState):
    """The threads of one run, and which of them runs."""

    __slots__ = ()

    def current(self) -> Task | None:
        """The calling thread's task, if it is controlled; it is the owner then, at the latest when this returns."""
        owner = self.owner
        return owner if owner.ident == _get_ident() else self.regain()

    def regain(self) -> Task | None:
        """Wait until it is the calling thread's turn again; returns its task, or None if it is not controlled.

        Called by a thread that is not the owner, or no longer: the watchdog has taken its turn, or is about to.

        Raises:
            Abort: the run is over.
        """
        task = looked_up(self.by_ident, _get_ident())
        if task is None:
            return None
        with self.changing:
            if task is self.owner:
                return task
            if task.state is not BLOCKED_OUTSIDE:
                return None  # the interpreter's own call, in a thread that is about to end
            if self.aborting:
                raise Abort
            self.returned.append(task)
        task.semaphore.wait()
        self._has_turn(task)
        if self.recorder is not None and self.exploring:
            self.recorder.goes_on(task)
        return task

    def withheld(self, owner: Task, decide: Callable[[int], None]) -> None:
        """Have the watchdog decide whether to take the turn of this owner, which may come back at any moment.

        The owner is known by its ident. Without that, whatever it calls finds that it is not the owner, and waits in `regain`. What
        it has passed already, it passed awake: so who sees it in one sleep before and after this began may take its turn.

        Args:
            decide: called with the ident.
        """
        ident = owner.ident or 0
        with self.changing:
            owner.ident = None
            try:
                decide(ident)
            finally:
                owner.ident = None if owner.state is DONE and not owner.root else ident

    def decide(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        """Ask the policy, then the fairness rule, who runs next, before the calling thread makes its step."""
        target, policy, fairness = task, self.policy, self.fairness
        assert policy is not None, "exploring needs a policy"
        if policy.next != NEVER and point >= policy.next and point <= fairness.most_chosen:
            allowed = task.gil_checked or not self.gil_only
            others = self.deadlines.others(task) if allowed else []
            pause = self.deadlines.late_reading
            if access is CLOCK_READING and self.clock.delays and self.clock.delay:
                others.append(pause)
            if others or allowed:
                target = policy.at(point, task, others, access)
            if target is not task:
                self._record_choice(Choice(point, target.index, target is pause), access, frame, task)
                task.spins = target.spins = 0
                if target is pause:
                    self._note_delay(self.deadlines.delay(self.clock.now + self.clock.delay))
                    target = task
        if target is task and point >= fairness.point:
            chosen = fairness.choose(task, point, access, frame, self.acquisitions)
            if isinstance(chosen, str):
                if self.record.waited:
                    self._halt(task, frame, chosen)
                self._wait_for_the_world(task, point)
                chosen = task
            if chosen is None:
                self._await_returned(task, frame)
                return
            target = chosen
        if target is task:
            self.next = fairness.next_point(policy, point)
            return
        task.frame = frame
        if target.state is not READY:
            self._end_wait(target)
        self._make_owner(target)
        _pass_on(target.semaphore.post, task.semaphore.wait)
        self._has_turn(task)

    def _wait_for_the_world(self, task: Task, point: int) -> None:
        """Let real time pass before a run is said to make no progress.

        What the threads poll for may be done by a process, or by a thread that is not under control; virtual time gives these none.
        """
        self.record.waited = True
        self.unwatched(_sleep, self._grace)
        self._grace = LATER_GRACE
        self.fairness.start_over(task, point)

    def unwatched(self, wait: Callable[..., Any], *arguments: Any) -> Any:
        """Call what makes the calling thread really wait, and the watchdog is not to take it for blocked."""
        awake, self.awake = self.awake, None
        try:
            return wait(*arguments)
        finally:
            self.awake = awake

    def add(self, task: Task) -> None:
        """A thread that the program starts is runnable at once."""
        self.tasks.append(task)
        if self.recording and self.exploring:
            self._span()

    def remove_last(self) -> None:
        """The thread that was added last does not exist."""
        self.tasks.pop()
        if self.recording and self.exploring:
            self._span()

    def note_uncontrolled(self, what: str) -> None:
        """Take note of something that happened outside of control."""
        self.record.uncontrolled = (*self.record.uncontrolled, what)

    def release(self, task: Task) -> None:
        """Let another thread run, because this one cannot; the main thread, if no thread is runnable."""
        self._released(task).semaphore.post()

    def release_and_wait(self, task: Task) -> None:
        """The same, and wait until this thread is woken."""
        _pass_on(self._released(task).semaphore.post, task.semaphore.wait)

    def _released(self, task: Task) -> Task:
        target = self.next_task(task)
        if target is None:
            self.idle = True
            return self.main
        self._make_owner(target)
        return target

    def hand_to(self, target: Task) -> None:
        """Make this task, which is ready, the owner, and wake it."""
        self._make_owner(target)
        target.semaphore.post()

    def _make_owner(self, target: Task) -> None:
        self.owner = target
        if self.recording and self.exploring:
            self._span()
        self.idle = False
        policy = self.policy
        if policy is not None:
            self.fairness.begin_slice(target, self.point)
            self.next = self.fairness.next_point(policy, self.point)

    def next_task(self, current: Task) -> Task | None:
        """The task that runs next, now that the current one cannot; None if no task is runnable."""
        if self.returned:
            self._take_back()
        tasks = self.tasks
        ready = [task for task in tasks if task.state is READY]
        if not self.exploring:
            if self.main.state is READY:
                ready.append(self.main)
            if not ready and (ready := self._later()):
                self.deadlines.end_wait(ready[0])
            return ready[0] if ready else None
        only_daemons = not tasks[-1].root and self._all_done()
        late: list[Task] = []
        beside: list[Task] = []
        if not only_daemons and self.deadlines.any():
            ready = ready and [task for task in tasks if self.deadlines.is_ready(task)]
            beside = self._beside_sleepers(ready) if self.most_sleeps else beside
            ready = ready or beside or self._later()
            late = [task for task in self.deadlines.others(None) if task not in ready]
        if only_daemons or not ready or self.record.refused:
            classify_idle(self.record, tasks, self.takes_part, self.is_idle_worker)
            return None
        policy = self.policy
        assert policy is not None, "exploring needs a policy"
        point = self.point = self.point + 1
        if self.recorder is not None:
            self.recorder.forced(point)
        if point > self.fairness.most_points:
            note_stuck(self.record, tasks, self.takes_part, self.fairness.too_long())
            return None
        offered = beside or ready
        target = offered[0]
        if policy.may_end and not tasks[-1].root and self.may_end_early and not self.record.early_offered and roots_done(tasks):
            self.record.early_offered, offered = True, [*ready, self._early_end]
        if len(offered) > 1 or late or policy.tracks or beside:
            default = ready[0]
            for task in ready:
                if task.index > current.index:
                    default = task
                    break
            target = policy.forced(point, offered, default, late)
            if target is not default:
                self._record_choice(Choice(point, target.index, True), Access("wait", "", 0), None, current)
            if self.recording:
                candidates = tuple([task.index for task in offered])
                self.record.forks.append((point, candidates, target.index, tuple([task.index for task in late])))
        if target is self._early_end:
            self.record.early = True
            return None
        if target.state is not READY:
            self._end_wait(target)
        return target

    def _later(self) -> list[Task]:
        """The tasks that time makes ready.

        When the program's own threads have ended, the invariant or the teardown follows at once, and others have no more than
        `MOST_DELAY`: a timeout of a minute waits for what comes after the run, and so does a thread that wakes again and again,
        such as a heartbeat for the teardown that stops it.
        """
        if self.main.waits_for is END_OF_RUN and not self.tasks[-1].root and roots_done(self.tasks):
            record = self.record
            record.alone += 1
            if record.alone == 1:
                record.alone_until = self.clock.now + MOST_DELAY
            if record.alone > self.most_alone:
                self.most_alone = AGAIN_ALONE
                return []
            if self.exploring and not self.deadlines.due_until(record.alone_until):
                return []
        before = self.clock.now
        ready = self.deadlines.advance()
        if self.children:
            self._let_children_run(self.clock.now - before)
        return ready

    def _beside_sleepers(self, ready: list[Task]) -> list[Task]:
        """Who may run beside the sleeps of a sequential order; empty if nobody sleeps so."""
        if not self.deadlines.sleepers():
            return []
        if able := self.deadlines.beside_sleepers(ready):
            return able
        before = self.clock.now
        due = self.deadlines.pass_beside_sleepers()
        if self.children:
            self._let_children_run(self.clock.now - before)
        return [] if due is None else [due]

    def _let_children_run(self, nanoseconds: int) -> None:
        """Virtual time passes: as much real time does, if a process lives that the threads have started."""
        self.unwatched(self.children.let_run, nanoseconds)

    def _all_done(self) -> bool:
        """Whether only daemons are left."""
        for task in self.tasks:  # noqa: SIM110 # all() of a generator takes three times as long, and every switch calls this
            if task.state is not DONE and not task.daemon:
                return False
        return True

    def _has_turn(self, task: Task) -> None:
        """The calling thread has woken: its turn has come, or the run is over."""
        self.awake = task
        task.frame = None
        if self.aborting:
            raise Abort

    def _take_back(self) -> None:
        """Threads that were blocked outside of control are runnable again, and who waits for nothing else."""
        while self.returned:
            self.returned.popleft().state = READY
        for task in self.tasks:
            if task.waits_for is _OUTSIDE:
                task.state, task.waits_for = READY, None

    def _await_returned(self, task: Task, frame: FrameType) -> None:
        """The calling thread polls for what only a thread can do that is blocked outside of control."""
        task.state, task.waits_for, task.frame, task.spins = PARKED, _OUTSIDE, frame, 0
        self.release_and_wait(task)
        self._has_turn(task)

    def _halt(self, task: Task, frame: FrameType, symptom: str) -> NoReturn:
        """End a run that makes no progress; called by its owner.

        Raises:
            Abort: after the main thread has taken note of it.
        """
        task.frame = frame
        note_stuck(self.record, self.tasks, self.takes_part, symptom)
        self.idle = True
        self.main.semaphore.post()
        task.semaphore.wait()
        raise Abort
