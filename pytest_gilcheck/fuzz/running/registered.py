"""The threads that `threading` tells of, by `enumerate`, `active_count` and `current_thread`.

A setup may count them, an invariant may say that none is left, and a shutdown may join all but its own. None of them may meet a
thread of ours: the watchdog, or one of the program's that waits for its next run. So those are taken off the list meanwhile. They
must be on it when they end: `threading` takes each thread off at its end, and does not expect it to be missing.
"""

from __future__ import annotations

import threading

_known: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]


def hide(thread: threading.Thread) -> None:
    """Tell of this thread no more; of one that has ended, nothing is told anyhow."""
    ident = thread.ident
    if ident is not None and _known.get(ident) is thread:  # otherwise, another thread has its number now
        del _known[ident]


def show(thread: threading.Thread) -> None:
    """Tell of this thread again, which is alive."""
    if thread.ident is not None:
        _known[thread.ident] = thread


def rename(before: int, after: int) -> None:
    """Tell of the thread with one number under another; of none if there is none."""
    if before in _known:
        _known[after] = _known.pop(before)
