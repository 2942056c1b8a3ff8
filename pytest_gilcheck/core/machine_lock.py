"""The machine lock: one timing check at a time on this machine, for all processes and pytest runs of one user.

Two checks at the same time disturb each other's timings. First come, first served: whoever comes draws the next number, locks the
slot of that number in the lock file, and waits until every slot below is free. The kernel frees the slots of a process that dies,
whether it held the machine or waited for it, so nobody waits for a crashed one.

What does not work:

- The filelock library. Its import alone (4.2) adds a hook to every fork of the process, and a measured workload that forks from
  several threads then fails with an error of that library.
- ``flock``: whoever polls at the right moment gets it, and a fork of the holder keeps it. Record locks (``fcntl``) belong to a
  process. But a process never excludes itself with them, and closing any descriptor of the file gives all up: so a process opens
  the file once, and `_process_lock` is what excludes its threads.
"""

from __future__ import annotations

import getpass
import os
import stat
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .clocks import monotonic, sleep

_POLL = 0.02  # seconds
_NUMBER = struct.Struct("<Q")
_NEXT, _HOLDER = 0, 8  # where in the file the next number is, and the process that has the machine
_SIZES = (0, _HOLDER, _HOLDER + _NUMBER.size)  # of the file: new, with a number, with a holder
_MUTEX, _SLOTS = 1 << 20, 1 << 21  # offsets in the file at which locks are taken; nothing is written there
_MOST_BEFORE = 100_000  # numbers that may wait before another
_process_lock = threading.Lock()  # held by the timing check of this process
_turn: bool | MachineLockTimeout = False  # this process, or that which it was forked from, has the machine, or waited in vain

Waiting = Callable[[int], None]


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
def machine_lock(timeout: float, waiting: Waiting = lambda pid: None) -> Iterator[None]:
    """Hold the machine lock during the ``with`` block.

    It is free for the processes that the holder has started, such as pytest run by a test that has the machine.

    Args:
        timeout: seconds that one other holder may take; with every new one, they begin again.
        waiting: called with the id of the process that has the machine, before the wait and again for each new one; 0 where it is
            not known.

    Raises:
        MachineLockTimeout: the other check did not end in time, or the lock file cannot be opened.
        RuntimeError: a timing check runs in this process already: this one is part of the workload that it measures.
    """
    if not _process_lock.acquire(blocking=False):
        raise RuntimeError("a timing check runs in this process already; its workload cannot run another timing check")
    try:
        if isinstance(_turn, MachineLockTimeout):
            raise _turn
        if _turn:
            yield
        else:
            with _held(timeout, waiting):
                yield
    finally:
        _process_lock.release()


@contextmanager
def turn(timeout: float, waiting: Waiting = lambda pid: None) -> Iterator[None]:
    """Have the machine for a whole test: `machine_lock` does not wait in this process, nor in those that it starts.

    If it cannot be had, `machine_lock` raises `MachineLockTimeout` inside of the block, without another wait.
    """
    global _turn
    with ExitStack() as stack:
        try:
            stack.enter_context(_held(timeout, waiting))
            _turn = True
        except MachineLockTimeout as error:
            _turn = error
        try:
            yield
        finally:
            _turn = False


@contextmanager
def _held(timeout: float, waiting: Waiting) -> Iterator[None]:
    file = _open()
    try:
        try:
            number = _draw(file)
        except OSError as error:
            raise MachineLockTimeout(f"the machine lock {lock_file()} is not possible: {error}; set GILCHECK_LOCK") from error
        if _wait(file, number, timeout, waiting):
            _write(file, _HOLDER, os.getpid())
        yield
    finally:
        os.close(file)  # which frees the slot


def _wait(file: int, number: int, timeout: float, waiting: Waiting) -> bool:
    """Wait until every slot below this number is free; False if the holder is a process that this one descends from."""
    first, holder, until = max(0, number - _MOST_BEFORE), -1, 0.0
    while not _try_lock(file, _SLOTS + first, number - first):
        now_holding = _read(file, _HOLDER)
        if now_holding != holder:
            if now_holding in _ancestors():
                return False
            holder, until = now_holding, monotonic() + timeout
            waiting(holder)
        if monotonic() > until:
            raise MachineLockTimeout(
                f"another timing check (process {holder}) held the machine lock {lock_file()} for {timeout:g} s"
            )
        sleep(_POLL)
    if number > first:
        _unlock(file, _SLOTS + first, number - first)
    return True


def _draw(file: int) -> int:
    """Take the next number, and lock its slot."""
    while not _try_lock(file, _MUTEX, 1):
        sleep(_POLL / 20)
    try:
        number = _read(file, _NEXT)
        _write(file, _NEXT, number + 1)
        if not _try_lock(file, _SLOTS + number, 1):
            raise MachineLockTimeout(f"the file of the machine lock, {lock_file()}, is damaged; remove it")
        return number
    finally:
        _unlock(file, _MUTEX, 1)


def _ancestors() -> set[int]:
    import psutil  # only to wait

    try:
        return {process.pid for process in psutil.Process().parents()}
    except (psutil.Error, OSError):
        return {os.getppid()}


def _read(file: int, offset: int) -> int:
    os.lseek(file, offset, os.SEEK_SET)
    data = os.read(file, _NUMBER.size)
    return int(_NUMBER.unpack(data)[0]) if len(data) == _NUMBER.size else 0


def _write(file: int, offset: int, number: int) -> None:
    os.lseek(file, offset, os.SEEK_SET)
    os.write(file, _NUMBER.pack(number))


def _open() -> int:
    """Open the file of the lock, and make it if it is not there; a file that holds anything else is left as it is."""
    try:
        file = os.open(lock_file(), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        message = f"the file of the machine lock cannot be opened: {error}; set GILCHECK_LOCK to another path"
        raise MachineLockTimeout(message) from error
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_size not in _SIZES:
        os.close(file)
        raise MachineLockTimeout(
            f"GILCHECK_LOCK={lock_file()} is no file of a machine lock, and would be overwritten: "
            "set it to a path that does not exist yet, or to an empty file"
        )
    return file


try:
    import fcntl

    def _try_lock(file: int, start: int, length: int) -> bool:
        if length == 0:  # which would mean: to the end
            return True
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(file: int, start: int, length: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, length, start)

except ImportError:  # Windows
    import msvcrt

    def _try_lock(file: int, start: int, length: int) -> bool:
        if length == 0:
            return True
        os.lseek(file, start, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, length)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _unlock(file: int, start: int, length: int) -> None:
        os.lseek(file, start, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, length)  # type: ignore[attr-defined]
