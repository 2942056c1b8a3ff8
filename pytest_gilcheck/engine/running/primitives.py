"""Replacements for locks, threads and clocks while a program is explored.

Each replacement does what the real primitive does, except that a thread never blocks: it parks in the engine. A `Lock` here holds
a real lock; a thread that cannot acquire it parks until it is free. So a lock that outlives its check, or is used by a thread that
is not controlled, behaves as that real lock.

Everything else in the standard library that waits is built on these (conditions, events, semaphores, barriers, queues, futures,
executors, timers), and needs no replacement.
"""

from __future__ import annotations

import _queue
import _thread
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from types import FrameType, GenericAlias, TracebackType
from typing import Any, TypeVar

from ...core.classes import is_a
from ...core.clocks import PUBLIC, wall_time_ns
from ...core.origin import ours, standard
from ...core.source import frame_place, innermost
from ..bytecode.visible import BOUNDARY, Access
from .engine import Engine
from .places import place
from .record import Deed
from .task import DONE, Abort, Task, Uncontrolled

_TRAVELLED = 1_000_000_000  # nanoseconds between the date and what the program is told from which on a test has chosen its date
_ACQUIRE = Access("write", "a lock", 0)
_QUEUE = Access("write", "a queue", 0)
_THREAD = Access("read", "the end of a thread", 0)
_WITH_CALLS = sys.version_info >= (3, 14)  # a with statement enters by a call instruction
active: Engine | None = None  # the engine of the current check
paused: Engine | None = None  # the same, while what runs is not of the check, but between two programs
Identity = tuple[tuple[str, int, str, int], ...]  # file, line, function, instruction: of a creation and of the calls that led to it
told_apart = False  # whether locks are, which takes time whenever one is made: if they may be taken away
disabled_lock: Identity | None = None  # of the locks that do nothing now

_allocate_lock = _thread.allocate_lock
_RLock = threading._CRLock or threading._PyRLock  # type: ignore[attr-defined]
_start_new_thread = _thread.start_new_thread
_start_joinable = getattr(_thread, "start_joinable_thread", None)
_join, _is_alive = threading.Thread.join, threading.Thread.is_alive
_get_ident = threading.get_ident
_BETWEEN_UPDATES = 0.1  # seconds, virtual ones
_WAIT, _CONDITION = threading.Condition.wait.__code__, threading.Condition.__init__.__code__
locks_used: dict[Identity, str] = {}  # where the program created the locks that it has acquired, in order of first use


def _current() -> tuple[Engine, Task] | None:
    engine = active
    if engine is None:
        return None
    task = engine.current()
    return None if task is None else (engine, task)


def pause(engine: Engine) -> None:
    """From here on, all that is replaced does what the real one does, until `resume`."""
    global active, paused
    active, paused = None, engine


def resume(engine: Engine) -> None:
    """What follows belongs to the check again."""
    global active, paused
    active, paused = engine, None


def _made_for_the_check() -> bool:
    """Whether what is being made may be of a program: also between two programs, the next of which may use it."""
    engine = paused
    return _current() is not None if engine is None else engine.main.ident == _get_ident()


class Lock:
    """A lock of the program under test.

    Args:
        real: the lock to wrap; None makes a new one.
        where: ``"file:line (function)"`` where it was created, or the name under which it was found.
        number: which of those that were found under that name.
    """

    kind = "a lock"

    def __new__(cls, real: Any = None, where: str | None = None, number: int = 0) -> Any:
        """A `Lock`, or a real lock for a thread that is not controlled."""
        ours = real is not None or (
            _made_for_the_check() and not sys._getframe(1).f_code.co_filename.startswith("<frozen importlib")
        )
        return object.__new__(cls) if ours else cls._plain()  # an import holds a lock in C meanwhile, and counts as one step

    def __init__(self, real: Any = None, where: str | None = None, number: int = 0) -> None:
        self._real = self._plain() if real is None else real
        self._where = _creation_place() if where is None else where
        self._holder: Task | None = None
        self._taken = ""
        self._hash: int | None = None
        maker = sys._getframe(1)
        if maker.f_code is _WAIT:
            self.kind = "a notification"
        self._identity: Identity = ()  # of none that could be taken away
        if told_apart and where is not None:
            self._identity = ((where, 0, "", number),)
        elif told_apart and _made_by_program(maker):
            self._identity = _identity(maker)

    def __hash__(self) -> int:
        if self._hash is None:
            found = _current()
            self._hash = object.__hash__(self) if found is None or not found[0].in_run else found[0].chance.next_number()
        return self._hash

    # For `isinstance` and a type that the program has kept: ``LockType = type(threading.Lock())``.
    __class__: Any = property(lambda self: type(self._real))

    @staticmethod
    def _plain() -> Any:
        return _allocate_lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if (found := _current()) is None:
            return self._real.acquire(blocking, timeout)  # type: ignore[no-any-return]
        engine, task = found
        if self._identity == disabled_lock:
            engine.step(_ACQUIRE, sys._getframe(1))
            self._report(engine, Deed.TRY)
            self._real.acquire(False)
            return True
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout is not None and timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if self._identity:
            locks_used[self._identity] = self._where
        frame = sys._getframe(1)
        outer = frame.f_back if frame.f_code is _ENTER else frame
        in_library = outer is not None and not engine.takes_part(outer.f_code.co_filename)
        if in_library:
            task.gil_checked = True  # it has entered a function
        engine.step(_ACQUIRE, frame)
        deadline = None if timeout is None or timeout < 0 else engine.clock.now + int(timeout * 1e9)
        tries = not blocking or deadline is not None
        while not self._real.acquire(False):
            self._report(engine, Deed.TRY if tries else Deed.WAIT)
            if not blocking or timeout == 0 or engine.park(task, self, deadline):
                return False
            task.gil_checked = True
        if tries:
            self._report(engine, Deed.TRY)
        self._report(engine, Deed.ACQUIRE)
        if in_library or outer is frame or _WITH_CALLS:
            task.gil_checked = True  # after a call of C
        engine.acquisitions += 1
        self._holder = task
        if engine.observer is not None:  # only a recorded run needs it, and it is slow
            self._taken = place(frame, engine.takes_part)
        return True

    def release(self) -> None:
        if self._identity == disabled_lock and not self._real.locked():
            return
        self._release_real()
        self._holder, self._taken = None, ""
        self._released()

    def _release_real(self) -> None:
        """Release the lock.

        Raises:
            RuntimeError: nobody has acquired it, or another thread; in which case that is what it has shown to this one.
        """
        try:
            self._real.release()
        except RuntimeError:
            if (found := _current()) is not None:
                self._report(found[0], Deed.TRY)
            raise

    def _report(self, engine: Engine, deed: Deed) -> None:
        if engine.recorder is not None and engine.exploring:
            engine.recorder.lock(self, deed)

    def _released(self) -> None:
        if (engine := active) is not None:
            owner = engine.owner  # who is not may have been blocked outside of control, and wakes nobody before its turn
            task = owner if owner.ident == _get_ident() else engine.regain()
            self._report(engine, Deed.RELEASE)
            engine.wake(self)
            if task is not None:
                task.gil_checked = True  # after a call of C, or in a function of the standard library
                if (pauses := engine.fairness.pauses) is not None:
                    pauses.only_waits(task, sys._getframe(1))

    def locked(self) -> bool:
        if (found := _current()) is not None:
            found[0].step(_ACQUIRE, sys._getframe(1))
            self._report(found[0], Deed.TRY)
        return self._real.locked()  # type: ignore[no-any-return]

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._real._at_fork_reinit()

    def __repr__(self) -> str:
        return f"<{'locked' if self._real_locked() else 'unlocked'} {self.kind} made at {self._where}>"

    def _real_locked(self) -> bool:
        return repr(self._real).startswith("<locked")

    def describe(self) -> tuple[str, str, str, str]:
        """What it is, the name of its holder, where the holder acquired it, and where it was created."""
        if self._holder is None or self.kind == "a notification":
            return self.kind, "", "", self._where
        ended = " (which has ended)" if self._holder.state is DONE else ""
        return self.kind, self._holder.name + ended, self._taken, self._where

    acquire_lock, release_lock, locked_lock = acquire, release, locked  # the names that these had first, which the real one has


_ENTER = Lock.__enter__.__code__


class RLock(Lock):
    """A re-entrant lock of the program under test."""

    kind = "a re-entrant lock"

    @staticmethod
    def _plain() -> Any:
        return _RLock()

    def release(self) -> None:
        if self._identity == disabled_lock and not self._real._is_owned():
            return
        self._release_real()
        if active is not None and not self._real_locked():
            self._holder, self._taken = None, ""
            self._released()

    def _is_owned(self) -> bool:
        return self._real._is_owned() or self._identity == disabled_lock

    def _recursion_count(self) -> int:
        return self._real._recursion_count()  # type: ignore[no-any-return]

    def _release_save(self) -> Any:
        if self._identity == disabled_lock and not self._real._is_owned():
            return None
        state = self._real._release_save()
        self._holder, self._taken = None, ""
        self._released()
        return state

    def _acquire_restore(self, state: Any) -> None:
        if state is None:
            return
        if _current() is None:
            self._real._acquire_restore(state)
            return
        self.acquire()
        for _ in range(state[0] - 1):
            self._real.acquire()


class SimpleQueue:
    """``queue.SimpleQueue`` of the program under test."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __new__(cls) -> Any:
        return object.__new__(cls) if _made_for_the_check() else _queue.SimpleQueue()

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._count = threading.Semaphore(0)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        _used(sys._getframe(1))
        self._items.append(item)
        self._count.release()  # up to here, the item is nowhere to be seen

    def put_nowait(self, item: Any) -> None:
        _used(sys._getframe(1))
        self._items.append(item)
        self._count.release()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if not self._count.acquire(block, timeout if block else None):
            raise _queue.Empty
        return self._items.popleft()

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        _used(sys._getframe(1))
        return not self._count._value

    def qsize(self) -> int:
        _used(sys._getframe(1))
        return self._count._value


def boundary(frame: FrameType) -> None:
    """A step of this frame between two operations of a thread, which touches nothing."""
    if (found := _current()) is not None:
        found[0].step(BOUNDARY, frame)
        found[1].gil_checked = True


def _used(frame: FrameType) -> None:
    """A step: what this frame does with a queue, which no lock shows."""
    if (found := _current()) is not None:
        found[0].step(_QUEUE, frame)


def sleep(seconds: float) -> None:
    """``time.sleep``, by the virtual clock: the calling thread waits, and others may run before it or not."""
    if (found := _current()) is None:
        PUBLIC["sleep"](seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    engine, task = found
    task.gil_checked = True
    engine.sleep(task, int(seconds * 1e9), f"a sleep of {seconds:g} s")


def _reading(name: str, frame: FrameType) -> int:
    """The nanoseconds of a clock, read by this frame: of the virtual clock, if the thread is controlled.

    Args:
        name: of the function of the module ``time`` that reads it, and returns nanoseconds.
    """
    engine = active
    if engine is None or engine.current() is None:
        return int(PUBLIC[name]())
    now = engine.clock_reading(frame)
    if name != "time_ns":
        return engine.clock.base[0] + now
    told = int(PUBLIC[name]())
    return told if abs(told - wall_time_ns()) > _TRAVELLED else engine.clock.base[1] + engine.clock.set_by + now


def now_of_caller(frame: FrameType) -> float:
    """Seconds of the wall clock, read by this frame."""
    return _reading("time_ns", frame) / 1e9


def monotonic() -> float:
    return _reading("monotonic_ns", sys._getframe(1)) / 1e9


def monotonic_ns() -> int:
    return _reading("monotonic_ns", sys._getframe(1))


def wall_clock() -> float:
    return _reading("time_ns", sys._getframe(1)) / 1e9


def wall_clock_ns() -> int:
    return _reading("time_ns", sys._getframe(1))


def perf_counter() -> float:
    return _reading("perf_counter_ns", sys._getframe(1)) / 1e9


def perf_counter_ns() -> int:
    return _reading("perf_counter_ns", sys._getframe(1))


def process_time() -> float:
    return _reading("process_time_ns", sys._getframe(1)) / 1e9


def process_time_ns() -> int:
    return _reading("process_time_ns", sys._getframe(1))


def clock_gettime_ns(which: int) -> int:
    if active is None or active.current() is None:
        return int(PUBLIC["clock_gettime_ns"](which))
    return _reading("time_ns" if which == 0 else "monotonic_ns", sys._getframe(1))  # 0 is CLOCK_REALTIME, everywhere


def clock_gettime(which: int) -> float:
    if active is None or active.current() is None:
        return float(PUBLIC["clock_gettime"](which))
    return _reading("time_ns" if which == 0 else "monotonic_ns", sys._getframe(1)) / 1e9


def clock_settime_ns(which: int, value: int) -> None:
    """``time.clock_settime_ns``: a program under test sets the virtual clock. That of the machine belongs to others as well."""
    if (found := _current()) is None:
        PUBLIC["clock_settime_ns"](which, value)
    else:
        clock = found[0].clock
        clock.matters, clock.set_by = True, value - clock.base[1] - clock.now


def clock_settime(which: int, value: float) -> None:
    if _current() is None:
        PUBLIC["clock_settime"](which, value)
    else:
        clock_settime_ns(which, int(value * 1e9))


class Local(_thread._local):
    """``threading.local``: what a thread has stored in it goes when the thread ends, and the check's own threads do not."""

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Local:
        made = super().__new__(cls, *args, **kwargs)
        engine = active or paused
        if engine is not None and cls.__init__ is object.__init__:  # otherwise, each thread that looks at it runs `__init__`
            engine.workers.note_local(made)
        return made


Local.__name__, Local.__qualname__, Local.__module__ = "local", "local", "_thread"
_Handle = TypeVar("_Handle")


def start_new_thread(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> int:
    """``_thread.start_new_thread``."""
    keywords = keywords or {}
    if (found := _current()) is None:
        return _start_new_thread(function, arguments, keywords)

    def start(body: Any) -> int:
        return _start_new_thread(body, ())

    return _start_under_control(found[0], lambda: function(*arguments, **keywords), function, start)


def start_joinable_thread(function: Any, handle: Any = None, daemon: bool = True) -> Any:
    """``_thread.start_joinable_thread``, of 3.13 and later."""
    assert _start_joinable is not None, "this replaces a function that exists"
    if (found := _current()) is None:
        return _start_joinable(function, handle=handle, daemon=daemon)
    start = partial(_start_joinable, handle=handle, daemon=True)  # a thread that gets stuck must not keep the interpreter alive
    return _start_under_control(found[0], function, function, start)


def _start_under_control(engine: Engine, call: Any, function: Any, start: Callable[[Any], _Handle]) -> _Handle:
    """Start a thread under control. If there is none, as of a handle that was started before, it is none of the run."""
    thread = getattr(function, "__self__", None)
    if not is_a(thread, threading.Thread):
        thread = None
    count = len(engine.tasks)
    workers, name = engine.workers, f"T{count}" if thread is None else f"T{count} ({thread.name})"
    before = workers.by_thread.get(id(thread))
    task = workers.spawn(name, thread, thread is None or thread.daemon)

    def body() -> None:
        try:
            if workers.started(task):
                call()
        except (Abort, Uncontrolled):
            pass
        except BaseException as error:
            task.error = error
        finally:
            workers.ended(task)

    try:
        return start(body)
    except BaseException:
        workers.not_started(task, before)
        raise


def join(thread: threading.Thread, timeout: float | None = None) -> None:
    """``Thread.join``."""
    found = _current()
    task = None if found is None else found[0].workers.by_thread.get(id(thread))
    if found is None or task is None:
        _join(thread, timeout)
        return
    engine, me = found
    if task is me:
        raise RuntimeError("cannot join current thread")
    deadline = None if timeout is None else engine.clock.now + int(max(0.0, timeout) * 1e9)
    while task.state is not DONE:
        if engine.park(me, task, deadline):
            return
    if engine.workers.fresh or not task.root:  # otherwise, its thread waits for the next run
        engine.await_end_of(thread)


def is_alive(thread: threading.Thread) -> bool:
    """``Thread.is_alive``: a thread has ended with its last step, and not when the system has done with it."""
    found = _current()
    task = None if found is None else found[0].workers.by_thread.get(id(thread))
    if found is None or task is None:
        return _is_alive(thread)
    found[0].step(_THREAD, sys._getframe(1))
    return task.state is not DONE


def is_executor_worker(task: Task) -> bool:
    """Whether a task's thread is an executor's worker, which waits for work until the interpreter exits."""
    return task.thread in getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", ())


def release_idle_workers(tasks: list[Task]) -> None:
    """End the workers of executors that wait for work, as the interpreter does at its exit."""
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
    for task in tasks:
        if task.state is not DONE and (queue := queues.get(task.thread)) is not None:
            executor = task.thread._args[0]() if getattr(task.thread, "_args", None) else None
            if executor is not None:
                executor._shutdown = True
            queue.put(None)


def excepthook_for(report: Any) -> Any:
    """The ``threading.excepthook`` while a program is explored; ``report`` is the real one."""

    def hook(arguments: Any) -> None:
        if issubclass(arguments.exc_type, (Abort, Uncontrolled)):
            return
        if (found := _current()) is None:
            report(arguments)
        elif not issubclass(arguments.exc_type, SystemExit):
            found[1].error = arguments.exc_value

    return hook


def unraisablehook_for(report: Any) -> Any:
    """The ``sys.unraisablehook`` while a program is explored: a finalizer may wait for a lock when its run is ended."""

    def hook(arguments: Any) -> None:
        if not issubclass(arguments.exc_type, (Abort, Uncontrolled)):
            report(arguments)

    return hook


def importing(real: Any) -> Any:
    """The ``__import__`` while a program is explored: the first import of a module holds locks in C, so it is one step."""

    def imported(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name in sys.modules or (found := _current()) is None or not found[0].exploring:
            return real(name, *arguments, **keywords)
        found[0].exploring = False
        try:
            return real(name, *arguments, **keywords)
        finally:
            found[0].exploring = True

    return imported


def waiting_for_updates(real: Any) -> Any:
    """How the thread waits that looks after a `multiprocessing.pool.ThreadPool`.

    It waits for a pipe, into which only threads of the pool's own process write: time passes for it as for one that polls.
    """

    def wait(sentinels: Any, notifier: Any, timeout: float | None = None) -> None:
        if timeout is None and _current() is not None and list(sentinels) == [notifier._reader]:  # a pool of processes has others
            while notifier.empty():
                sleep(_BETWEEN_UPDATES)
        real(sentinels, notifier, timeout)

    return wait


def started_process(pid: int) -> None:
    """The calling thread has started a process."""
    if (found := _current()) is not None:
        found[0].children.add(pid)


def refusing(what: str, function: Any, *, in_setup: bool = False) -> Any:
    """A function that ends the run if code under test calls it, and is ``function`` for all other code.

    Args:
        in_setup: whether a thread that the setup has started may not call it either.
    """

    def refused(*arguments: Any, **keywords: Any) -> Any:
        if (found := _current()) is not None and (found[0].exploring or (in_setup and found[1] is not found[0].main)):
            found[0].refuse(f"{what} at {place(sys._getframe(1), found[0].takes_part)}")
        return function(*arguments, **keywords)

    return refused


def _note_fork() -> None:
    """Before any fork: one that the program under test reached without the name of the function, which `refusing` replaces."""
    if (found := _current()) is not None and found[0].exploring:
        try:
            found[0].refuse("it forks (os.fork)")
        except Uncontrolled:  # a fork cannot be prevented from here: the copy leaves, and this process goes on to its next step
            pass


def _leave_fork() -> None:
    """In the copy: nobody controls its only thread, which would wait for its turn for ever."""
    if (found := _current()) is not None and found[0].exploring:
        _exit(1)


_exit = os._exit
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_fork, after_in_child=_leave_fork)


def _made_by_program(maker: FrameType) -> bool:
    """Whether a lock that is being created is one of the program's own: it has made it, or the condition that has none else.

    The others guard what a semaphore, a queue or a wait of the standard library keeps, in code that is one step: without such a
    lock nothing would fail, however much it is needed.
    """
    caller = maker.f_back if maker.f_code is _CONDITION else maker
    return caller is None or not standard(caller.f_code.co_filename)


def _creation_place() -> str:
    """``"file:line (function)"`` in code under test where the lock that is being created is created."""
    return frame_place(innermost(sys._getframe(2), lambda file: file not in (__file__, threading.__file__)))


def _identity(maker: FrameType) -> Identity:
    """What tells a lock that this frame creates from the others of the program, in each run alike, innermost first.

    A line is not enough: it may create two, and a function that creates one (a helper, the ``__init__`` of a dataclass) may be
    called from several places. Locks that one instruction creates in a loop are one. Recursion makes no difference, and nor does
    what calls this package: the setup may run in the thread that called the check, or in one of ours.
    """
    found = _current()
    chain: dict[tuple[str, int, str, int], None] = {}
    frame: FrameType | None = maker
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if chain and ours(file):
            break
        if file != threading.__file__ and (not chain or found is None or found[0].takes_part(file)):
            chain[file, frame.f_lineno or 0, code.co_qualname, frame.f_lasti] = None
        frame = frame.f_back
    return tuple(chain)
