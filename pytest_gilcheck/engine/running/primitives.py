"""Replacements for locks and queues while a program is explored.

Each replacement does what the real primitive does, except that a thread never blocks: it parks in the engine. A `Lock` here holds
a real lock; a thread that cannot acquire it parks until it is free. So a lock that outlives its check, or is used by a thread that
is not controlled, behaves as that real lock.

Everything else in the standard library that waits is built on these (conditions, events, semaphores, barriers, queues, futures,
executors, timers), and needs no replacement.
"""

from __future__ import annotations

import _queue
import _thread
import sys
import threading
from collections import deque
from types import FrameType, GenericAlias, TracebackType
from typing import Any

from ...core.origin import ours, standard
from ...core.source import frame_place, innermost
from ..bytecode.visible import ACQUIRE, Access
from . import controlling
from .controlling import current, made_for_the_check
from .engine import Engine
from .places import place
from .record import Deed
from .task import DONE, Task

_QUEUE = Access("write", "a queue", 0)
_WITH_CALLS = sys.version_info >= (3, 14)  # a with statement enters by a call instruction
Identity = tuple[tuple[str, int, str, int], ...]  # file, line, function, instruction: of a creation and of the calls that led to it
told_apart = False  # whether locks are, which takes time whenever one is made: if they may be taken away
disabled_lock: Identity | None = None  # of the locks that do nothing now

_allocate_lock = _thread.allocate_lock
_RLock = threading._CRLock or threading._PyRLock  # type: ignore[attr-defined]
_get_ident = threading.get_ident
_WAIT, _CONDITION = threading.Condition.wait.__code__, threading.Condition.__init__.__code__
locks_used: dict[Identity, str] = {}  # where the program created the locks that it has acquired, in order of first use


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
            made_for_the_check() and not sys._getframe(1).f_code.co_filename.startswith("<frozen importlib")
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
            found = current()
            self._hash = object.__hash__(self) if found is None or not found[0].in_run else found[0].chance.next_number()
        return self._hash

    # For `isinstance` and a type that the program has kept: ``LockType = type(threading.Lock())``.
    __class__: Any = property(lambda self: type(self._real))

    @staticmethod
    def _plain() -> Any:
        return _allocate_lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if (found := current()) is None:
            return self._real.acquire(blocking, timeout)  # type: ignore[no-any-return]
        engine, task = found
        if self._identity == disabled_lock:
            engine.step(ACQUIRE, sys._getframe(1))
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
        engine.step(ACQUIRE, frame)
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
            if (found := current()) is not None:
                self._report(found[0], Deed.TRY)
            raise

    def _report(self, engine: Engine, deed: Deed) -> None:
        if engine.recorder is not None and engine.exploring:
            engine.recorder.lock(self, deed)

    def _released(self) -> None:
        if (engine := controlling.active) is not None:
            owner = engine.owner  # who is not may have been blocked outside of control, and wakes nobody before its turn
            task = owner if owner.ident == _get_ident() else engine.regain()
            self._report(engine, Deed.RELEASE)
            engine.wake(self)
            if task is not None:
                task.gil_checked = True  # after a call of C, or in a function of the standard library
                if (pauses := engine.fairness.pauses) is not None:
                    pauses.only_waits(task, sys._getframe(1))

    def locked(self) -> bool:
        if (found := current()) is not None:
            found[0].step(ACQUIRE, sys._getframe(1))
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
        if controlling.active is not None and not self._real_locked():
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
        if current() is None:
            self._real._acquire_restore(state)
            return
        self.acquire()
        for _ in range(state[0] - 1):
            self._real.acquire()


class SimpleQueue:
    """``queue.SimpleQueue`` of the program under test."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __new__(cls) -> Any:
        return object.__new__(cls) if made_for_the_check() else _queue.SimpleQueue()

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


def _used(frame: FrameType) -> None:
    """A step: what this frame does with a queue, which no lock shows."""
    if (found := current()) is not None:
        found[0].step(_QUEUE, frame)


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
    found = current()
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
