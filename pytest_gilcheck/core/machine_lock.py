"""The machine lock: one timing check at a time on this machine, for all processes and pytest runs of one user.

Two checks at the same time disturb each other's timings. The kernel releases the lock when its holder dies, so no later check waits
for a crashed one.

What does not work: the filelock library. Its import alone (4.2) adds a hook to every fork of the process, and a measured workload
that forks from several threads then fails with an error of that library.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .clocks import monotonic, sleep

_POLL = 0.02  # seconds
_process_lock = threading.Lock()  # held by the timing check of this process: a file lock does not exclude threads of one process


class MachineLockTimeout(Exception):
    """Another check held the machine lock for longer than the timeout, or the lock file cannot be opened."""


def lock_file() -> Path:
    """Return the path of this user's lock file.

    ``GILCHECK_LOCK`` sets another path, for machines on which each run has its own temporary folder.
    """
    if path := os.environ.get("GILCHECK_LOCK"):
        return Path(path)
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"pytest-gilcheck-{user}.lock"


@contextmanager
def machine_lock(timeout: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the machine lock during the ``with`` block.

    Args:
        timeout: seconds to wait for the check that holds the lock.
        waiting: called once, before the wait, if another check holds the lock.

    Raises:
        MachineLockTimeout: the other check did not end in time, or the lock file cannot be opened.
        RuntimeError: a timing check runs in this process already: this one is part of the workload that it measures.
    """
    if not _process_lock.acquire(blocking=False):
        raise RuntimeError("a timing check runs in this process already; its workload cannot run another timing check")
    try:
        with _open() as file:
            deadline = monotonic() + timeout
            if not _try_lock(file):
                waiting()
                while not _try_lock(file):
                    if monotonic() > deadline:
                        raise MachineLockTimeout(f"another timing check held the machine lock {lock_file()} for {timeout:g} s")
                    sleep(_POLL)
            try:
                yield
            finally:
                _unlock(file)  # closing the file is not enough: a process that the workload forked may still have it open
    finally:
        _process_lock.release()


def _open() -> IO[bytes]:
    try:
        return open(lock_file(), "ab")
    except OSError as error:
        message = f"the file of the machine lock cannot be opened: {error}; set GILCHECK_LOCK to another path"
        raise MachineLockTimeout(message) from error


try:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
