"""The machine lock: one timing check at a time on this machine, over all processes and pytest runs of this user.

Two checks that overlap are each other's noise. The kernel drops the lock when its holder dies, so a crash blocks nobody.

What does not work: the filelock library. Merely imported (4.2), it hooks every fork of the process, and a measured workload that
forks from several threads fails with an error of the library's.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import IO

_POLL = 0.02
_here = threading.Lock()  # one check at a time in this process too


class MachineLockTimeout(Exception):
    """Another check held the machine lock for longer than we may wait, or the lock file cannot be used."""


def lock_file() -> Path:
    """Where this user's lock lies. ``GILCHECK_LOCK`` moves it, for machines whose temporary folder is private to a run."""
    if named := os.environ.get("GILCHECK_LOCK"):
        return Path(named)
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"pytest-gilcheck-{user}.lock"


@contextmanager
def machine_lock(timeout: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the machine lock for the block.

    Args:
        timeout: seconds to wait for another check to end.
        waiting: called once if there is one to wait for.

    Raises:
        MachineLockTimeout: it did not end, or the lock file cannot be used.
        RuntimeError: a check is running in this very process, and this one is part of what it measures.
    """
    if not _here.acquire(blocking=False):
        raise RuntimeError("a timing check is running in this process; what it measures cannot hold a check of its own")
    try:
        with _opened() as file:
            deadline = monotonic() + timeout
            if not _locked(file):
                waiting()
                while not _locked(file):
                    if monotonic() > deadline:
                        raise MachineLockTimeout(f"another timing check held the machine lock {lock_file()} for {timeout:g} s")
                    sleep(_POLL)
            try:
                yield
            finally:
                _unlock(file)  # closing it would not do: a process that the workload forked may still have it open
    finally:
        _here.release()


def _opened() -> IO[bytes]:
    try:
        return open(lock_file(), "ab")
    except OSError as error:
        message = f"the machine lock cannot be opened: {error}; GILCHECK_LOCK names another file for it"
        raise MachineLockTimeout(message) from error


try:
    import fcntl

    def _locked(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt

    def _locked(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
