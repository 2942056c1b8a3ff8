"""The threads that a program runs in: their beginning, their reuse from run to run, and their end.

The program's own threads, the *workers*, wait for the next run instead of ending, because starting a thread costs more than a run.
A thread that a finished run leaves behind is ended: it raises `Abort` where it waits. One that does not end by that is a leak.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from ...core.clocks import monotonic
from ...core.clocks import sleep as _sleep
from ...core.own_builtins import PutBack
from ...core.team import refused_thread
from . import registered
from .controlled import Controlled
from .task import BLOCKED_OUTSIDE, DONE, END_OF_RUN, PARKED, READY, Abort, Task, Uncontrolled

_get_ident = threading.get_ident
_Made = TypeVar("_Made")
_settrace = sys.settrace  # bound here: `undermined` replaces that of the module
_start, _join, _is_alive = threading.Thread.start, threading.Thread.join, threading.Thread.is_alive
_EXIT_POLL = 0.0002  # seconds between two polls of a thread that is to end
_RETIRE = 10.0  # seconds that a thread without a job has to end; a busy machine may let it wait
_UNWIND = 0.5  # seconds that a thread of a finished run has to end
_ASKS_EVERY_THREAD = sys.version_info < (3, 12)  # an exception that is set from outside, where functions are traced
_LEAKS = 20  # threads that did not end, after which no more runs are made


def _raise_in(ident: int) -> bool:
    """Have the interpreter raise `Abort` in a thread, by its number; returns whether there is one."""
    return bool(ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Abort)))


class Workers:
    """The threads of the program of one check.

    Args:
        turns: whose turn it is.
        count: the number of the program's own threads.

    Attributes:
        tasks: the program's own threads.
        by_thread: the tasks of the threads that they start, by the id of the ``threading.Thread``.
        thread_locals: ``threading.local`` objects of the program, emptied after each run.
        leaked: the number of threads that did not end.
        fresh: whether each run gets new threads, which end with their jobs: reused ones would be noticed.
    """

    def __init__(self, turns: Controlled, count: int) -> None:
        self._turns = turns
        self.by_thread: dict[int, Task] = {}
        self.thread_locals: list[threading.local] = []
        self.leaked = 0
        self.fresh = False
        self.tasks: list[Task] = []
        self._count = count
        self._ending: Task | None = None
        self._spare: list[Task] = []  # that the present program does not need
        self._locals: list[weakref.ref[threading.local]] = []  # made in this run
        self._locals_before: list[weakref.ref[threading.local]] = []  # made between runs

    def start(self) -> None:
        """Start the program's own threads, which wait for the first run.

        Raises:
            BadValue: the system does not start that many.
        """
        for index in range(len(self.tasks), self._count):
            try:
                self.tasks.append(self._new(index))
            except (RuntimeError, MemoryError) as error:
                raise refused_thread(index, self._count, error) from error

    def begin_program(self, count: int, *, fresh: bool) -> None:
        """The next runs are those of a program that has so many threads of its own.

        Args:
            fresh: whether each run gets new threads, as far as is known.

        Raises:
            BadValue: the system does not start that many.
        """
        self._count, self.leaked, self.fresh = count, 0, fresh
        every = [*self.tasks, *self._spare]
        self.tasks[:], self._spare[:] = every[:count], every[count:]
        self._locals_before[:] = [each for each in self._locals_before if each() is not None]
        self.uncontrolled(self.start)
        self.hide()

    @property
    def idents(self) -> set[int | None]:
        """The numbers of the threads that wait for a run."""
        return {task.ident for task in (*self.tasks, *self._spare) if task.state is DONE}

    @property
    def exhausted(self) -> bool:
        """Whether too many threads of earlier runs did not end."""
        return self.leaked >= _LEAKS

    # Called by the main thread.

    def renew(self) -> None:
        """Before a run: a new thread for each worker that is stuck in the last one, or for all (`fresh`)."""
        for index, worker in enumerate(self.tasks):
            if worker.state is not DONE or self.fresh or worker.leaves:
                self._retire(worker)
                self.tasks[index] = self.uncontrolled(partial(self._new, index))
            self.tasks[index].state = PARKED
            self.by_thread[id(self.tasks[index].thread)] = self.tasks[index]
        self._locals.clear()
        self.hide()

    def hide(self) -> None:
        """Hide the threads that wait for a job (`registered`)."""
        for worker in self.tasks:
            if worker.state is PARKED or (worker.state is DONE and not worker.leaves):
                registered.hide(worker.thread)

    def show(self) -> None:
        """List the program's threads again, because they begin to run."""
        for worker in self.tasks:
            registered.show(worker.thread)

    def note_local(self, local: threading.local) -> None:
        """Take note of a `threading.local` that is being made."""
        (self._locals if self._turns.in_run else self._locals_before).append(weakref.ref(local))

    def go_on(self) -> bool:
        """Hand over for a thread that ends; returns whether there is one.

        With its thread, what it has stored in a `threading.local` goes, and on a free-threaded build an object that it made ends
        from there on where its last reference does. So nobody goes on before.
        """
        task, self._ending = self._ending, None
        if task is None:
            return False
        with PutBack():
            _join(task.thread, _UNWIND)
        if _is_alive(task.thread):
            self._turns.note_uncontrolled(f"{task.name} has not ended after {_UNWIND:g} s: what it does then waits for something")
        self._turns.release(task)
        return True

    def retire(self) -> None:
        """End the workers that wait for a run."""
        for worker in (*self.tasks, *self._spare):
            self._retire(worker)

    def unwind(self) -> None:
        """End the threads that a run has left: daemons, idle workers of executors, stuck threads."""
        turns = self._turns
        turns.exploring = False
        with turns.changing:  # who comes back from an operation out of control either does so before this, or raises `Abort`
            turns.aborting = True
            while turns.returned:
                turns.returned.popleft().state = READY
        for task in turns.tasks:
            if task.root and task.job is None:  # the first setup has failed, so it waits for its first job
                task.state = DONE
            if task.state is DONE:
                continue
            if task.state is not BLOCKED_OUTSIDE:
                turns.owner = task
                task.state = READY
                task.semaphore.post()
            if not self._ends(task) and not (self._interrupt(task) and self._ends(task)):
                self.leaked += 1
                task.state = BLOCKED_OUTSIDE
                if _ASKS_EVERY_THREAD:
                    self._ask_no_more()
                if (lock := getattr(task.thread, "_tstate_lock", None)) is not None:  # up to 3.12, the exit waits for it
                    threading._shutdown_locks.discard(lock)  # type: ignore[attr-defined,unused-ignore]
        for task in turns.tasks:
            if task.state is DONE and not task.root:
                turns.semaphores.give_back(task.semaphore)
        self.by_thread.clear()
        turns.owner = turns.main
        turns.aborting = False

    def uncontrolled(self, start: Callable[[], _Made]) -> _Made:
        """Call what starts a thread that is none of the program."""
        by_ident, ident = self._turns.by_ident, _get_ident()
        task = by_ident.pop(ident, None)
        if task is not None:
            task.ident = None
        try:
            return start()
        finally:
            if task is not None:
                task.ident, by_ident[ident] = ident, task

    def _new(self, index: int) -> Task:
        task = Task(index, f"T{index}", self._turns.semaphores.take(), root=True)
        task.state = DONE
        with PutBack():
            task.thread = threading.Thread(target=self._work, args=(task,), name=f"T{index}", daemon=True)
            _start(task.thread)
        task.thread._daemonic = False  # threads that the program starts inherit this
        return task

    def _retire(self, worker: Task) -> None:
        """End a worker's thread, unless it is stuck in its last run."""
        if worker.state is DONE:
            worker.job = None
            if not worker.leaves:
                worker.semaphore.post()
            _join(worker.thread, _RETIRE)
            if not _is_alive(worker.thread):  # otherwise it still reads the semaphore, and would take what is for another thread
                self._turns.semaphores.give_back(worker.semaphore)

    def _interrupt(self, task: Task) -> bool:
        """Raise `Abort` in a thread that computes; returns whether that was possible. A thread blocked in C is not affected."""
        return task.ident is not None and _raise_in(task.ident)

    def _ask_no_more(self) -> None:
        """Take an exception in the calling thread: until a thread takes one, each one is asked to look for its own.

        On 3.11, a function that is traced looks for ever then, as it begins. A thread that comes back from C asks anew for its own.
        """
        try:
            _raise_in(_get_ident())
            while True:
                pass
        except Abort:
            pass

    def _ends(self, task: Task) -> bool:
        """Whether this thread ends in time."""
        until = monotonic() + _UNWIND
        while task.state is not DONE:
            if monotonic() > until:
                return False
            _sleep(_EXIT_POLL)
        return True

    # Called by the threads of the program.

    def spawn(self, name: str, thread: Any, daemon: bool, function: Any) -> Task:
        """Register a thread that the code under test starts; it is runnable at once.

        Args:
            function: what it calls.
        """
        turns = self._turns
        task = Task(len(turns.tasks), name, turns.semaphores.take(), daemon=daemon)
        task.thread, by = thread, turns.owner
        task.starter = by if by.root else by.starter
        if thread is not None:
            self.by_thread[id(thread)] = task
        if turns.recorder is not None:
            turns.recorder.lives.starts(task, function)
        turns.add(task)
        return task

    def not_started(self, task: Task, before: Task | None) -> None:
        """Take back a `spawn`: there is no such thread. No step was made since.

        Args:
            before: the task that the same ``threading.Thread`` has had.
        """
        turns = self._turns
        assert turns.tasks[-1] is task, "whoever starts a thread makes no step meanwhile"
        turns.remove_last()
        turns.semaphores.give_back(task.semaphore)
        if before is not None:
            self.by_thread[id(task.thread)] = before
        else:
            self.by_thread.pop(id(task.thread), None)

    def started(self, task: Task) -> bool:
        """Called first by the thread of this task: wait for its first turn; False if the run is over before that."""
        self._enrol(task)
        task.semaphore.wait()
        return self._begins(task)

    def ended(self, task: Task) -> None:
        """Called last by the thread of this task: hand over to another one."""
        turns = self._turns
        if turns.tracer is not None:
            if sys.gettrace() != turns.tracer and not (turns.aborting or turns.record.stuck or turns.record.refused):
                turns.note_uncontrolled(f"{task.name} lost its trace function, by sys.settrace or at the recursion limit")
            _settrace(None)
        try:
            turns.current()  # it may have been blocked outside of control
        except Abort:
            pass  # not `suppress`: three calls, at each end of a thread
        if turns.recorder is not None and turns.exploring:
            turns.recorder.lives.ends(task)
        if self.thread_locals or self._locals or self._locals_before:
            made = (*self._locals, *self._locals_before)
            for kept in (*self.thread_locals, *(local for each in made if (local := each()) is not None)):
                vars(kept).clear()
        task.leaves = self.fresh or not task.root  # before it is done: who sees that may look at this
        task.state = DONE
        if task.leaves:
            turns.by_ident.pop(_get_ident(), None)
            task.ident = None
        turns.wake(task)
        if turns.aborting:
            return
        if self.fresh and task.thread is not None and turns.main.waits_for is END_OF_RUN:
            self._ending = task
            turns.main.semaphore.post()
        else:
            turns.release(task)

    def _enrol(self, task: Task) -> None:
        """From here on the calling thread is under control."""
        task.ident, task.native = _get_ident(), threading.get_native_id()
        self._turns.by_ident[task.ident] = task

    def _begins(self, task: Task) -> bool:
        """The first turn of this task has come; False if the run is over before that."""
        turns = self._turns
        turns.awake = task
        if turns.aborting:
            return False
        if turns.recorder is not None and turns.exploring:
            turns.recorder.goes_on(task)
        if turns.tracer is not None:
            _settrace(turns.tracer)
        return True

    def _work(self, task: Task) -> None:
        self._enrol(task)
        while True:
            task.semaphore.wait()
            if task.job is None:
                self._turns.by_ident.pop(_get_ident(), None)
                registered.show(task.thread)
                return
            try:
                if self._begins(task):
                    contextvars.Context().run(task.job, *task.arguments)
            except (Abort, Uncontrolled):
                pass
            except BaseException as error:
                task.error = error
            finally:
                self.ended(task)
            if task.leaves:
                registered.show(task.thread)  # it was hidden if it waited when its run got stuck
                return
