"""Beginnings and ends of the threads that a program starts, in a record of a run.

A thread begins after the step that starts it, and what goes on behind a `join` comes after its last step. Nothing else is said of a
thread's life: who asks whether a thread is alive, how many there are, or which one it is, asks for what no step shows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ...core.classes import in_class, is_a
from ..bytecode.at import unwrapped
from ..bytecode.calls import function_makes_steps, is_step
from ..bytecode.touch import UnderTest
from ..running.task import DONE, Task

_THREAD = threading.Thread
_LIFE = ("start", "_bootstrap", "_bootstrap_inner")  # of a thread, as the library has them


class Lives:
    """The threads of one recorded run that the program has started.

    Attributes:
        after: by point, the transitions that come before all that is touched there, or, if it begins with a step, behind it.
        starts: by thread, the point at which it was started.
    """

    def __init__(self) -> None:
        self.after: dict[int, list[int]] = {}
        self.starts: dict[int, int] = {}
        self._begun: dict[int, int] = {}
        self._awaited: dict[int, int] = {}  # by thread, the one that it has started, and whose beginning it waits for
        self._ends: dict[int, int] = {}
        self._known: set[int] = set()
        self._joined: set[int] = set()

    def start(self, task: Task, by: Task, point: int, *, known: bool) -> None:
        """The running thread starts this one.

        Args:
            known: whether all that it does is known, from its first step on (`begins_in_steps`).
        """
        self.starts[task.index] = point
        if task.thread is not None:
            self._awaited[by.index] = task.index
        (self._known.add if known else self._known.discard)(task.index)

    def begin(self, task: Task, point: int) -> bool:
        """A thread begins, or goes on; returns whether it begins: then who has started it can go on."""
        if task.index in self.starts and task.index not in self._begun:
            self._begun[task.index] = point
            self._comes_after(point, self.starts[task.index])
            return True
        if task.index in self._awaited:
            self._comes_after(point, self._begun.get(self._awaited.pop(task.index), 0))
        return False

    def end(self, task: Task, point: int) -> None:
        """The running thread makes no more steps."""
        self._ends[task.index] = point

    def join(self, task: Task, by: Task, point: int) -> None:
        """The running thread has waited for the end of this one, for as long as it took."""
        if task.index in self._ends:
            if not by.daemon:
                self._joined.add(task.index)
            self._comes_after(point, self._ends[task.index])

    def _comes_after(self, point: int, earlier: int) -> None:
        if earlier and earlier != point:
            self.after.setdefault(point, []).append(earlier)

    def doubt(self, tasks: Iterable[Task], *, may_end_early: bool) -> bool:
        """Whether of any of these threads, which the program has started, something is not known.

        Args:
            may_end_early: whether a run may end before all threads have, if the program's own ones have.
        """
        return any(
            task.index not in self._known
            or task.state is not DONE
            or ((task.daemon or may_end_early) and task.index not in self._joined)
            for task in tasks
        )


def begins_in_steps(thread: Any, function: Any, under_test: UnderTest) -> bool:
    """Whether code under test is all that a thread runs, beside that of `threading` around it.

    Args:
        thread: the ``threading.Thread``; None if there is none.
        function: what the thread calls otherwise.
    """
    if thread is None:
        return not is_step(unwrapped(function, [])[0], None, under_test)
    kind, own = type(thread), vars(thread)
    if not is_a(thread, _THREAD) or "run" in own or any(name in own for name in _LIFE):
        return False
    if any(in_class(kind, name) is not in_class(_THREAD, name) for name in _LIFE):
        return False
    run = in_class(kind, "run")
    if run is not in_class(_THREAD, "run"):
        return callable(run) and hasattr(run, "__code__") and function_makes_steps(run, under_test)
    target = own.get("_target")
    return target is None or not is_step(unwrapped(target, [])[0], None, under_test)
