"""The processes that the threads of a run have started: while one of them lives, virtual time takes as long as real time.

A thread that waits for a process with a timeout sleeps in a loop, and looks whether it has ended. Where sleep takes no time, each
such wait is at its timeout before the process has begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...core.clocks import monotonic
from ...core.clocks import sleep as _sleep

_POLL = 0.002  # seconds between two looks whether one still lives


class Children:
    """The processes that the threads of the present run have started."""

    __slots__ = ("_pids",)

    def __init__(self) -> None:
        self._pids: list[int] = []

    def begin(self) -> None:
        """Begin a new run."""
        self._pids.clear()

    def add(self, pid: int) -> None:
        """A thread of the run has started this process."""
        self._pids.append(pid)

    def __bool__(self) -> bool:
        return bool(self._pids)

    def let_run(self, nanoseconds: int) -> None:
        """Let so much real time pass, as long as one of them lives."""
        until = monotonic() + nanoseconds / 1e9
        while (left := until - monotonic()) > 0:
            self._pids = [pid for pid in self._pids if _lives(pid)]
            if not self._pids:
                return
            _sleep(min(_POLL, left))


def _lives(pid: int) -> bool:
    """Whether a child of this process has neither ended nor been waited for."""
    if not hasattr(os, "waitid"):
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except OSError:  # somebody has waited for it
        return False


def noting(execute: Callable[..., object], note: Callable[[int], None]) -> Callable[..., object]:
    """``subprocess.Popen._execute_child``, which calls `note` with the number of the new process."""

    def _execute_child(self: Any, *arguments: Any, **keywords: Any) -> object:
        result = execute(self, *arguments, **keywords)
        note(self.pid)
        return result

    return _execute_child
