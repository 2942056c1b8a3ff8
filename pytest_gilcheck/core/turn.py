"""One timing check at a time on this machine: a lock across processes, from any run of this user.

Two checks that overlap are each other's noise. The kernel drops the lock when its holder dies, so a crash blocks nobody.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_held = threading.local()  # a check inside a check (the reference of a curve, say) keeps the turn it has


class TurnTimeout(Exception):
    """Another check kept the machine for longer than we may wait."""


def lock_file() -> Path:
    """Where this user's lock lies. ``GILCHECK_LOCK`` moves it, for machines whose temporary folder is private to a run."""
    if named := os.environ.get("GILCHECK_LOCK"):
        return Path(named)
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"pytest-gilcheck-{user}.lock"


@contextmanager
def turn(patience: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the machine for the block.

    Args:
        patience: seconds to wait for another check to end.
        waiting: called once if there is one to wait for.

    Raises:
        TurnTimeout: it did not end.
    """
    from filelock import FileLock, Timeout

    if getattr(_held, "yes", False):
        yield
        return
    lock = FileLock(lock_file())
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting()
        try:
            lock.acquire(timeout=patience, poll_interval=0.02)
        except Timeout as error:
            raise TurnTimeout(f"another timing check kept this machine for {patience:g} s ({lock_file()})") from error
    _held.yes = True
    try:
        yield
    finally:
        _held.yes = False
        lock.release()
