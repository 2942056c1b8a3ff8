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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from types import CodeType, FrameType
from typing import Any, Protocol

from ...core.clocks import monotonic, process_time
from ...core.clocks import sleep as _sleep
from ...core.source import frame_place, innermost
from ...core.system import HAS_PROC, read
from ..schedule import CLOCK, Choice, Schedule, checksum
from ..steps import switch_points
from ..steps.visible import Access
from .handoff import HandoffSemaphore
from .journal import Journal, Stage
from .policy import NEVER, Policy
from .repeatable import Chance
from .spinning import PATIENCE, READS, SPINS, WORKS, LoopWatch
from .task import BLOCKED_OUTSIDE, DONE, MAIN, PARKED, READY, SLEEPING, Abort, Task, Uncontrolled
from .virtual_time import WORK, VirtualClock

_get_ident = threading.get_ident
_start, _join = threading.Thread.start, threading.Thread.join
_POLL = 0.005  # seconds between two polls of a run that has not ended
_EXIT_POLL = 0.0002  # seconds between two polls of a thread that is to end
_POLLS_ASLEEP = 3  # consecutive polls at which a thread sleeps, before it counts as blocked outside of control
MOST_POINTS = 5_000_000  # points of a run, after which it is too long
_LIVELOCK, _LIVELOCK_TIMES = 100_000, 50  # points of a livelock: so many, and so many times those of any sequential order
FAIR_STEPS = 200  # consecutive steps of one thread, at least, after which it is watched: does it poll?
_MORE_CHOSEN = 2_000  # points that a run may be longer than others, until only fairness chooses: at random, nobody sees who polls
_LEAP = 1_000_000  # nanoseconds that pass for threads that spin and read a clock; twice as many each further time
_CALMED = 2  # times that each runnable thread must be seen to spin, before nothing but time can help
_RETIRE = 10.0  # seconds that a thread without a job has to end; a busy machine may let it wait
_UNWIND = 0.5  # seconds that a thread of a finished run has to end
_LEAKS = 20  # threads that did not end, after which no more runs are made

CLOCK_READING = Access("read", "the clock", 0)
Place = tuple[CodeType, int]
Observer = Callable[[Task, int, Access, FrameType], None]


class RunRecorder(Protocol):
    """What is told what the threads of a run do beside their visible steps."""

    def goes_on(self, task: Task) -> None:
        """A thread begins, or goes on after a wait."""

    def forced(self, point: int) -> None:
        """At this point the running thread could not continue."""

    def lock(self, lock: Any, deed: Deed) -> None:
        """The running thread does this to a lock."""

    def unknown(self, what: str) -> None:
        """The running thread does what nobody records."""


class Deed(IntEnum):
    """What a thread does to something that others touch too."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2  # a lock, however long that takes
    RELEASE = 3
    WAIT = 4  # for a lock that another thread holds
    TRY = 5  # to acquire a lock without a wait, or to see whether it is free


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
        yields: the number of times that a polling thread had to let another thread run, or time pass.
        wasted: the number of steps in which threads polled.
        uncontrolled: what happened outside of control, one line for each event.
        refused: the operation of the program that cannot be explored at all; empty if there was none.
        choices: (choice, step before which it was made, its code and line, whether no build with a GIL can switch there).
        spans: if recorded: (first point, owner, other runnable threads), each valid until the next one begins.
        forks: if recorded: (point, runnable threads, chosen thread, threads that a delay would make runnable) at each point where
            the owner could not continue.
        readings: if recorded: the points at which code under test read a clock.
        delays: (point, nanoseconds) of each delay.
        reachable: if measured: the points at which a build with a GIL can switch.
        lengths: if measured: the number of visible steps of each task, by index.
        left: non-daemon threads that still waited when the program's own threads had ended.
    """

    points = yields = wasted = 0
    delays: tuple[tuple[int, int], ...] = ()
    errors: Sequence[tuple[int, str, BaseException]] = ()
    stuck = ""
    blocked: tuple[BlockedThread, ...] = ()
    uncontrolled: Sequence[str] = ()
    refused = ""
    left: tuple[BlockedThread, ...] = ()

    def __init__(self, recording: bool = False, measuring: bool = False) -> None:
        self.choices: list[tuple[Choice, Access, Place | None, bool]] = []
        if recording:
            self.spans: list[tuple[int, int, tuple[int, ...]]] = []
            self.forks: list[tuple[int, tuple[int, ...], int, tuple[int, ...]]] = []
            self.readings: list[int] = []
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
        return [anchor_of(access, place) for _, access, place, _ in self.choices]


def anchor_of(access: Access, place: Place | None) -> str:
    """The place of a choice, as in `ScheduleRun.anchors`."""
    where = "" if place is None else f"{place[0].co_qualname}+{place[1] - place[0].co_firstlineno}"
    return f"{where} {access.kind} {access.name}"


class SetupStuck(Exception):
    """The setup or the invariant waits for something that no thread will do."""


class Engine:
    """The threads of one check.

    For each run: `begin`, then the setup, then `run`, then the invariant, then `end`. Only `run` explores.

    Args:
        workers: the number of threads of the program.
        takes_part: whether the code of a file is under test.
        limit: seconds after which a run is ended, if it waits or has really computed for half of them.
        hangs: whether it counts as hanging then; otherwise it cannot be explored.

    Attributes:
        owner: the task that runs; all others wait.
        point: the number of points of this run so far.
        next: the point at which `decide` is to be called.
        exploring: whether the policy is consulted; False during setup, invariant and teardown.
        in_run: whether a run has begun, with its setup, and has not ended.
        acquisitions: the number of times that locks were acquired, in all runs.
        aborting: whether the run is over, so that every waiting thread raises `Abort`.
        clock: the virtual clock.
        gil_only: switch only where a build with a GIL can.
        fresh_threads: start new threads for every run, because reused ones would be noticed.
        fair_steps: consecutive steps of one thread, after which it is watched.
        patience: consecutive steps of one thread, by what it does (`spinning`), after which another thread runs.
        most_chosen: points after which the policy is not asked any more.
        most_points: points after which a run is too long.
        most_virtual_sleeps: times in a run that a sleeping thread continues at once instead of letting others run.
        thread_locals: ``threading.local`` objects of the program, emptied after each run.
        chance: what chance gives to each run.
        release_idle: called with all tasks when exploring has ended.
        is_idle_worker: whether nobody expects this task's thread to end.
        observer: called before every visible step.
        recorder: told what else the threads do: which of them begins, or goes on after a wait, and what becomes of locks.
        tracer: for ``sys.settrace``, up to Python 3.11.
        journal: what notes the choices of each run, in case that the process dies; None if nobody would read it.
    """

    def __init__(self, workers: int, takes_part: Callable[[str], bool], limit: float, *, hangs: bool = True) -> None:
        self.takes_part = takes_part
        self.limit, self.hangs = limit, hangs
        self.leaked = 0
        self.clock = VirtualClock()
        self.observer: Observer | None = None
        self.recorder: RunRecorder | None = None
        self.tracer: Any = None
        self.journal: Journal | None = None
        self.release_idle: Callable[[list[Task]], None] = lambda tasks: None
        self.chance = Chance()
        self.thread_locals: list[threading.local] = []
        self.gil_only = False
        self.fresh_threads = False
        self.fair_steps = FAIR_STEPS
        self.patience = dict(PATIENCE)
        self.most_chosen = MOST_POINTS
        self.most_virtual_sleeps = 0
        self.is_idle_worker: Callable[[Task], bool] = lambda task: False
        self.point = 0
        self.next = NEVER
        self.exploring = self.in_run = False
        self.aborting = False
        self.recording = self.measuring = False
        self.tasks: list[Task] = []
        self.by_ident: dict[int, Task] = {}
        self.by_thread: dict[int, Task] = {}  # threading.Thread's id
        self._policy: Policy | None = None
        self._fair_point = self._slice_begun = 0
        self._loop_watch: LoopWatch | None = None
        self._pause = Task(CLOCK, "time", HandoffSemaphore())  # the candidate that stands for a late reading of a clock
        self._pause.state = SLEEPING
        self.virtual_sleeps = self._leaps = self.acquisitions = 0
        self._idle = False
        self.most_points = MOST_POINTS
        self._run = ScheduleRun()
        self._returned: deque[Task] = deque()
        self._semaphores: list[HandoffSemaphore] = []  # free: their threads have ended
        self._main = Task(MAIN, "the main thread", HandoffSemaphore())
        self.owner = self._main
        self._awake: Task | None = None  # the owner, once it has woken: a hand-off takes long if the giving thread loses its core
        self._cpu = 0.0  # of this process, when the run began
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
        for semaphore in (*self._semaphores, self._main.semaphore, self._pause.semaphore):
            semaphore.close()

    def _retire(self, worker: Task) -> None:
        """End a worker's thread, unless it is stuck in its last run."""
        if worker.state is DONE:
            worker.job = None
            worker.semaphore.post()
            _join(worker.thread, _RETIRE)
            if not worker.thread.is_alive():  # otherwise it still reads the semaphore, and would take what is for another thread
                self._semaphores.append(worker.semaphore)

    def _new_semaphore(self) -> HandoffSemaphore:
        return self._semaphores.pop() if self._semaphores else HandoffSemaphore()

    def begin(self) -> None:
        """Begin a new run; what the main thread does from here on belongs to it."""
        self.in_run = True
        if self.journal is not None:
            self.journal.begin(Stage.SETUP)
        self.clock.restart()
        self.chance.begin()
        self.point = 0
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

    def in_a_thread(self, job: Callable[[], None]) -> None:
        """Run a part of the setup in a thread of its own, in the place of the main thread."""
        main = self._main
        before = main.ident

        def work() -> None:
            main.ident = _get_ident()
            self.by_ident[main.ident] = main
            try:
                job()
            finally:
                del self.by_ident[main.ident]

        thread = threading.Thread(target=work, name="setup", daemon=True)
        managed = self.by_ident.pop(before or 0, None)  # or the new thread would be one of the program
        _start(thread)
        _join(thread)
        main.ident = before
        if managed is not None and before is not None:
            self.by_ident[before] = managed

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
            worker.spins = 0
        self.recording, self.measuring = recording, measuring
        self._policy = policy
        policy.begin(self.tasks)
        self.virtual_sleeps = self._leaps = 0
        self._loop_watch = None
        if self.journal is not None:
            self.journal.begin(Stage.THREADS)
        self.exploring = True
        self._main.state, self._main.waits_for = PARKED, "the end of the run"
        if (first := self._next_task(self._main)) is not None:
            self._hand_to(first)
            self._await_end()
        self.exploring = False
        if self.journal is not None:
            self.journal.begin(Stage.AFTER)
        self._main.state, self.owner = READY, self._main
        run.points = self.point
        for task in self.tasks:
            if task.error is not None:
                run.errors = (*run.errors, (task.index, task.name, task.error))
        self.point, self.next = 0, NEVER
        return run

    def end(self) -> None:
        """End the threads that are left: daemons, idle workers of executors, stuck threads."""
        self.in_run = False
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

    def learn_length(self, steps: int, most: int, longest: int) -> None:
        """Take note of how long the program is.

        Args:
            steps: that it makes if no thread polls: whoever makes many more without a pause polls.
            most: the same in its longest sequential order.
            longest: the points of that, with those at which a thread polled.
        """
        self.most_chosen = 3 * most + _MORE_CHOSEN
        self.most_points = min(MOST_POINTS, max(_LIVELOCK, _LIVELOCK_TIMES * longest))
        self.fair_steps = min(FAIR_STEPS + steps, PATIENCE[READS])
        self.patience = {kind: min(most, FAIR_STEPS + 3 * steps) for kind, most in PATIENCE.items()}

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
        self._cpu, self._started = process_time(), monotonic()
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
        polls, last, moved = 0, (-1, self._main, -1), (0.0, 0.0)
        while not self._watcher_stop.wait(_POLL):
            started = self._started
            if started is None:
                continue
            owner, switches = self.owner, _sleeps(self.owner)
            now = (self.point, owner, switches)
            asleep = switches >= 0 and owner is self._awake and not self._idle
            polls = polls + 1 if now == last and asleep else 0
            moved = (monotonic(), process_time()) if now[:2] != last[:2] else moved
            last = now
            if polls >= _POLLS_ASLEEP and owner is not self._main and owner.state is not BLOCKED_OUTSIDE:
                polls = 0
                self._mark_blocked_outside(owner)
            if self._idle and self._returned:
                self._main.semaphore.post()
            waits = polls > 0 or (self._idle and self._outside())  # a thread that waits for the GIL sleeps for a moment, too
            late = monotonic() - started > self.limit and (waits or process_time() - self._cpu > self.limit / 2)
            if (late or (not HAS_PROC and monotonic() - started > self.limit)) and not self._run.stuck:
                self._run.blocked = tuple(self._describe_blocked(task) for task in self.tasks if task.state is not DONE)
                if not HAS_PROC and not self._idle and not self._computes(monotonic() - moved[0], process_time() - moved[1]):
                    self._run.refused = (
                        f"{owner.name} made no step for {monotonic() - moved[0]:.3g} s, and without /proc it cannot be told "
                        "whether it computes or waits for another thread in an operation out of our control, such as a socket"
                    )
                elif not self.hangs:
                    stays = monotonic() - moved[0] > self.limit / 2
                    at = place(sys._current_frames().get(owner.ident or 0), self.takes_part)
                    self._run.refused = (
                        f"{'a step' if stays else 'a run'} of it has not ended after {self.limit:.3g} s: {owner.name} is at {at}"
                    )
                self._run.stuck = "hangs"
                self._main.semaphore.post()

    def _outside(self) -> bool:
        """Whether the run waits for a thread that is blocked outside of control; if not, it is over once no thread is runnable."""
        return any(task.state is BLOCKED_OUTSIDE for task in self.tasks)

    def _computes(self, seconds: float, cpu: float) -> bool:
        """Whether the owner surely computes, by the CPU time of this process, which nobody else uses."""
        ours = {task.ident for task in self.tasks} | {threading.get_ident(), threading.main_thread().ident}
        return cpu > seconds / 10 and all(thread.ident in ours for thread in threading.enumerate())

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
        self.note_uncontrolled(f"{task.name} was blocked at {where} by an operation that is not under control")
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
        target, policy = task, self._policy
        reads_clock = access is CLOCK_READING
        if policy is not None and policy.next != NEVER and point >= policy.next and point <= self.most_chosen:
            allowed = task.gil_checked or not self.gil_only
            others = self._others(task) if allowed else []
            if reads_clock and self.clock.delays and self.clock.delay:
                others.append(self._pause)
            if others or allowed:
                target = policy.at(point, task, others, access)
            if target is not task:
                self._record_choice(Choice(point, target.index, target is self._pause), access, frame, task)
                task.spins = target.spins = 0
                if target is self._pause:
                    self._delay(self.clock.now + self.clock.delay, task)
                    target = task
        if target is task and point >= self._fair_point:
            target = self._yield_for_fairness(task, access, frame)
        if target is task:
            self._update_next()
            return
        task.frame = frame
        if target.state is not READY:
            self._wake_by_clock(target, task)
        self._hand_to(target)
        self._wait_for_turn(task)
        if self.tracer is not None:
            frame.f_locals  # noqa: B018 # 3.11 writes its copy of closure cells back after a trace function: renew that copy

    def _others(self, task: Task | None) -> list[Task]:
        """The other threads that may run now: runnable ones, and those whose wait ends by its deadline if time passes."""
        found = []
        for other in self.tasks:
            if other is task:
                continue
            state = other.state
            if state is READY or ((state is PARKED or state is SLEEPING) and other.deadline is not None and self._may_end(other)):
                found.append(other)
        return found

    def _may_end(self, task: Task) -> bool:
        """Whether the deadline of this thread may pass although others are runnable."""
        clock, deadline = self.clock, task.deadline
        assert deadline is not None, "the caller has looked"
        if clock.may_reach(deadline):
            return True
        if task.state is not SLEEPING or clock.read or not clock.delays:
            return False
        for other in self.tasks:
            if other.state is PARKED and other.deadline is not None and other.deadline <= deadline:
                return False  # it would time out, although nothing kept the threads that it waits for from running so long
        return True

    def _delay(self, deadline: int, running: Task | None) -> None:
        """Let time pass to a deadline, although a thread is runnable."""
        late = self.clock.delay_to(deadline)
        if late and running is not None:
            self._run.delays = (*self._run.delays, (self.point, late))
        self._time_out_before()

    def _time_out_before(self) -> None:
        """End the waits whose deadlines are past. One that is due this moment may end so, or by what happens this moment."""
        now = self.clock.now
        for task in self.tasks:
            if task.deadline is not None and task.deadline < now and (task.state is PARKED or task.state is SLEEPING):
                task.state, task.deadline, task.timed_out = READY, None, True

    def _wake_by_clock(self, task: Task, running: Task | None) -> None:
        """End the wait of this thread by its deadline."""
        if (deadline := task.deadline) is not None and deadline > self.clock.now:
            self._delay(deadline, running)
        task.state, task.deadline, task.timed_out = READY, None, True

    def await_end_of(self, thread: threading.Thread) -> None:
        """Wait until a thread whose task is done has really ended, which on a busy machine takes as long as it takes."""
        with self.unwatched():
            _join(thread)

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """While the calling thread really waits, and the watcher is not to take it for blocked."""
        awake, self._awake = self._awake, None
        try:
            yield
        finally:
            self._awake = awake

    def note_uncontrolled(self, what: str) -> None:
        """Take note of something that happened outside of control."""
        self._run.uncontrolled = (*self._run.uncontrolled, what)

    def clock_reading(self, frame: FrameType) -> int:
        """The virtual time at which the calling thread reads a clock; a visible step if it is code under test."""
        if self.exploring and self.takes_part(frame.f_code.co_filename):
            self.clock.read = self.clock.matters = True
            task = self.owner
            if self.recording and self.clock.delays and self.clock.delay:
                self._run.readings.append(self.point + 1)
            self.step(CLOCK_READING, frame)
            task.gil_checked = True
        return self.clock.reading()

    def _yield_for_fairness(self, task: Task, access: Access, frame: FrameType) -> Task:
        """Fairness: if a thread polls, run another one, or let time pass if that is what it polls for."""
        if self.point > self.most_points:
            self._halt(self._too_long())
        watch = self._loop_watch
        if watch is None or watch.task is not task:
            self._loop_watch = LoopWatch(task, frame, self.point - self._slice_begun, self.acquisitions)
            self._fair_point = self.point + 1
            return task
        found = watch.step(access, frame, self.acquisitions)
        if found is None:
            self._fair_point = self.point + 1
            return task
        self._loop_watch = None
        steps = self.point - self._slice_begun
        if found is not SPINS:
            task.spins = 0
            if steps < self.patience[found]:
                self._fair_point = self.point + min(steps, self.patience[found] - steps)
                return task
            for other in self.tasks:
                other.spins = 0
            if found is not WORKS:
                self.clock.now += WORK * steps
                self._time_out_before()
        task.spins += found is SPINS
        run = self._run
        run.yields += 1
        run.wasted += steps
        ready = [other for other in self.tasks if other is not task and self._is_ready(other)]
        if task.spins >= _CALMED and all(other.spins >= _CALMED for other in ready):
            self._pass_time()
            ready = [other for other in self.tasks if other is not task and self._is_ready(other)]
        self._slice_begun = self.point
        self._fair_point = self.point + self._slice(task)
        if not ready:
            return task
        return min(ready, key=lambda other: (other.index - task.index) % len(self.tasks))

    def _too_long(self) -> str:
        """The symptom of a run with too many points: a livelock, if every sequential order is much shorter."""
        if self.most_points == MOST_POINTS:
            self._run.refused = f"a run of it has more than {MOST_POINTS:,} visible steps"
        return "livelock"

    def _is_ready(self, task: Task) -> bool:
        return task.state is READY or (task.deadline is not None and task.deadline <= self.clock.now)

    def _slice(self, task: Task) -> int:
        """Steps until this thread is watched. They vary, or it might stand in the same place of its loop each time."""
        varying = self._run.yields % 7
        return 10 + 7 * varying if task.spins else self.fair_steps + 37 * varying

    def _pass_time(self) -> None:
        """Every runnable thread spins, so nothing but time can end their loops.

        Raises:
            Abort: time cannot either.
        """
        clock = self.clock
        waiting = [other for other in self.tasks if other.deadline is not None and other.state is not DONE]
        due = min((other.deadline for other in waiting if other.deadline is not None), default=None)
        if clock.read:  # nobody knows for which time it waits
            later = clock.now + (_LEAP << min(self._leaps, 40))
            clock.now = later if due is None else max(clock.now, min(later, due))
            self._leaps += 1
        elif due is not None:
            clock.now = max(clock.now, due)
        elif any(other.state is BLOCKED_OUTSIDE for other in self.tasks):
            return
        else:
            self._halt("livelock")
        self._time_out_before()
        for other in self.tasks:
            other.spins = 0

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
        masked = frame is not None and choice.thread != CLOCK and not task.gil_checked
        self._run.choices.append((choice, access, place, masked))
        if (journal := self.journal) is not None:
            journal.choice(choice, masked, checksum(anchor_of(access, place)) if journal.keeps_anchors else 0)

    def _hand_to(self, target: Task) -> None:
        self.owner = target
        if self.recording and self.exploring:
            self._span()
        self._idle = False
        self._slice_begun = self.point
        self._fair_point = self.point + self._slice(target)
        self._update_next()
        target.semaphore.post()

    def _update_next(self) -> None:
        """Set the next point at which `decide` is called."""
        policy = self._policy
        if policy is None:
            self.next = NEVER
            return
        asked, fair = policy.next if self.point <= self.most_chosen else NEVER, self._fair_point
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
        others = tuple([task.index for task in self._others(owner)])
        spans, first = self._run.spans, self.point + 1
        if spans and spans[-1][0] == first:
            spans.pop()
        spans.append((first, owner.index, others))

    def park(self, task: Task, waits_for: object, deadline: int | None = None, *, sleeping: bool = False) -> bool:
        """Wait until another thread calls `wake`, or until the deadline.

        Args:
            waits_for: the object that `wake` will be called with; for a text, only the deadline ends the wait.
            deadline: nanoseconds of the virtual clock; None for none.
            sleeping: whether the task waits for the clock alone.

        Returns:
            Whether the deadline ended the wait.
        """
        if self.aborting:
            raise Abort
        if self.owner is not task:  # the watcher has just marked it as blocked
            self._rejoin(task)
        task.state = SLEEPING if sleeping else PARKED
        task.waits_for, task.deadline, task.timed_out, task.spins = waits_for, deadline, False, 0
        self._leaps = 0
        if deadline is not None:
            self.clock.matters = True
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
        if self.recorder is not None and self.exploring:
            self.recorder.goes_on(task)
        return task.timed_out

    def wake(self, waits_for: object) -> None:
        """Make every thread that waits for this object runnable."""
        woken = False
        for task in self.tasks:
            if task.waits_for is waits_for and task.state is PARKED:
                task.state, task.deadline, woken = READY, None, True
        if self._main.waits_for is waits_for and self._main.state is PARKED:
            self._main.state, self._main.deadline = READY, None
        if woken and self.recording and self.exploring:
            self._span()

    def spawn(self, name: str, thread: Any, daemon: bool) -> Task:
        """Register a thread that the code under test starts; it is runnable at once."""
        task = Task(len(self.tasks), name, self._new_semaphore(), daemon=daemon)
        task.thread = thread
        if self.recorder is not None:
            self.recorder.unknown("it starts a thread")
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
        if self.recorder is not None and self.exploring:
            self.recorder.goes_on(task)
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
            if not ready and (ready := self._advance_clock()):
                self._wake_by_clock(ready[0], None)
            return ready[0] if ready else None
        over = len(self.tasks) > len(self._workers) and self._all_done()  # only daemons are left
        late: list[Task] = []
        if not over and self._any_deadline():
            ready = ready and [task for task in self.tasks if self._is_ready(task)]
            ready = ready or self._advance_clock()
            late = [task for task in self._others(None) if task not in ready]
        if over or not ready or self._run.refused:
            self._classify_idle()
            return None
        policy = self._policy
        assert policy is not None, "exploring needs a policy"
        point = self.point = self.point + 1
        if self.recorder is not None:
            self.recorder.forced(point)
        if point > self.most_points:
            self._record_stuck(self._too_long())
            return None
        target = ready[0]
        if len(ready) > 1 or late or policy.tracks:
            default = ready[0]
            for task in ready:
                if task.index > current.index:
                    default = task
                    break
            target = policy.forced(point, ready, default, late)
            if target is not default:
                self._record_choice(Choice(point, target.index, True), Access("wait", "", 0), None, current)
            if self.recording:
                candidates = tuple([task.index for task in ready])
                self._run.forks.append((point, candidates, target.index, tuple([task.index for task in late])))
        if target.state is not READY:
            self._wake_by_clock(target, ready[0])
        return target

    def virtual_sleep(self, nanoseconds: int) -> bool:
        """Whether a sleep of the calling thread lets no other thread run; then the virtual clock has advanced by it."""
        self.clock.matters = True
        if not self.exploring or self.virtual_sleeps >= self.most_virtual_sleeps:
            return False
        self.virtual_sleeps += 1
        self.clock.now += nanoseconds
        self._time_out_before()
        return True

    def _advance_clock(self) -> list[Task]:
        """No task is runnable: advance the virtual clock to the earliest deadline, and return the tasks that are due then."""
        if len(self.tasks) == len(self._workers) and self._every_task_is_done():
            return []
        waiting = [
            task
            for task in (*self.tasks, self._main)
            if task.deadline is not None and (task.state is PARKED or task.state is SLEEPING)
        ]
        if not waiting:
            return []
        due = min(task.deadline for task in waiting if task.deadline is not None)
        self.clock.now = max(self.clock.now, due)
        return [task for task in waiting if task.deadline is not None and task.deadline <= self.clock.now]

    def _any_deadline(self) -> bool:
        for task in self.tasks:  # noqa: SIM110 # all() of a generator takes three times as long, and every switch calls this
            if task.deadline is not None:
                return True
        return False

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
                    if self.recorder is not None:
                        self.recorder.goes_on(task)
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
        text = read(f"/proc/self/task/{task.native}/status")
        facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return int(facts["voluntary_ctxt_switches"]) if facts["State"][0] in "SD" else -1
    except (OSError, KeyError, ValueError):
        return -1
