"""``select.select`` and ``selectors`` with a timeout, by the virtual clock.

A thread that waits for a file parks until another thread of the program writes to a socket or a pipe, or until its timeout, which
is a delay as for all timeouts (`virtual_time`). It looks at the files each time, with a timeout of zero. If no other thread is
runnable, another process may still serve the file: then the thread really waits, for its own timeout or `LONGEST` seconds, and what
comes is reported as uncontrolled.

What does not work: a wait without a timeout (nothing tells a deadlock from a slow peer), so it stays real; ``select.poll`` and
``select.epoll`` objects, whose methods are of C.
"""

from __future__ import annotations

import functools
import os
import select
import selectors
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..bytecode.visible import Access
from .engine import Engine
from .places import place
from .task import READY, Task
from .undermined import closing

LONGEST = 1.0  # seconds of a real wait
FILES = "a file, with a timeout"  # what the threads wait for
_CALL = Access("call", "call", 0)
_WRITES = ("send", "sendall", "sendto", "sendmsg", "close", "shutdown", "connect")
_REAL_SELECT = select.select

Controlled = Callable[[], tuple[Engine, Task] | None]


def replacements(controlled: Controlled) -> list[tuple[Any, str, Any]]:
    """(target, name, value) of what is to be replaced for the time of a check.

    Args:
        controlled: the engine and the task of the calling thread, if it is controlled.
    """
    kinds = {
        kind
        for name in ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector", "KqueueSelector")
        if (kind := getattr(selectors, name, None)) is not None
    }
    owners = {next(base for base in kind.__mro__ if "select" in vars(base)) for kind in kinds}
    found: list[tuple[Any, str, Any]] = [(owner, "select", _selecting(vars(owner)["select"], controlled)) for owner in owners]
    found += [
        (socket.socket, name, _writing(getattr(socket.socket, name), controlled))
        for name in _WRITES
        if hasattr(socket.socket, name)
    ]
    found.append((os, "write", _writing(os.write, controlled)))
    found.append((os, "close", _writing(closing(controlled, os.close), controlled)))
    found.append((select, "select", _select(controlled)))
    return found


def _select(controlled: Controlled) -> Any:
    @functools.wraps(_REAL_SELECT)
    def select_(reads: Any, writes: Any, errors: Any, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0 or (found := controlled()) is None:
            return _REAL_SELECT(reads, writes, errors, timeout)
        return _waited(*found, timeout, sys._getframe(1), lambda seconds: _REAL_SELECT(reads, writes, errors, seconds), any)

    return select_


def _selecting(real: Any, controlled: Controlled) -> Any:
    @functools.wraps(real)
    def select_(self: Any, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0 or (found := controlled()) is None:
            return real(self, timeout)
        return _waited(*found, timeout, sys._getframe(1), lambda seconds: real(self, seconds), bool)

    return select_


def _waited(
    engine: Engine, task: Task, timeout: float, frame: FrameType, look: Callable[[float], Any], ready: Callable[[Any], bool]
) -> Any:
    """What ``look`` returns once a file is ready, or at the timeout."""
    deadline = engine.clock.now + int(timeout * 1e9)
    while True:
        engine.step(_CALL, frame)
        task.gil_checked = True
        found = look(0)
        if ready(found):
            return found
        if engine.park(task, FILES, deadline):
            break
    if any(other is not task and other.state is READY for other in engine.tasks):
        return look(0)
    found = engine.unwatched(look, min(timeout, LONGEST))
    if ready(found):
        engine.note_uncontrolled(
            f"{task.name} waited for a file that no thread of the program served at {place(frame, engine.takes_part)}"
        )
    return found


def _writing(real: Any, controlled: Controlled) -> Any:
    @functools.wraps(real)
    def wrote(*arguments: Any, **keywords: Any) -> Any:
        if (found := controlled()) is None:
            return real(*arguments, **keywords)
        engine, task = found
        engine.step(_CALL, sys._getframe(1))
        try:
            return real(*arguments, **keywords)
        finally:
            engine.current()  # it may have been blocked outside of control, and wakes nobody before its turn
            engine.wake(FILES)
            task.gil_checked = True

    return wrote
