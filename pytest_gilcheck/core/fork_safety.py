"""Whether this process can be forked safely now.

A fork has only the thread that forked. Locks that other threads held stay held in it, so a process with threads is not forked;
threads whose owner declared them harmless do not count. Threads that Python does not know, such as the pool of a library written in
C or Rust, count as well, where the system lists them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from .clocks import sleep
from .early_threads import EARLY_THREADS
from .system import HAS_FORK, entries, read

_ENDING = 0.01  # seconds; a thread that was joined may still be about to end
_LOOKS = 5

_starters: WeakKeyDictionary[threading.Thread, str] = WeakKeyDictionary()
_harmless: list[Callable[[threading.Thread], bool]] = []
_harmless_unknown: list[Callable[[], int]] = [lambda: EARLY_THREADS]


class NoFork(OSError):
    """The system has refused a fork: there are too many processes, or too little memory."""

    def __str__(self) -> str:
        return f"the system refuses a fork ({super().__str__()})"


def declare_harmless(predicate: Callable[[threading.Thread], bool]) -> None:
    """From now on, ignore the threads for which ``predicate`` returns true: a fork neither needs them nor any lock they hold."""
    if predicate not in _harmless:
        _harmless.append(predicate)


def declare_harmless_unknown(number: Callable[[], int]) -> None:
    """From now on, so many threads that Python does not know are harmless."""
    _harmless_unknown.append(number)


def note_starter(thread: threading.Thread, who: str) -> None:
    """Note who started a thread, such as ``"fixture 'server'"``: messages about that thread say so."""
    _starters.setdefault(thread, who)  # of two fixtures in each other, the inner one is set up first


def unknown_threads() -> list[str]:
    """The names of the threads of this process that Python does not know; empty where the system does not list threads."""
    known = {thread.native_id for thread in threading.enumerate()}
    known.add(threading.get_native_id())  # before 3.13, the main thread of a fork has the id of its parent's
    tasks = entries("/proc/self/task")
    return [_name(task) for task in tasks if int(task) not in known]


def can_fork() -> str | None:
    """None if this process can be forked safely now; otherwise a sentence that says why not."""
    if not HAS_FORK:
        return "this platform has no fork"
    if sys.platform == "darwin":
        return "system libraries of macOS do not survive a fork"
    others = [_told(thread) for thread in threading.enumerate() if _counts(thread)]
    if others:
        return f"threads are running that a fork would lose: {', '.join(others[:3])}"
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread can fork safely"
    if unknown := _counted_unknown():
        named = ", ".join(dict.fromkeys(unknown[:3]))
        what = f"threads are running that Python does not know, as those of a library in C, and that a fork would lose: {named}"
        return f"{what} (OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 keep those of numpy and the like away)"
    return None


def _counted_unknown() -> list[str]:
    allowed = sum(number() for number in _harmless_unknown)
    for _ in range(_LOOKS):
        if len(unknown := unknown_threads()) <= allowed:
            return []
        sleep(_ENDING)
    return unknown


def _told(thread: threading.Thread) -> str:
    return f"{thread.name} (started by {who})" if (who := _starters.get(thread)) else thread.name


def _name(task: str) -> str:
    try:
        return read(f"/proc/self/task/{task}/comm").strip()
    except OSError:  # it has ended
        return task


def _counts(thread: threading.Thread) -> bool:
    if thread is threading.main_thread() or isinstance(thread, threading._DummyThread):
        return False
    return not any(harmless(thread) for harmless in _harmless)


if HAS_FORK:
    os.register_at_fork(after_in_child=_harmless_unknown.clear)  # a fork has none of those threads
