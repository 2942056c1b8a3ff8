"""Runs a program's threads one at a time: real threads, of which only the owner of the baton goes on.

A run is deterministic: at every *point* (`schedule`) the policy says who goes on, and nobody else moves. Threads, locks and
clocks of the code under test come here through `primitives`, its bytecode through `events`. The main thread is a task like the
others while it sets up and checks, so what it starts or waits for is under control too.

What a schedule cannot control: a thread that blocks on something that `primitives` does not stand in for (a lock in C, a socket).
The main thread watches: a baton owner that sleeps through several looks is *away*, the baton moves on, and the run is marked as
partly uncontrolled. When it comes back, it queues up at its next step.

What does not work: a scheduler thread in the middle (two hand-overs for each switch instead of one); telling a blocked thread
from a busy one by the clock alone (a busy machine, a long computation).
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

from ..core.source import frame_place, innermost
from . import points
from .baton import Baton
from .policy import NEVER, Policy
from .schedule import Choice, Schedule
from .task import AWAY, DONE, MAIN, PARKED, READY, SLEEPING, Abort, Task, Uncontrolled
from .visible import Access

_get_ident = threading.get_ident
_start, _join = threading.Thread.start, threading.Thread.join
_LOOK = 0.005  # seconds between two looks at a run that does not end
_MOMENT = 0.0002  # seconds
_ASLEEP_LOOKS = 3
LONGEST = 100_000  # points of a run that leads nowhere
FAIR = 20_000  # steps that a thread makes in a row before others get their turn: it waits for them, busily
FAIR_TO_SPINNERS = 200  # the same in a program that is known for that, or at least, where it is known how many are usual
_TICK = 1_000_000  # nanoseconds that the virtual clock gains then
_UNWIND = 0.5  # seconds for the threads of a run that is over to end
_LEAKS = 20  # threads that would not end, before no more runs are tried

Place = tuple[CodeType, int]
Observer = Callable[[Task, int, Access, FrameType], None]


@dataclass(frozen=True)
class Waiting:
    """A thread that waits when nothing goes on.

    Attributes:
        thread: its name.
        wants: what it waits for, in words.
        at: ``"file:line (function)"`` in the code under test.
        holder: who has it: a thread's name, or empty.
        taken: where that one took it.
        made: where it was made.
    """

    thread: str
    wants: str
    at: str
    holder: str = ""
    taken: str = ""
    made: str = ""


class Run:
    """What became of one run. A plain class, because there is one for every schedule, and most stay what they were at first.

    Attributes:
        points: how many there were.
        errors: (index, name, exception) of what escaped from threads.
        stuck: ``"deadlock"``, ``"never ends"``, ``"livelock"``, ``"hangs"``; empty if it ended.
        waiting: who waited for what then.
        yields: how often a thread that waited busily had to let others go on.
        uncontrolled: what happened beyond control, in words; empty if nothing did.
        refused: what the program did that cannot be explored at all; empty if nothing.
        choices: (choice, step that was not made then, code and line of it, whether no build with a GIL can switch there).
        spans: for a recording: (first point, task, others that could go on), each until the next.
        forks: for a recording: (point, who could go on, who did) where the running task could not.
        reachable: for a measurement: the points at which a GIL build can switch.
        lengths: for a measurement: steps made by each task, by index.
        left: non-daemon threads that were still there at the end, with where they wait.
    """

    points = 0
    errors: Sequence[tuple[int, str, BaseException]] = ()
    stuck = ""
    waiting: tuple[Waiting, ...] = ()
    yields = 0
    uncontrolled: Sequence[str] = ()
    refused = ""
    left: tuple[Waiting, ...] = ()

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
        """The choices that were made."""
        return Schedule(tuple(choice for choice, _, _, _ in self.choices))

    @property
    def masked(self) -> bool:
        """Whether a build with a GIL cannot follow this schedule."""
        return any(masked for _, _, _, masked in self.choices)

    @property
    def anchors(self) -> list[str]:
        """The place of each choice, ``"function+line kind name"``: where the function stands in its file does not matter."""
        found = []
        for _, access, place, _ in self.choices:
            where = "" if place is None else f"{place[0].co_qualname}+{place[1] - place[0].co_firstlineno}"
            found.append(f"{where} {access.kind} {access.name}")
        return found


class SetupStuck(Exception):
    """The setup, or the invariant, waits for something that nobody will do."""


class Engine:
    """The threads of one check. `main` is where setup, invariant and teardown belong; `run` explores in between.

    Args:
        workers: how many threads the program has.
        takes_part: whether the code of a file is under test.
        limit: seconds of a run after which it hangs.
    """

    def __init__(self, workers: int, takes_part: Callable[[str], bool], limit: float) -> None:
        self.takes_part = takes_part
        self.limit = limit
        self.leaked = 0
        self.clock_base = monotonic_ns(), time_ns()
        self.observer: Observer | None = None
        self.tracer: Any = None  # for sys.settrace, up to 3.11
        self.settle: Callable[[list[Task]], None] = lambda tasks: None  # called with all tasks when nothing is explored any more
        self.locals: list[threading.local] = []  # what is kept there for a thread must not be found by the next run's
        self.gil_only = False  # switch only where a build with a GIL can
        self.fresh_threads = False  # for each run: where those would not do
        self.fair = FAIR
        self.patience = 0  # times that a thread sleeps alone: others do not go on meanwhile
        self.waits_for_work: Callable[[Task], bool] = lambda task: False  # whether nobody expects a thread to end
        self.elapsed = 0  # of the virtual clock, nanoseconds
        self.point = 0
        self.next = NEVER
        self.exploring = False
        self.aborting = False
        self.recording = self.measuring = False
        self.tasks: list[Task] = []
        self.by_ident: dict[int, Task] = {}
        self.by_thread: dict[int, Task] = {}  # threading.Thread's id
        self._policy: Policy | None = None
        self._fair = 0
        self._ticks = self.naps = 0
        self._idle = False
        self.longest = LONGEST
        self._run = Run()
        self._returned: deque[Task] = deque()
        self._batons: list[Baton] = []  # of threads that have ended
        self._main = Task(MAIN, "the main thread", Baton())
        self.owner = self._main
        self._started: float | None = None  # when the run began, while the main thread waits for its end
        self._watcher_wanted = threading.Event()  # set when it is not any more
        self._watcher = threading.Thread(target=self._watch, name="gilcheck-watch", daemon=True)
        self._workers = [self._worker(index) for index in range(workers)]

    # The main thread's side.

    def __enter__(self) -> Engine:
        self._main.ident, self._main.native = _get_ident(), threading.get_native_id()
        self.by_ident[self._main.ident] = self._main
        self.owner = self._main
        _start(self._watcher)
        return self

    def __exit__(self, *error: object) -> None:
        self.by_ident.pop(self._main.ident or 0, None)
        self._watcher_wanted.set()
        _join(self._watcher)
        for worker in self._workers:
            self._retire(worker)
        for baton in (*self._batons, self._main.baton):
            baton.close()

    def _retire(self, worker: Task) -> None:
        """End a worker's thread, if it is not stuck in its last run."""
        if worker.state is DONE:
            worker.job = None
            worker.baton.post()
            _join(worker.thread, _UNWIND)
            self._batons.append(worker.baton)

    def _baton(self) -> Baton:
        return self._batons.pop() if self._batons else Baton()

    def begin(self) -> None:
        """A new run: what the main thread does from here on belongs to it."""
        self.elapsed = self.point = 0
        self.next = NEVER
        self._run = Run()
        main = self._main
        main.state, main.wants, main.deadline = READY, None, None
        self.owner = main
        for index, worker in enumerate(self._workers):
            if worker.state is not DONE or self.fresh_threads:
                self._retire(worker)
                managed = self.by_ident.pop(_get_ident(), None)  # this thread is ours, and not the program's
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
    ) -> Run:
        """Run the jobs with these arguments, one in each of the program's threads, and everything that they start, until nothing
        goes on.

        Args:
            recording: keep what a search branches at (``spans``, ``forks``).
            measuring: keep what it counts (``lengths``, ``reachable``).
        """
        run = self._run = Run(recording, measuring)
        for worker, job in zip(self._workers, jobs, strict=True):
            worker.job, worker.arguments, worker.error, worker.checked, worker.state = job, arguments, None, True, READY
        self.recording, self.measuring = recording, measuring
        self._policy = policy
        policy.begin(self.tasks)
        self._ticks = self.naps = 0
        self.exploring = True
        self._main.state, self._main.wants = PARKED, "the end of the run"
        if (first := self._pick(self._main)) is not None:
            self._give(first)
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
        """End what is left of the run: daemons, idle workers of executors, threads that are stuck."""
        if len(self.tasks) == len(self._workers) and self._every_task_is_done():
            return
        self.settle(self.tasks)
        self._go_on_quietly()
        self.aborting = True
        self.exploring = False
        for task in self.tasks:
            if task.state is DONE:
                continue
            if task.state is not AWAY:
                self.owner = task
                task.state = READY
                task.baton.post()
            if not self._await_one(task) and not (self._interrupt(task) and self._await_one(task)):
                self.leaked += 1
                task.state = AWAY
                if (lock := getattr(task.thread, "_tstate_lock", None)) is not None:  # up to 3.12: the exit would wait for it
                    threading._shutdown_locks.discard(lock)  # type: ignore[attr-defined,unused-ignore]
        for ident in [ident for ident, task in self.by_ident.items() if task.state is DONE and not task.root]:
            del self.by_ident[ident]
        self._batons += [task.baton for task in self.tasks if task.state is DONE and not task.root]
        self.by_thread.clear()
        self.owner = self._main
        self.aborting = False

    def _interrupt(self, task: Task) -> bool:
        """Raise `Abort` in a thread that computes; whether that could be asked for. One that is blocked in C does not hear it."""
        if task.ident is None:
            return False
        asked = ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(task.ident), ctypes.py_object(Abort))
        return bool(asked)

    @property
    def exhausted(self) -> bool:
        """Whether too many threads would not end."""
        return self.leaked >= _LEAKS

    def _go_on_quietly(self) -> None:
        """Let whatever can still go on do so, unexplored."""
        self._main.state, self._main.wants = PARKED, "the end of the run"
        self._policy, self.exploring, self.next = None, False, NEVER
        self._idle = False
        if not self._run.stuck and (task := self._pick(self._main)) is not None:
            self._give(task)
            self._await_end()
        self._main.state, self.owner = READY, self._main

    def _await_end(self) -> None:
        """Sleep until the run is over."""
        self._started = monotonic()
        while True:
            self._main.baton.wait()
            if self._idle:
                if self._returned:
                    self._readmit()
                elif all(task.state is not AWAY for task in self.tasks):
                    break
            if self._run.stuck == "hangs":
                break
        self._started = None

    def _watch(self) -> None:
        """Look at long runs, in a thread of its own: do they go on?"""
        looks, last = 0, (-1, self._main, -1)
        while not self._watcher_wanted.wait(_LOOK):
            started = self._started
            if started is None:
                continue
            owner, switches = self.owner, _sleeps(self.owner)
            now = (self.point, owner, switches)
            looks = looks + 1 if now == last and switches >= 0 and not self._idle else 0
            last = now
            if looks >= _ASLEEP_LOOKS and owner is not self._main and owner.state is not AWAY:
                looks = 0
                self._pass_over(owner)
            if self._idle and self._returned:
                self._main.baton.post()
            if monotonic() - started > self.limit and not self._run.stuck:
                self._run.waiting = tuple(self._waiting(task) for task in self.tasks if task.state is not DONE)
                self._run.stuck = "hangs"
                self._main.baton.post()

    def _await_one(self, task: Task) -> bool:
        until = monotonic() + _UNWIND
        while task.state is not DONE:
            if monotonic() > until:
                return False
            _sleep(_MOMENT)
        return True

    def _pass_over(self, task: Task) -> None:
        """The owner sleeps, and not for us: somebody else goes on."""
        ready = [other for other in self.tasks if other.state is READY and other is not task]
        if not ready and not any(other.deadline is not None for other in self.tasks):
            return
        task.state = AWAY
        frame = sys._current_frames().get(task.ident or 0)
        where = place(frame, self.takes_part)
        self._run.uncontrolled = (
            *self._run.uncontrolled,
            f"{task.name} was blocked at {where}, by nothing that is under control",
        )
        if (target := self._pick(task)) is not None:
            self._give(target)
        else:
            self._idle = True

    def _readmit(self) -> None:
        self._idle = False
        if (target := self._pick(self.owner)) is not None:
            self._give(target)

    # The side of the threads.

    def current(self) -> Task | None:
        """The calling thread's task, if it is under control now; it has the baton then."""
        task = self.by_ident.get(_get_ident())
        if task is None or task is self.owner:
            return task
        if task.state is AWAY:
            self._come_back(task)
            return task
        return None  # an interpreter's own call in a thread that is about to end

    def step(self, access: Access, frame: FrameType | None = None) -> None:
        """The calling thread is about to make a visible step, in this frame or in that of the caller's caller."""
        if not self.exploring:
            return
        task = self.owner
        if _get_ident() != task.ident:
            found = self.by_ident.get(_get_ident())
            if found is None or found.state is not AWAY:
                return
            self._come_back(found)
            task = found
        point = self.point = self.point + 1
        if self.measuring:
            self._run.lengths[task.index] = self._run.lengths.get(task.index, 0) + 1
            if task.checked:
                self._run.reachable.add(point)
        if point == self.next:
            self.decide(task, point, access, frame or sys._getframe(2))
        if self.observer is not None:
            self.observer(task, point, access, frame or sys._getframe(2))
        task.checked = False

    def iterate(self, kind: str, name: str) -> None:
        """What `points.hook` is: a read inside of what would be one step."""
        if not self.exploring or (task := self.current()) is None:
            return
        checked = task.checked
        if kind == points.ITERATE:
            task.checked = False  # to a build with a GIL it is one call
        elif kind == points.LOOP:
            task.checked = True
        self.step(Access("read", "[]", 0), sys._getframe(2))
        if kind == points.ITERATE:
            task.checked = checked

    def decide(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        """Somebody is to be asked before the calling thread makes its step."""
        others = [other for other in self.tasks if other is not task and (other.state is READY or other.state is SLEEPING)]
        target, policy = task, self._policy
        allowed = task.checked or not self.gil_only
        if policy is not None and policy.next != NEVER and point >= policy.next and allowed:
            target = policy.at(point, task, others, access)
            if target is not task:
                self._note(Choice(point, target.index), access, frame, task)
        if target is task and point >= self._fair:
            target = self._fairly(task, others)
        if target is task:
            self._aim()
            return
        task.frame = frame
        if target.state is SLEEPING:
            self._wake_sleeper(target)
        self._give(target)
        self._wait_for_turn(task)

    def _fairly(self, task: Task, others: list[Task]) -> Task:
        """A thread has made a great many steps in a row: time passes, and it is the others' turn."""
        self._fair = self.point + self.fair
        self._ticks += 1
        self._run.yields += 1
        self.elapsed += _TICK << min(self._ticks, 20)
        for other in self.tasks:
            if other.deadline is not None and other.deadline <= self.elapsed and other.state is not DONE:
                other.state, other.deadline, other.timed_out = READY, None, True
                others = [*others, other]
        if self.point > self.longest:
            self._halt("livelock")
        if not others:
            return task
        return min(others, key=lambda other: (other.index - task.index) % len(self.tasks))

    def _halt(self, trouble: str) -> None:
        """The calling thread finds that the run leads nowhere: it is over.

        Raises:
            Abort: once the main thread has seen it.
        """
        task = self.owner
        task.frame = sys._getframe(1)
        self._stop(trouble)
        self._idle = True
        self._main.baton.post()
        self._wait_for_turn(task)

    def _note(self, choice: Choice, access: Access, frame: FrameType | None, task: Task) -> None:
        place = None
        if frame is not None:
            if access.line == 0:  # of a primitive
                frame = _own(frame, self.takes_part)
            place = frame.f_code, frame.f_lineno or 0
        self._run.choices.append((choice, access, place, not choice.forced and not task.checked))

    def _give(self, target: Task) -> None:
        self.owner = target
        if self.recording and self.exploring:
            self._span()
        self._idle = False
        self._fair = self.point + self.fair
        self._aim()
        target.baton.post()

    def _aim(self) -> None:
        """The next point at which somebody is to be asked."""
        policy = self._policy
        if policy is None:
            self.next = NEVER
            return
        asked, fair = policy.next, self._fair
        if asked == NEVER or asked > fair:
            asked = fair
        self.next = asked if asked > self.point else self.point + 1

    def _wait_for_turn(self, task: Task) -> None:
        task.baton.wait()
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

    def park(self, task: Task, wants: object, deadline: int | None = None, *, sleeping: bool = False) -> bool:
        """The calling thread cannot go on until somebody wakes it, or its time is over; whether it was that."""
        if self.aborting:
            raise Abort
        if self.owner is not task:  # the main thread has just taken it for blocked
            self._come_back(task)
        task.state = SLEEPING if sleeping else PARKED
        task.wants, task.deadline, task.timed_out = wants, deadline, False
        task.frame = sys._getframe(1)
        self._leave(task)
        task.baton.wait()
        if self._idle and task is self._main:
            self._idle = False
            task.state = READY
            raise SetupStuck(f"it waits for {self._waiting(task).wants}, and nothing goes on any more")
        task.wants = task.frame = task.deadline = None
        if self.aborting:
            raise Abort
        return task.timed_out

    def wake(self, wants: object) -> None:
        """Whoever waits for this may look again."""
        woken = False
        for task in self.tasks:
            if task.wants is wants and task.state is PARKED:
                task.state, woken = READY, True
        if self._main.wants is wants and self._main.state is PARKED:
            self._main.state = READY
        if woken and self.recording and self.exploring:
            self._span()

    def spawn(self, name: str, thread: Any, daemon: bool) -> Task:
        """A thread that the code under test starts: it is ready, and goes on when it is its turn."""
        task = Task(len(self.tasks), name, self._baton(), daemon=daemon)
        task.thread = thread
        self.tasks.append(task)
        if thread is not None:
            self.by_thread[id(thread)] = task
        if self.recording and self.exploring:
            self._span()
        return task

    def enter(self, task: Task) -> bool:
        """The calling thread is this task: wait for the first turn; False if the run is over before."""
        task.ident, task.native = _get_ident(), threading.get_native_id()
        self.by_ident[task.ident] = task
        task.baton.wait()
        if self.tracer is not None:
            sys.settrace(self.tracer)
        return not self.aborting

    def leave(self, task: Task) -> None:
        """The calling thread is done with its task."""
        if self.tracer is not None:
            sys.settrace(None)
        away = task.state is AWAY
        task.state = DONE
        if task.ident is not None and not task.root:
            self.by_ident.pop(task.ident, None)
            self.wake(task)
        if self.aborting or away:
            self._main.baton.post()
        else:
            self._leave(task)

    def refuse(self, what: str) -> None:
        """The code under test does what cannot be explored: the run is over.

        Raises:
            Uncontrolled: in the calling thread.
        """
        self._run.refused = self._run.refused or what
        raise Uncontrolled(what)

    def _come_back(self, task: Task) -> None:
        """A thread that was blocked beyond control goes on: it queues up."""
        self._returned.append(task)
        task.baton.wait()
        if self.aborting:
            raise Abort

    def _leave(self, task: Task) -> None:
        target = self._pick(task)
        if target is None:
            self._idle = True
            self._main.baton.post()
        else:
            self._give(target)

    def _pick(self, current: Task) -> Task | None:
        """Who goes on, now that the current task cannot; None if nobody does."""
        while self._returned:
            self._returned.popleft().state = READY
        ready = [task for task in self.tasks if task.state is READY]
        if not self.exploring:
            if self._main.state is READY:
                ready.append(self._main)
            ready = ready or self._let_time_pass()
            return ready[0] if ready else None
        over = len(self.tasks) > len(self._workers) and self._all_done()  # only daemons are left
        if not ready and not over:
            ready = self._let_time_pass()
        if over or not ready or self._run.refused:
            self._conclude()
            return None
        policy = self._policy
        assert policy is not None, "a run that is explored has one"
        point = self.point = self.point + 1
        if point > self.longest:
            self._stop("livelock")
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
            self._note(Choice(point, target.index, True), Access("wait", "", 0), None, current)
        if self.recording and len(ready) > 1:
            self._run.forks.append((point, tuple(task.index for task in ready), target.index))
        return target

    def nap(self, nanoseconds: int) -> bool:
        """Whether the calling thread may sleep alone; then its time has passed."""
        if not self.exploring or self.naps >= self.patience:
            return False
        self.naps += 1
        self.elapsed += nanoseconds
        return True

    def _let_time_pass(self) -> list[Task]:
        """Nobody is ready: whoever waits for the clock alone goes on at its time."""
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
        for task in self.tasks:  # noqa: SIM110 # all() of a generator takes three times as long, and this is asked at every switch
            if task.state is not DONE and not task.daemon:
                return False
        return True

    def _every_task_is_done(self) -> bool:
        for task in self.tasks:  # noqa: SIM110 # likewise
            if task.state is not DONE:
                return False
        return True

    def _conclude(self) -> None:
        """Nobody goes on: is that an end?"""
        run = self._run
        if not self.exploring or run.stuck or self._every_task_is_done() or any(task.state is AWAY for task in self.tasks):
            return
        if all(task.state is DONE for task in self.tasks if task.root):
            left = [task for task in self.tasks if task.state is not DONE and not task.daemon and not self.waits_for_work(task)]
            run.left = tuple(self._waiting(task) for task in left)
            return
        self._stop("")

    def _stop(self, trouble: str) -> None:
        run = self._run
        run.waiting = tuple(self._waiting(task) for task in self.tasks if task.state is not DONE)
        run.stuck = trouble or ("deadlock" if any(entry.holder for entry in run.waiting) else "never ends")

    def _waiting(self, task: Task) -> Waiting:
        at = place(task.frame, self.takes_part)
        wants = task.wants
        described = getattr(wants, "described", None)
        if described is not None:
            words, holder, taken, made = described(self)
            return Waiting(task.name, words, at, holder, taken, made)
        if isinstance(wants, Task):
            return Waiting(task.name, f"the end of {wants.name}", at)
        return Waiting(task.name, "nothing: it goes on and on" if wants is None else str(wants), at)

    def _worker(self, index: int) -> Task:
        task = Task(index, f"T{index}", self._baton(), root=True)
        task.state = DONE
        task.thread = threading.Thread(target=self._work, args=(task,), name=f"T{index}", daemon=True)
        _start(task.thread)
        task.thread._daemonic = False  # its own threads are not daemons by inheritance
        return task

    def _work(self, task: Task) -> None:
        task.ident, task.native = _get_ident(), threading.get_native_id()
        self.by_ident[task.ident] = task
        while True:
            task.baton.wait()
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
                for kept in self.locals:
                    vars(kept).clear()
                self.leave(task)


def place(frame: FrameType | None, takes_part: Callable[[str], bool]) -> str:
    """``"file:line (function)"`` of the innermost frame in code under test; of the innermost at all if there is none."""
    return frame_place(None if frame is None else _own(frame, takes_part))


def _own(frame: FrameType, takes_part: Callable[[str], bool]) -> FrameType:
    return innermost(frame, takes_part) or frame


def _sleeps(task: Task) -> int:
    """How often this thread has gone to sleep by itself, if it sleeps now; -1 if it does not, or the system does not say."""
    try:
        text = Path(f"/proc/self/task/{task.native}/status").read_text()
        facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return int(facts["voluntary_ctxt_switches"]) if facts["State"][0] in "SD" else -1
    except (OSError, KeyError, ValueError):
        return -1
