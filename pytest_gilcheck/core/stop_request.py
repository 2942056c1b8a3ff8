"""Ctrl-C as a request: what takes long asks for it between two steps, and reports what it has found so far.

An exception would come in the middle of a run whose threads are parked. The second Ctrl-C is one, as ever.

A guarded child is in a process group of its own, which a terminal does not reach. So it says that it listens, and its parent passes
the signal on (`parent_side`); before and after that, Ctrl-C ends both.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .child_side import of_this_process

EXIT_INTERRUPTED = 130  # as shells say it: 128 and the number of SIGINT

_made = False


def made() -> bool:
    """Whether the user has asked this process to stop."""
    return _made


@contextmanager
def listening() -> Iterator[None]:
    """Take the first Ctrl-C of this block as a request. One that is ignored, or handled by other code, stays so."""
    if not is_plain():
        yield
        return
    side = of_this_process()
    signal.signal(signal.SIGINT, _take)
    if side is not None:
        side.announce_listening(True)
    try:
        yield
    finally:
        if side is not None:
            side.announce_listening(False)
        if signal.getsignal(signal.SIGINT) is _take:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def is_plain() -> bool:
    """Whether Ctrl-C is a KeyboardInterrupt, and this thread may change that."""
    return threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _take(number: int, frame: FrameType | None) -> None:
    global _made
    _made = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
