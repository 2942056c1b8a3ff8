"""Replacements for hooks of the interpreter, and for what no schedule can control: imports, forks, processes, event loops."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from ..bytecode.visible import BOUNDARY
from .clocks import sleep
from .controlling import current
from .places import place
from .task import Abort, Uncontrolled

_BETWEEN_UPDATES = 0.1  # seconds, virtual ones


def excepthook_for(report: Any) -> Any:
    """The ``threading.excepthook`` while a program is explored; ``report`` is the real one."""

    def hook(arguments: Any) -> None:
        if issubclass(arguments.exc_type, (Abort, Uncontrolled)):
            return
        if (found := current()) is None:
            report(arguments)
        elif not issubclass(arguments.exc_type, SystemExit):
            found[1].error = arguments.exc_value

    return hook


def unraisablehook_for(report: Any) -> Any:
    """The ``sys.unraisablehook`` while a program is explored: a finalizer may wait for a lock when its run is ended."""

    def hook(arguments: Any) -> None:
        if not issubclass(arguments.exc_type, (Abort, Uncontrolled)):
            report(arguments)

    return hook


def importing(real: Any) -> Any:
    """The ``__import__`` while a program is explored: the first import of a module holds locks in C, so it is one step."""

    def imported(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name in sys.modules or (found := current()) is None or not found[0].exploring:
            return real(name, *arguments, **keywords)
        found[0].exploring = False
        try:
            return real(name, *arguments, **keywords)
        finally:
            found[0].exploring = True

    return imported


def waiting_for_updates(real: Any) -> Any:
    """How the thread waits that looks after a `multiprocessing.pool.ThreadPool`.

    It waits for a pipe, into which only threads of the pool's own process write: time passes for it as for one that polls.
    """

    def wait(sentinels: Any, notifier: Any, timeout: float | None = None) -> None:
        if timeout is None and current() is not None and list(sentinels) == [notifier._reader]:  # a pool of processes has others
            while notifier.empty():
                sleep(_BETWEEN_UPDATES)
        real(sentinels, notifier, timeout)

    return wait


def started_process(pid: int) -> None:
    """The calling thread has started a process."""
    if (found := current()) is not None:
        found[0].children.add(pid)


def refusing(what: str, function: Any, *, in_setup: bool = False) -> Any:
    """A function that ends the run if code under test calls it, and is ``function`` for all other code.

    Args:
        in_setup: whether a thread that the setup has started may not call it either.
    """

    def refused(*arguments: Any, **keywords: Any) -> Any:
        if (found := current()) is not None and (found[0].exploring or (in_setup and found[1] is not found[0].main)):
            found[0].refuse(f"{what} at {place(sys._getframe(1), found[0].takes_part)}")
        return function(*arguments, **keywords)

    return refused


def _note_fork() -> None:
    """Before any fork: one that the program under test reached without the name of the function, which `refusing` replaces."""
    if (found := current()) is not None and found[0].exploring:
        try:
            found[0].refuse("it forks (os.fork)")
        except Uncontrolled:  # a fork cannot be prevented from here: the copy leaves, and this process goes on to its next step
            pass


def _leave_fork() -> None:
    """In the copy: nobody controls its only thread, which would wait for its turn for ever."""
    if (found := current()) is not None and found[0].exploring:
        _exit(1)


_exit = os._exit
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_fork, after_in_child=_leave_fork)


def boundary(frame: FrameType) -> None:
    """A step of this frame between two operations of a thread, which touches nothing."""
    if (found := current()) is not None:
        found[0].step(BOUNDARY, frame)
        found[1].gil_checked = True
