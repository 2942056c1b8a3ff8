"""Runs the threads of a program one at a time, in the order that a policy chooses.

The threads are real; the *owner* is the one that runs, so a run is deterministic. The main thread is a task like the others during
setup, invariant and teardown, so threads that these start or wait for are controlled too.

This is the course of a run, and where the rooms come together: `turns` (whose turn it is) and `controlled` (what the threads call),
`deadlines` and `fairness` (what time and patience decide), `stuck` (what no thread can end), `workers` (the threads), `watchdog`
(what cannot be controlled), `record` (what is kept).
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

from .controlled import Controlled
from .journal import Stage
from .policy import NEVER, Policy
from .record import ScheduleRun
from .registered import rename
from .repeatable import Chance
from .stuck import roots_done, still_left
from .task import BLOCKED_OUTSIDE, END_OF_RUN, PARKED, READY, Task, every_done
from .watchdog import Watchdog
from .workers import Workers

_get_ident = threading.get_ident
_start_joinable = getattr(_thread, "start_joinable_thread", None)  # from 3.13 on, as builds without a GIL


class Engine(Controlled):
    """The threads of one check.

    For each run: `begin`, then the setup, then `run`, then the invariant, then `end`. Only `run` explores.

    Args:
        workers: the number of threads of the program.
        takes_part: whether the code of a file is under test.
        limit: seconds after which a run is ended, if it waits or has really computed for half of them.
        longest: the same for a run that goes on without reports of its steps (`may_go_on_unreported`).
        hangs: whether it counts as hanging then; otherwise it cannot be explored.

    Attributes:
        workers: its threads.
        thread_locals: ``threading.local`` objects of the program, emptied after each run.
        chance: what chance gives to each run.
        release_idle: called with all tasks when exploring has ended.
    """

    __slots__ = ("_served_by", "_watchdog", "chance", "release_idle", "thread_locals", "workers")

    def __init__(
        self, workers: int, takes_part: Callable[[str], bool], limit: float, longest: float = inf, *, hangs: bool = True
    ) -> None:
        super().__init__(takes_part)
        self._served_by: list[Task] = []
        self.chance = Chance()
        self.release_idle: Callable[[list[Task]], None] = lambda tasks: None
        self._watchdog = Watchdog(self, limit, longest, hangs=hangs)
        self.workers = Workers(self, workers)
        self.thread_locals = self.workers.thread_locals

    def __enter__(self) -> Engine:
        self._watchdog.__enter__()  # both before the calling thread is one of ours: it waits for the start of others
        try:
            self.workers.start()
        except BaseException:
            self.__exit__()
            raise
        self.main.ident, self.main.native = _get_ident(), threading.get_native_id()
        self.by_ident[self.main.ident] = self.main
        self.owner = self.main
        return self

    def __exit__(self, *error: object) -> None:
        self.by_ident.pop(self.main.ident or 0, None)
        self.main.ident = None
        self._watchdog.__exit__()
        self.workers.retire()
        self.semaphores.close()
        self.main.semaphore.close()

    @property
    def leaked(self) -> int:
        """The number of threads of earlier runs that did not end."""
        return self.workers.leaked

    @property
    def exhausted(self) -> bool:
        """Whether these are too many."""
        return self.workers.exhausted

    def begin_program(self, threads: int, name: str, takes_part: Callable[[str], bool], *, fresh: bool = False) -> None:
        """The next runs are those of another program: nothing that the last one has taught is known of it.

        Args:
            threads: the number of its own threads.
            name: which decides what chance gives to it.
            takes_part: whether the code of a file is under test.
            fresh: whether each run gets new threads.
        """
        self.takes_part = takes_part
        self.observer = self.recorder = self.journal = None
        self.gil_only = self.may_end_early = False
        self.clock.forget()
        self.fairness.forget_length()
        self.forget_patience()
        self.returned.clear()
        self.workers.begin_program(threads, fresh=fresh)
        waiting = {self.main.ident, *self.workers.idents}
        for ident in [ident for ident in self.by_ident if ident not in waiting]:
            del self.by_ident[ident]  # a thread that has not ended is none of the next program, whenever it goes on
        self.chance.begin_program(name)

    def learn_length(self, steps: int, most: int, longest: int) -> None:
        """Take note of how long the program is.

        Args:
            steps: that it makes if no thread polls: whoever makes many more without a pause polls.
            most: the same in its longest sequential order.
            longest: the points of that, with those at which a thread polled.
        """
        self.fairness.learn_length(steps, most, longest)

    @contextmanager
    def may_go_on_unreported(self, end: Callable[[], None]) -> Iterator[None]:
        """While a run that takes too long with reports of its steps goes on without them (`ScheduleRun.unreported`).

        Args:
            end: ends these reports.
        """
        self._watchdog.unreported = end
        try:
            yield
        finally:
            self._watchdog.unreported = None

    def begin(self) -> None:
        """Begin a new run; what the main thread does from here on belongs to it."""
        self.in_run = True
        if self.journal is not None:
            self.journal.begin(Stage.SETUP)
        self.clock.restart()
        self.children.begin()
        self.chance.begin()
        self.point = 0
        self.next = NEVER
        self.record = ScheduleRun()
        main = self.main
        main.state, main.waits_for, main.deadline = READY, None, None
        self.owner = main
        self.returned.clear()
        self.workers.renew()
        self.tasks[:] = self.workers.tasks
        self._watchdog.begin()

    def in_a_thread(self, job: Callable[[], None]) -> None:
        """Run a part of the setup in a thread of its own, in the place of the main thread."""
        main, caller = self.main, _get_ident()

        def work() -> None:
            main.ident = ident = _get_ident()
            self.by_ident[ident] = main
            rename(caller, ident)  # `current_thread` then returns the caller's thread in here, too
            try:
                job()
            finally:
                rename(ident, caller)
                del self.by_ident[ident]

        # Not a `threading.Thread`: its start and its end wait for locks, on which this build spins for long beside busy processes.
        assert _start_joinable is not None, "only builds without a GIL come here"
        start = _start_joinable
        self.workers.uncontrolled(lambda: start(work).join())

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
        run, before = ScheduleRun(recording, measuring), self.record
        self.record = run
        run.refused = before.refused  # by a thread that the setup has started
        self._served_by = [task for task in self.tasks if task.state is BLOCKED_OUTSIDE]
        if self._served_by:  # otherwise, what was blocked while the setup ran has come back
            run.uncontrolled = before.uncontrolled
        for worker, job in zip(self.workers.tasks, jobs, strict=True):
            worker.job, worker.arguments, worker.error, worker.gil_checked, worker.state = job, arguments, None, True, READY
            worker.spins = 0
        self.recording, self.measuring = recording, measuring
        self.policy = policy
        policy.begin(self.tasks)
        self.sleeps.clear()
        self.deadlines.leaps = self.deadlines.passed = 0
        self.fairness.begin(run)
        if self.journal is not None:
            self.journal.begin(Stage.THREADS)
        self.exploring = True
        self.awake = self.main  # no thread of the run before, which may be the first of this one and still asleep
        self.workers.show()
        self.main.state, self.main.waits_for = PARKED, END_OF_RUN
        if (first := self.next_task(self.main)) is not None:
            self.hand_to(first)
            self._await_end()
        self.exploring = False
        self.workers.hide()
        if self.journal is not None:
            self.journal.begin(Stage.AFTER)
        self.main.state, self.owner = READY, self.main
        run.points = self.point
        for task in self.tasks:
            if task.error is not None:
                run.errors = (*run.errors, (task.index, task.name, task.error))
                run.raised_beneath |= {(task.starter or task).index}
        self.point, self.next = 0, NEVER
        self._watchdog.begin()
        return run

    def end(self) -> None:
        """End the threads that are left: daemons, idle workers of executors, stuck threads."""
        self.in_run = False
        self._watchdog.end()
        if self.tasks[-1].root and every_done(self.tasks):
            return
        self.release_idle(self.tasks)
        self._drain()
        self.record.left = still_left(self.record, self.tasks)
        self.workers.unwind()

    def _drain(self) -> None:
        """Run the remaining runnable threads to their ends, without exploring."""
        self.main.state, self.main.waits_for = PARKED, END_OF_RUN
        self.policy, self.exploring, self.next = None, False, NEVER
        self.idle, self.record.alone = False, 0
        if not self.record.stuck and (task := self.next_task(self.main)) is not None:
            self.hand_to(task)
            self._await_end()
            self._watchdog.end()
        self.main.state, self.owner = READY, self.main

    def _will_come_back(self) -> bool:
        """Whether the end of the run waits for a thread that is blocked outside of control.

        Not for one that was so before the run, when the program's own threads have ended: a server waits for its next client.
        """
        if not (blocked := [task for task in self.tasks if task.state is BLOCKED_OUTSIDE]):
            return False
        return any(task not in self._served_by for task in blocked) or not roots_done(self.tasks)

    def _await_end(self) -> None:
        """Wait until the run is over."""
        self._watchdog.begin()
        while True:
            self.main.semaphore.wait()
            if self.workers.go_on():
                continue
            if self.idle:
                if self.returned:
                    self.release(self.owner)
                elif not self._will_come_back():
                    break
            if self.record.stuck:  # although a thread is blocked outside of control
                break
