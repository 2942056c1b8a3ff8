"""Whether this process can be forked safely now.

A fork has only the thread that forked. Locks that other threads held stay held in it, so a process with threads is not forked;
threads whose owner declared them harmless do not count.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from .system import HAS_FORK

_harmless: list[Callable[[threading.Thread], bool]] = []


def declare_harmless(predicate: Callable[[threading.Thread], bool]) -> None:
    """From now on, ignore the threads for which ``predicate`` returns true: a fork neither needs them nor any lock they hold."""
    if predicate not in _harmless:
        _harmless.append(predicate)


def can_fork() -> str | None:
    """None if this process can be forked safely now; otherwise a sentence that says why not."""
    if not HAS_FORK:
        return "this platform has no fork"
    if sys.platform == "darwin":
        return "system libraries of macOS do not survive a fork"
    others = [thread.name for thread in threading.enumerate() if _counts(thread)]
    if others:
        return f"threads are running that a fork would lose: {', '.join(others[:3])}"
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread can fork safely"
    return None


def _counts(thread: threading.Thread) -> bool:
    if thread is threading.main_thread() or isinstance(thread, threading._DummyThread):
        return False
    return not any(harmless(thread) for harmless in _harmless)
