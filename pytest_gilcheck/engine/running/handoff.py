"""A semaphore for handing over from one thread to another: the one waits, the other runs, and no third thread is involved.

An eventfd takes 3 microseconds on every build. What does not work: ``os.eventfd_read``, which raises InterruptedError when a signal
comes whose handler returns, where ``os.read`` goes on (PEP 475); a lock, on which a free-threaded build first spins (50
microseconds); a condition, which needs a lock and allocates another; greenlets, because a switch inside a monitoring callback
leaves the other greenlet without events.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ...core.system import HAS_EVENTFD

_REAL: dict[str, Callable[..., Any]] = {"read": os.read, "write": os.write, "close": os.close}
"""`files` replaces those of the module. (In a mapping: pyfakefs replaces attributes of a module that are functions of ``os``.)"""

open_ends: set[int] = set()  # the descriptors of all semaphores of this process


class HandoffSemaphore:
    """The semaphore of one thread: `wait` returns once for each `post`."""

    __slots__ = ("_ends", "fd", "post", "wait")

    def __init__(self) -> None:
        self.post: Callable[[], object]
        self.wait: Callable[[], object]
        if HAS_EVENTFD:
            self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_SEMAPHORE)
            self._ends: tuple[int, ...] = (self.fd,)
            self.post = partial(os.eventfd_write, self.fd, 1)
            self.wait = partial(_REAL["read"], self.fd, 8)
        else:
            self.fd, write = os.pipe()
            self._ends = (self.fd, write)
            self.post = partial(_REAL["write"], write, b"1")
            self.wait = partial(_REAL["read"], self.fd, 1)
        open_ends.update(self._ends)

    def close(self) -> None:
        open_ends.difference_update(self._ends)
        for end in self._ends:
            _REAL["close"](end)


class SemaphorePool:
    """Semaphores for threads to come. Those of threads that have ended are used again: making one costs as much as a run."""

    def __init__(self) -> None:
        self._free: list[HandoffSemaphore] = []

    def take(self) -> HandoffSemaphore:
        return self._free.pop() if self._free else HandoffSemaphore()

    def give_back(self, semaphore: HandoffSemaphore) -> None:
        """Called when no thread reads it any more, or a new thread's turn could go to the old one."""
        self._free.append(semaphore)

    def close(self) -> None:
        while self._free:
            self._free.pop().close()
