"""What this system offers: its files of facts (`/proc`), ``fork``, ``pidfd``, ``eventfd`` and CPU affinity.

Everything of the package that only some systems have is asked for here, so that their absence can be tested on a system that has
it: the environment variable ``GILCHECK_HIDE`` names, with commas between them, what to behave without. It is for the test suite.

Files are read by ``io.FileIO``: pyfakefs replaces ``open`` and ``pathlib`` for a test, and a fact of the real system would not be
found in its file system, or in the middle of a measurement by another thread.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from io import FileIO
from typing import IO, cast

getpid, exit_at_once = os.getpid, os._exit  # a test may replace those of os
get_ident, getframe = threading.get_ident, sys._getframe  # and these
OWN_FAILURE = 214  # exit status of a child in which our own code failed: its end says nothing about the workload
FAILING = map(exit_at_once, itertools.repeat(OWN_FAILURE))
"""``for _ in FAILING: pass`` ends this process with `OWN_FAILURE`: a fork must never return into the code of its parent.

There is no call in it, at which a profiler or a tool of `sys.monitoring` may raise an exception, so that the call is not made.
"""
FACILITIES = ("proc", "fork", "pidfd", "eventfd", "affinity")
HIDE = "GILCHECK_HIDE"
_HIDDEN = frozenset(filter(None, os.environ.get(HIDE, "").split(",")))
UNKNOWN_FACILITIES = tuple(sorted(_HIDDEN.difference(FACILITIES)))
"""What the variable hides although nobody knows it; whoever reads settings refuses it, with a message in one line."""


def _has(facility: str, name: str) -> bool:
    return facility not in _HIDDEN and hasattr(os, name)


HAS_FORK = _has("fork", "fork")
HAS_PIDFD = _has("pidfd", "pidfd_open")
HAS_EVENTFD = _has("eventfd", "eventfd")
HAS_AFFINITY = _has("affinity", "sched_setaffinity")
HAS_PROC = "proc" not in _HIDDEN and os.path.isdir("/proc/self/task")


def read(path: str) -> str:
    """The text of a file of the system.

    Raises:
        OSError: there is none, or this system does not have such files.
    """
    _refuse_hidden(path)
    with FileIO(path) as file:
        return file.readall().decode(errors="replace")


def entries(path: str) -> list[str]:
    """The names in a folder of the system; none where this system does not have it."""
    try:
        _refuse_hidden(path)
        return os.listdir(path)
    except OSError:
        return []


def open_to_read(path: str) -> int:
    """A descriptor of a file of the system.

    Raises:
        OSError: there is none, or this system does not have such files.
    """
    _refuse_hidden(path)
    return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))


_waitid = getattr(os, "waitid", None)  # a test may replace it


def has_children() -> bool:
    """Whether this process has child processes that nobody has waited for, as far as the system tells."""
    if _waitid is None:
        return False
    try:
        _waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)  # which reaps none
    except OSError:
        return False
    return True


def scratch_file() -> IO[bytes]:
    """A file without a name, which is gone when the last process has closed it: in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return cast("IO[bytes]", FileIO(os.memfd_create("gilcheck"), "r+"))
    import tempfile

    return tempfile.TemporaryFile()


def _refuse_hidden(path: str) -> None:
    if not HAS_PROC and path.startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(f"this system has no {path}")
