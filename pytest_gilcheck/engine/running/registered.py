"""Keep our threads off the list that `threading.enumerate`, `active_count` and `current_thread` read.

A setup may count the threads. An invariant may demand that none is left, and a shutdown may join all threads but its own. None of
them may see a thread of ours: the watchdog, or a worker that waits for its next run. So we remove these threads from the list, and
add a worker again while it runs a job. A thread must be on the list when it ends: `threading` then removes it, and fails if it is
missing.
"""

from __future__ import annotations

import threading

_known: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]


def hide(thread: threading.Thread) -> None:
    """Remove a thread from the list. A thread that has ended is not on it, and nothing happens."""
    ident = thread.ident
    if ident is not None and _known.get(ident) is thread:  # another thread may have its number now
        del _known[ident]


def show(thread: threading.Thread) -> None:
    """Add a thread that is alive to the list again."""
    if thread.ident is not None:
        _known[thread.ident] = thread


def rename(before: int, after: int) -> None:
    """List the thread with one ident under another. Nothing happens if it is not on the list."""
    if before in _known:
        _known[after] = _known.pop(before)
