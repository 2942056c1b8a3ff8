"""Runs the threads of a program one at a time, in the order that a policy chooses.

The threads are real. Each waits on its own semaphore; the *owner* is the one thread that runs. At every *point* (`schedule`) the
policy chooses the next owner, so a run is deterministic. `primitives` reports what the code under test does with threads, locks
and clocks; `events` reports its visible steps. The main thread is a task like the others during setup, invariant and teardown, so
threads that these start or wait for are controlled too.

A schedule cannot control operations that `primitives` does not replace, such as a lock taken in C or a blocking socket read. A
watcher thread polls the owner: an owner that sleeps in the kernel at several consecutive polls is marked as blocked outside of
control, another thread runs, and the run is reported as partly uncontrolled. The blocked thread joins the queue again at its next
visible step.

What does not work: a scheduler thread between the others (two hand-offs for each switch instead of one); telling a blocked thread
from a computing one by elapsed time alone (the machine may be busy, or the computation long).
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, monotonic_ns, time_ns
from time import sleep as _sleep
from types import CodeType, FrameType
from typing import Any

from ...core.source import frame_place, innermost
from ..schedule import Choice, Schedule
from ..steps import switch_points
from ..steps.visible import Access
from .handoff import HandoffSemaphore
from .policy import NEVER, Policy
from .task import BLOCKED_OUTSIDE, DONE, MAIN, PARKED, READY, SLEEPING, Abort, Task, Uncontrolled

_get_ident = threading.get_ident
_start, _join = threading.Thread.start, threading.Thread.join
_POLL = 0.005  # seconds between two polls of a run that has not ended
_EXIT_POLL = 0.0002  # seconds between two polls of a thread that is to end
_POLLS_ASLEEP = 3  # consecutive polls at which a thread sleeps, before it counts as blocked outside of control
MOST_POINTS = 100_000  # points of a run, after which it is a livelock
FAIR_STEPS = 20_000  # consecutive steps of one thread, after which another thread runs: the first one is polling for it
FAIR_STEPS_WHEN_SPINNING = 200  # the same, at least, for a program whose threads are known to poll
_TICK = 1_000_000  # nanoseconds by which the virtual clock advances the first time; twice as many each further time
_UNWIND = 0.5  # seconds that a thread of a finished run has to end
_LEAKS = 20  # threads that did not end, after which no more runs are made

Place = tuple[CodeType, int]
Observer = Callable[[Task, int, Access, FrameType], None]


@dataclass(frozen=True)
class BlockedThread:
    """A thread that waits when no thread of the run is runnable.

    Attributes:
        thread: its name.
        waits_for: what it waits for, as text.
        at: ``"file:line (function)"`` in the code under test.
        holder: the name of the thread that holds what it waits for; empty if none does.
        taken: where the holder acquired it.
        made: where it was created.
    """

    thread: str
    waits_for: str
    at: str
    holder: str = ""
    taken: str = ""
    made: str = ""


class ScheduleRun:
    """The outcome of one run. Not a dataclass: one is made for every schedule, and most attributes keep their defaults.

    Attributes:
        points: the number of points.
        errors: (index, name, exception) of every exception that escaped from a thread.
        stuck: ``"deadlock"``, ``"never ends"``, ``"livelock"`` or ``"hangs"``; empty if the run ended.
        blocked: the threads that waited when the run got stuck.
        yields: the number of times that a polling thread had to let another thread run.
        uncontrolled: what happened outside of control, one line for each event.
        refused: the operation of the program that cannot be explored at all; empty if there was none.
        choices: (choice, step before which it was made, its code and line, whether no build with a GIL can switch there).
        spans: if recorded: (first point, owner, other runnable threads), each valid until the next one begins.
        forks: if recorded: (point, runnable threads, chosen thread) at each point where the owner could not continue.
        reachable: if measured: the points at which a build with a GIL can switch.
        lengths: if measured: the number of visible steps of each task, by index.
        left: non-daemon threads that still waited when the program's own threads had ended.
    """

    points = 0
    errors: Sequence[tuple[int, str, BaseException]] = ()
    stuck = ""
    blocked: tuple[BlockedThread, ...] = ()
    yields = 0
    uncontrolled: Sequence[str] = ()
    refused = ""
    left: tuple[BlockedThread, ...] = ()

    def __init__(self, recording: bool = False, measuring: bool = False) -> None:
        self.choices: list[tuple[Choice, Access, Place | None, bool]] = []
        if recording:
            self.spans: list[tuple[int, int, tuple[int, ...]]] = []
            self.forks: list[tuple[int, tuple[int, ...], int]] = []
        if measuring:
            self.reachable: set[int] = set()
            self.lengths: dict[int, int] = {}

    @property
    def schedule(self) -> Schedule:
        """The choices of this run, as a schedule that can be followed again."""
        return Schedule(tuple(choice for choice, _, _, _ in self.choices))

    @property
    def masked(self) -> bool:
        """Whether a build with a GIL cannot follow this schedule."""
        return any(masked for _, _, _, masked in self.choices)

    @property
    def anchors(self) -> list[str]:
        """The place of each choice, ``"function+line kind name"``, with the line relative to the function."""
        found = []
        for _, access, place, _ in self.choices:
            where = "" if place is None else f"{place[0].co_qualname}+{place[1] - place[0].co_firstlineno}"
            found.append(f"{where} {access.kind} {access.name}")
        return found


class SetupStuck(Exception):
    """The setup or the invariant waits for something that no thread will do."""


class Engine:
    """The threads of one check.

    For each run: `begin`, then the setup, then `run`, then the invariant, then `end`. Only `run` explores.

    Args:
        workers: the number of threads of the program.
        takes_part: whether the code of a file is under test.
        limit: seconds after which a run counts as hanging.

    Attributes:
        owner: the task that runs; all others wait.
        point: the number of points of this run so far.
        next: the point at which `decide` is to be called.
        exploring: whether the policy is consulted; False during setup, invariant and teardown.
        aborting: whether the run is over, so that every waiting thread raises `Abort`.
        elapsed: nanoseconds that the virtual clock has advanced in this run.
        gil_only: switch only where a build with a GIL can.
        fresh_threads: start new threads for every run, because reused ones would be noticed.
        fair_steps: consecutive steps of one thread, after which another thread runs.
        most_points: points after which a run is a livelock.
        most_virtual_sleeps: times in a run that a sleeping thread continues at once instead of letting others run.
        thread_locals: ``threading.local`` objects of the program, emptied after each run.
        release_idle: called with all tasks when exploring has ended.
        is_idle_worker: whether nobody expects this task's thread to end.
        observer: called before every visible step.
        tracer: for ``sys.settrace``, up to Python 3.11.
    """

    def __init__(self, workers: int, takes_part: Callable[[str], bool], limit: float) -> None:
        self.takes_part = takes_part
        self.limit = limit
        self.leaked = 0
        self.clock_base = monotonic_ns(), time_ns()
        self.observer: Observer | None = None
        self.tracer: Any = None
        self.release_idle: Callable[[list[Task]], None] = lambda tasks: None
        self.thread_locals: list[threading.local] = []
        self.gil_only = False
        self.fresh_threads = False
        self.fair_steps = FAIR_STEPS
        self.most_virtual_sleeps = 0
        self.is_idle_worker: Callable[[Task], bool] = lambda task: False
        self.elapsed = 0
        self.point = 0
        self.next = NEVER
        self.exploring = False
        self.aborting = False
        self.recording = self.measuring = False
        self.tasks: list[Task] = []
        self.by_ident: dict[int, Task] = {}
        self.by_thread: dict[int, Task] = {}  # threading.Thread's id
        self._policy: Policy | None = None
        self._fair_point = 0
        self._ticks = self.virtual_sleeps = 0
        self._idle = False
        self.most_points = MOST_POINTS
        self._run = ScheduleRun()
        self._returned: deque[Task] = deque()
        self._semaphores: list[HandoffSemaphore] = []  # free: their threads have ended
        self._main = Task(MAIN, "the main thread", HandoffSemaphore())
        self.owner = self._main
        self._awake: Task | None = None  # the owner, once it has woken: a hand-off takes long if the giving thread loses its core
        self._started: float | None = None  # by the monotonic clock, while the main thread waits for the end of a run
        self._watcher_stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="gilcheck-watch", daemon=True)
        self._workers = [self._worker(index) for index in range(workers)]

    # Called by the main thread.

    def __enter__(self) -> Engine:
        self._main.ident, self._main.native = _get_ident(), threading.get_native_id()
        self.by_ident[self._main.ident] = self._main
        self.owner = self._main
        _start(self._watcher)
        return self

    def __exit__(self, *error: object) -> None:
        self.by_ident.pop(self._main.ident or 0, None)
        self._watcher_stop.set()
        _join(self._watcher)
        for worker in self._workers:
            self._retire(worker)
        for semaphore in (*self._semaphores, self._main.semaphore):
            semaphore.close()

    def _retire(self, worker: Task) -> None:
        """End a worker's thread, unless it is stuck in its last run."""
        if worker.state is DONE:
            worker.job = None
            worker.semaphore.post()
            _join(worker.thread, _UNWIND)
            self._semaphores.append(worker.semaphore)

    def _new_semaphore(self) -> HandoffSemaphore:
        return self._semaphores.pop() if self._semaphores else HandoffSemaphore()

    def begin(self) -> None:
        """Begin a new run; what the main thread does from here on belongs to it."""
        self.elapsed = self.point = 0
        self.next = NEVER
        self._run = ScheduleRun()
        main = self._main
        main.state, main.waits_for, main.deadline = READY, None, None
        self.owner = main
        for index, worker in enumerate(self._workers):
            if worker.state is not DONE or self.fresh_threads:
                self._retire(worker)
                managed = self.by_ident.pop(_get_ident(), None)  # or the new worker would be a thread of the program
                self._workers[index] = self._worker(index)
                if managed is not None:
                    self.by_ident[_get_ident()] = managed
            self._workers[index].state = PARKED
        self.tasks = self._workers[:]

    def run(
        self,
        jobs: Sequence[Callable[..., object]],
        arguments: tuple[Any, ...],
        policy: Policy,
        *,
        recording: bool = False,
        measuring: bool = False,
    ) -> ScheduleRun:
        """Run the jobs, one in each of the program's threads, and every thread that they start, until no thread is runnable.

        Args:
            arguments: what each job is called with.
            recording: keep what a search branches at (``spans``, ``forks``).
            measuring: keep what a search counts (``lengths``, ``reachable``).
        """
        run = self._run = ScheduleRun(recording, measuring)
        for worker, job in zip(self._workers, jobs, strict=True):
            worker.job, worker.arguments, worker.error, worker.gil_checked, worker.state = job, arguments, None, True, READY
        self.recording, self.measuring = recording, measuring
        self._policy = policy
        policy.begin(self.tasks)
        self._ticks = self.virtual_sleeps = 0
        self.exploring = True
        self._main.state, self._main.waits_for = PARKED, "the end of the run"
        if (first := self._next_task(self._main)) is not None:
            self._hand_to(first)
            self._await_end()
        self.exploring = False
        self._main.state, self.owner = READY, self._main
        run.points = self.point
        for task in self.tasks:
            if task.error is not None:
                run.errors = (*run.errors, (task.index, task.name, task.error))
        self.point, self.next = 0, NEVER
        return run

    def end(self) -> None:
        """End the threads that are left: daemons, idle workers of executors, stuck threads."""
        if len(self.tasks) == len(self._workers) and self._every_task_is_done():
            return
        self.release_idle(self.tasks)
        self._drain()
        self.aborting = True
        self.exploring = False
        for task in self.tasks:
            if task.state is DONE:
                continue
            if task.state is not BLOCKED_OUTSIDE:
                self.owner = task
                task.state = READY
                task.semaphore.post()
            if not self._await_one(task) and not (self._interrupt(task) and self._await_one(task)):
                self.leaked += 1
                task.state = BLOCKED_OUTSIDE
                if (lock := getattr(task.thread, "_tstate_lock", None)) is not None:  # up to 3.12, the exit waits for it
                    threading._shutdown_locks.discard(lock)  # type: ignore[attr-defined,unused-ignore]
        for ident in [ident for ident, task in self.by_ident.items() if task.state is DONE and not task.root]:
            del self.by_ident[ident]
        self._semaphores += [task.semaphore for task in self.tasks if task.state is DONE and not task.root]
        self.by_thread.clear()
        self.owner = self._main
        self.aborting = False

    def _interrupt(self, task: Task) -> bool:
        """Raise `Abort` in a thread that computes; returns whether that was possible. A thread blocked in C is not affected."""
        if task.ident is None:
            return False
        asked = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(task.ident), ctypes.py_object(Abort))
        return bool(asked)

    @property
    def exhausted(self) -> bool:
        """Whether too many threads of earlier runs did not end."""
        return self.leaked >= _LEAKS

    def _drain(self) -> None:
        """Run the remaining runnable threads to their ends, without exploring."""
        self._main.state, self._main.waits_for = PARKED, "the end of the run"
        self._policy, self.exploring, self.next = None, False, NEVER
        self._idle = False
        if not self._run.stuck and (task := self._next_task(self._main)) is not None:
            self._hand_to(task)
            self._await_end()
        self._main.state, self.owner = READY, self._main

    def _await_end(self) -> None:
        """Wait until the run is over."""
        self._started = monotonic()
        while True:
            self._main.semaphore.wait()
            if self._idle:
                if self._returned:
                    self._resume_returned()
                elif all(task.state is not BLOCKED_OUTSIDE for task in self.tasks):
                    break
            if self._run.stuck == "hangs":
                break
        self._started = None

    def _watch(self) -> None:
        """Poll long runs, in a thread of its own: mark an owner that is blocked outside of control, and end a run that hangs."""
        polls, last = 0, (-1, self._main, -1)
        while not self._watcher_stop.wait(_POLL):
            started = self._started
            if started is None:
                continue
            owner, switches = self.owner, _sleeps(self.owner)
            now = (self.point, owner, switches)
            asleep = switches >= 0 and owner is self._awake and not self._idle
            polls = polls + 1 if now == last and asleep else 0
            last = now
            if polls >= _POLLS_ASLEEP and owner is not self._main and owner.state is not BLOCKED_OUTSIDE:
                polls = 0
                self._mark_blocked_outside(owner)
            if self._idle and self._returned:
                self._main.semaphore.post()
            if monotonic() - started > self.limit and not self._run.stuck:
                self._run.blocked = tuple(self._describe_blocked(task) for task in self.tasks if task.state is not DONE)
                self._run.stuck = "hangs"
                self._main.semaphore.post()

    def _await_one(self, task: Task) -> bool:
        until = monotonic() + _UNWIND
        while task.state is not DONE:
            if monotonic() > until:
                return False
            _sleep(_EXIT_POLL)
        return True

    def _mark_blocked_outside(self, task: Task) -> None:
        """The owner is blocked outside of our control; let another thread run."""
        ready = [other for other in self.tasks if other.state is READY and other is not task]
        if not ready and not any(other.deadline is not None for other in self.tasks):
            return
        task.state = BLOCKED_OUTSIDE
        frame = sys._current_frames().get(task.ident or 0)
        where = place(frame, self.takes_part)
        self._run.uncontrolled = (
            *self._run.uncontrolled,
            f"{task.name} was blocked at {where} by an operation that is not under control",
        )
        if (target := self._next_task(task)) is not None:
            self._hand_to(target)
        else:
            self._idle = True

    def _resume_returned(self) -> None:
        self._idle = False
        if (target := self._next_task(self.owner)) is not None:
            self._hand_to(target)

    # Called by the threads of the program.

    def current(self) -> Task | None:
        """The calling thread's task, if it is controlled; it is the owner then, at the latest when this returns."""
        task = self.by_ident.get(_get_ident())
        if task is None or task is self.owner:
            return task
        if task.state is BLOCKED_OUTSIDE:
            self._rejoin(task)
            return task
        return None  # the interpreter's own call, in a thread that is about to end

    def step(self, access: Access, frame: FrameType | None = None) -> None:
        """Count a visible step that the calling thread is about to make, and switch if the policy says so.

        Args:
            frame: where the step is; by default the frame of the caller's caller.
        """
        if not self.exploring:
            return
        task = self.owner
        if _get_ident() != task.ident:
            found = self.by_ident.get(_get_ident())
            if found is None or found.state is not BLOCKED_OUTSIDE:
                return
            self._rejoin(found)
            task = found
        point = self.point = self.point + 1
        if self.measuring:
            self._run.lengths[task.index] = self._run.lengths.get(task.index, 0) + (access.kind != "end")
            if task.gil_checked:
                self._run.reachable.add(point)
        if point == self.next:
            self.decide(task, point, access, frame or sys._getframe(2))
        if self.observer is not None:
            self.observer(task, point, access, frame or sys._getframe(2))
        task.gil_checked = False

    def at_switch_point(self, kind: str, name: str) -> None:
        """The hook of `switch_points`: a read inside what is otherwise one step."""
        if not self.exploring or (task := self.current()) is None:
            return
        checked = task.gil_checked
        if kind == switch_points.ITERATE:
            task.gil_checked = False  # for a build with a GIL it is one C call
        elif kind == switch_points.LOOP:
            task.gil_checked = True
        self.step(Access("read", "[]", 0), sys._getframe(2))
        if kind == switch_points.ITERATE:
            task.gil_checked = checked

    def decide(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        """Ask the policy, then the fairness rule, who runs next, before the calling thread makes its step."""
        others = [other for other in self.tasks if other is not task and (other.state is READY or other.state is SLEEPING)]
        target, policy = task, self._policy
        allowed = task.gil_checked or not self.gil_only
        if policy is not None and policy.next != NEVER and point >= policy.next and allowed:
            target = policy.at(point, task, others, access)
            if target is not task:
                self._record_choice(Choice(point, target.index), access, frame, task)
        if target is task and point >= self._fair_point:
            target = self._yield_for_fairness(task, others)
        if target is task:
            self._update_next()
            return
        task.frame = frame
        if target.state is SLEEPING:
            self._wake_sleeper(target)
        self._hand_to(target)
        self._wait_for_turn(task)

    def _yield_for_fairness(self, task: Task, others: list[Task]) -> Task:
        """Fairness: after `fair_steps` consecutive steps of one thread, advance the virtual clock and run another thread."""
        self._fair_point = self.point + self.fair_steps
        self._ticks += 1
        self._run.yields += 1
        self.elapsed += _TICK << min(self._ticks, 20)
        for other in self.tasks:
            if other.deadline is not None and other.deadline <= self.elapsed and other.state is not DONE:
                other.state, other.deadline, other.timed_out = READY, None, True
                others = [*others, other]
        if self.point > self.most_points:
            self._halt("livelock")
        if not others:
            return task
        return min(others, key=lambda other: (other.index - task.index) % len(self.tasks))

    def _halt(self, symptom: str) -> None:
        """End a run that makes no progress; called by its owner.

        Raises:
            Abort: after the main thread has taken note of it.
        """
        task = self.owner
        task.frame = sys._getframe(1)
        self._record_stuck(symptom)
        self._idle = True
        self._main.semaphore.post()
        self._wait_for_turn(task)

    def _record_choice(self, choice: Choice, access: Access, frame: FrameType | None, task: Task) -> None:
        place = None
        if frame is not None:
            if access.line == 0:  # the access of a primitive, whose own frames are ours
                frame = _own(frame, self.takes_part)
            place = frame.f_code, frame.f_lineno or 0
        self._run.choices.append((choice, access, place, not choice.forced and not task.gil_checked))

    def _hand_to(self, target: Task) -> None:
        self.owner = target
        if self.recording and self.exploring:
            self._span()
        self._idle = False
        self._fair_point = self.point + self.fair_steps
        self._update_next()
        target.semaphore.post()

    def _update_next(self) -> None:
        """Set the next point at which `decide` is called."""
        policy = self._policy
        if policy is None:
            self.next = NEVER
            return
        asked, fair = policy.next, self._fair_point
        if asked == NEVER or asked > fair:
            asked = fair
        self.next = asked if asked > self.point else self.point + 1

    def _wait_for_turn(self, task: Task) -> None:
        task.semaphore.wait()
        self._awake = task
        task.frame = None
        if self.aborting:
            raise Abort

    def _span(self) -> None:
        owner = self.owner
        others = tuple([task.index for task in self.tasks if task is not owner and (task.state is READY or task.state is SLEEPING)])
        spans, first = self._run.spans, self.point + 1
        if spans and spans[-1][0] == first:
            spans.pop()
        spans.append((first, owner.index, others))

    def _wake_sleeper(self, task: Task) -> None:
        self.elapsed = max(self.elapsed, task.deadline or 0)
        task.state, task.deadline, task.timed_out = READY, None, True

    def park(self, task: Task, waits_for: object, deadline: int | None = None, *, sleeping: bool = False) -> bool:
        """Wait until another thread calls `wake`, or until the deadline.

        Args:
            waits_for: the object that `wake` will be called with; for a text, only the deadline ends the wait.
            deadline: nanoseconds of the virtual clock; None for none.
            sleeping: whether the task waits for the clock alone, so that a policy may run it at any moment.

        Returns:
            Whether the deadline ended the wait.
        """
        if self.aborting:
            raise Abort
        if self.owner is not task:  # the watcher has just marked it as blocked
            self._rejoin(task)
        task.state = SLEEPING if sleeping else PARKED
        task.waits_for, task.deadline, task.timed_out = waits_for, deadline, False
        task.frame = sys._getframe(1)
        self._release(task)
        task.semaphore.wait()
        self._awake = task
        if self._idle and task is self._main:
            self._idle = False
            task.state = READY
            raise SetupStuck(f"it waits for {self._describe_blocked(task).waits_for}, and no thread is runnable")
        task.waits_for = task.frame = task.deadline = None
        if self.aborting:
            raise Abort
        return task.timed_out

    def wake(self, waits_for: object) -> None:
        """Make every thread that waits for this object runnable."""
        woken = False
        for task in self.tasks:
            if task.waits_for is waits_for and task.state is PARKED:
                task.state, woken = READY, True
        if self._main.waits_for is waits_for and self._main.state is PARKED:
            self._main.state = READY
        if woken and self.recording and self.exploring:
            self._span()

    def spawn(self, name: str, thread: Any, daemon: bool) -> Task:
        """Register a thread that the code under test starts; it is runnable at once."""
        task = Task(len(self.tasks), name, self._new_semaphore(), daemon=daemon)
        task.thread = thread
        self.tasks.append(task)
        if thread is not None:
            self.by_thread[id(thread)] = task
        if self.recording and self.exploring:
            self._span()
        return task

    def task_started(self, task: Task) -> bool:
        """Called first by the thread of this task: wait for its first turn; False if the run is over before that."""
        task.ident, task.native = _get_ident(), threading.get_native_id()
        self.by_ident[task.ident] = task
        task.semaphore.wait()
        self._awake = task
        if self.tracer is not None:
            sys.settrace(self.tracer)
        return not self.aborting

    def task_ended(self, task: Task) -> None:
        """Called last by the thread of this task: hand over to another one."""
        if self.tracer is not None:
            sys.settrace(None)
        outside = task.state is BLOCKED_OUTSIDE
        task.state = DONE
        if task.ident is not None and not task.root:
            self.by_ident.pop(task.ident, None)
            self.wake(task)
        if self.aborting or outside:
            self._main.semaphore.post()
        else:
            self._release(task)

    def refuse(self, what: str) -> None:
        """End the run, because the code under test does what cannot be explored.

        Raises:
            Uncontrolled: in the calling thread.
        """
        self._run.refused = self._run.refused or what
        raise Uncontrolled(what)

    def _rejoin(self, task: Task) -> None:
        """Queue up again, after the calling thread was blocked outside of control."""
        self._returned.append(task)
        task.semaphore.wait()
        self._awake = task
        if self.aborting:
            raise Abort

    def _release(self, task: Task) -> None:
        target = self._next_task(task)
        if target is None:
            self._idle = True
            self._main.semaphore.post()
        else:
            self._hand_to(target)

    def _next_task(self, current: Task) -> Task | None:
        """The task that runs next, now that the current one cannot; None if no task is runnable."""
        while self._returned:
            self._returned.popleft().state = READY
        ready = [task for task in self.tasks if task.state is READY]
        if not self.exploring:
            if self._main.state is READY:
                ready.append(self._main)
            ready = ready or self._advance_clock()
            return ready[0] if ready else None
        over = len(self.tasks) > len(self._workers) and self._all_done()  # only daemons are left
        if not ready and not over:
            ready = self._advance_clock()
        if over or not ready or self._run.refused:
            self._classify_idle()
            return None
        policy = self._policy
        assert policy is not None, "exploring needs a policy"
        point = self.point = self.point + 1
        if point > self.most_points:
            self._record_stuck("livelock")
            return None
        if len(ready) == 1 and not policy.tracks:
            return ready[0]
        default = ready[0]
        for task in ready:
            if task.index > current.index:
                default = task
                break
        target = policy.forced(point, ready, default)
        if target is not default:
            self._record_choice(Choice(point, target.index, True), Access("wait", "", 0), None, current)
        if self.recording and len(ready) > 1:
            self._run.forks.append((point, tuple(task.index for task in ready), target.index))
        return target

    def virtual_sleep(self, nanoseconds: int) -> bool:
        """Whether a sleep of the calling thread lets no other thread run; then the virtual clock has advanced by it."""
        if not self.exploring or self.virtual_sleeps >= self.most_virtual_sleeps:
            return False
        self.virtual_sleeps += 1
        self.elapsed += nanoseconds
        return True

    def _advance_clock(self) -> list[Task]:
        """No task is runnable: advance the virtual clock to the earliest deadline, and return the tasks that it makes runnable."""
        if len(self.tasks) == len(self._workers) and self._every_task_is_done():
            return []
        timed = [task for task in (*self.tasks, self._main) if task.deadline is not None and task.state is not DONE]
        if not timed:
            return []
        due = min(task.deadline for task in timed if task.deadline is not None)
        self.elapsed = max(self.elapsed, due)
        for task in timed:
            if task.deadline is not None and task.deadline <= due:
                task.state, task.deadline, task.timed_out = READY, None, True
        return [task for task in (*self.tasks, self._main) if task.state is READY]

    def _all_done(self) -> bool:
        for task in self.tasks:  # noqa: SIM110 # all() of a generator takes three times as long, and every switch calls this
            if task.state is not DONE and not task.daemon:
                return False
        return True

    def _every_task_is_done(self) -> bool:
        for task in self.tasks:  # noqa: SIM110 # as above
            if task.state is not DONE:
                return False
        return True

    def _classify_idle(self) -> None:
        """Classify a run in which no thread is runnable: finished, stuck, or waiting for a thread that is blocked outside."""
        run = self._run
        if (
            not self.exploring
            or run.stuck
            or self._every_task_is_done()
            or any(task.state is BLOCKED_OUTSIDE for task in self.tasks)
        ):
            return
        if all(task.state is DONE for task in self.tasks if task.root):
            left = [task for task in self.tasks if task.state is not DONE and not task.daemon and not self.is_idle_worker(task)]
            run.left = tuple(self._describe_blocked(task) for task in left)
            return
        self._record_stuck("")

    def _record_stuck(self, symptom: str) -> None:
        run = self._run
        run.blocked = tuple(self._describe_blocked(task) for task in self.tasks if task.state is not DONE)
        run.stuck = symptom or ("deadlock" if any(entry.holder for entry in run.blocked) else "never ends")

    def _describe_blocked(self, task: Task) -> BlockedThread:
        at = place(task.frame, self.takes_part)
        waits_for = task.waits_for
        describe = getattr(waits_for, "describe", None)
        if describe is not None:
            message, holder, taken, made = describe(self)
            return BlockedThread(task.name, message, at, holder, taken, made)
        if isinstance(waits_for, Task):
            return BlockedThread(task.name, f"the end of {waits_for.name}", at)
        return BlockedThread(task.name, "nothing: it computes" if waits_for is None else str(waits_for), at)

    def _worker(self, index: int) -> Task:
        task = Task(index, f"T{index}", self._new_semaphore(), root=True)
        task.state = DONE
        task.thread = threading.Thread(target=self._work, args=(task,), name=f"T{index}", daemon=True)
        _start(task.thread)
        task.thread._daemonic = False  # threads that the program starts inherit this
        return task

    def _work(self, task: Task) -> None:
        task.ident, task.native = _get_ident(), threading.get_native_id()
        self.by_ident[task.ident] = task
        while True:
            task.semaphore.wait()
            self._awake = task
            if task.job is None:
                self.by_ident.pop(task.ident, None)
                return
            try:
                if not self.aborting:
                    if self.tracer is not None:
                        sys.settrace(self.tracer)
                    contextvars.Context().run(task.job, *task.arguments)
            except (Abort, Uncontrolled):
                pass
            except BaseException as error:
                task.error = error
            finally:
                for kept in self.thread_locals:
                    vars(kept).clear()
                self.task_ended(task)


def place(frame: FrameType | None, takes_part: Callable[[str], bool]) -> str:
    """``"file:line (function)"`` of the innermost frame in code under test; of the innermost frame if none is under test."""
    return frame_place(None if frame is None else _own(frame, takes_part))


def _own(frame: FrameType, takes_part: Callable[[str], bool]) -> FrameType:
    return innermost(frame, takes_part) or frame


def _sleeps(task: Task) -> int:
    """The number of times that this thread has gone to sleep, if it sleeps now; -1 if it does not, or if that is unknown."""
    try:
        text = Path(f"/proc/self/task/{task.native}/status").read_text()
        facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return int(facts["voluntary_ctxt_switches"]) if facts["State"][0] in "SD" else -1
    except (OSError, KeyError, ValueError):
        return -1
