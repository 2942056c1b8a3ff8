"""Writing to a process that may be gone, where ``SIGPIPE`` may have its default action, which ends the writing process.

Python ignores ``SIGPIPE``, but command line programs restore the default, and so does a test that imports one. The signal is
sent to the thread that writes, so it can be blocked there, and taken back.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_sigpipe() -> Iterator[None]:
    """A write in here to a pipe that nobody reads raises ``BrokenPipeError`` and no signal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        if signal.SIGPIPE not in before:
            if signal.SIGPIPE in signal.sigpending():
                signal.sigwait({signal.SIGPIPE})
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
