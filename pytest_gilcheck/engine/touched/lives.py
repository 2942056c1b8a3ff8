"""Beginnings and ends of the threads that a program starts, in a record of a run.

A thread begins after the step that starts it, and what goes on behind a `join` comes after its last step. Nothing else is said of a
thread's life: who asks whether a thread is alive, how many there are, or which one it is, asks for what no step shows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

from ...core.classes import in_class, is_a
from ..bytecode.at import unwrapped
from ..bytecode.calls import function_makes_steps, is_step
from ..bytecode.touch import UnderTest
from ..running.engine import Engine
from ..running.record import Deed
from ..running.task import DONE, Task
from ..summary import Part
from .dictionaries import Dictionaries
from .objects import Objects

_THREAD = threading.Thread
_LIFE = ("start", "_bootstrap", "_bootstrap_inner")  # of a thread, as the library has them


class Lives:
    """The threads of one recorded run that the program has started.

    Args:
        parts, not_known: see `Trace`, which this must not know: a cycle would keep the objects of a run alive.

    Attributes:
        after: by point, the transitions that come before all that is touched there, or, if it begins with a step, behind it.
        started: by thread, the point at which it was started.
    """

    def __init__(
        self,
        engine: Engine,
        parts: dict[int, list[Part]],
        not_known: dict[int, str | tuple[CodeType, int]],
        objects: Objects,
        dictionaries: Dictionaries | None,
    ) -> None:
        self._engine, self._parts, self._not_known = engine, parts, not_known
        self._objects, self._dictionaries = objects, dictionaries
        self.after: dict[int, list[int]] = {}
        self.started: dict[int, int] = {}
        self._begun: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._awaited: dict[int, int] = {}  # by thread, the one that it has started, and for whose beginning it waits
        self._known: set[int] = set()
        self._joined: set[int] = set()

    def starts(self, task: Task, function: Any) -> None:
        """The running thread starts this one, which calls that function."""
        index, engine = task.index, self._engine
        self._known.discard(index)
        if not engine.exploring or not begins_in_steps(task.thread, function, engine.takes_part):
            self._not_known[engine.point] = "it starts a thread"
        else:
            self._known.add(index)
        if not engine.exploring:
            return
        self.started[index] = engine.point
        if task.thread is not None:
            self._awaited[engine.owner.index] = index
        self._lets_go_on()

    def goes_on(self, task: Task) -> None:
        """A thread begins, or goes on after a wait."""
        index = task.index
        if index in self.started and index not in self._begun:
            self._begun[index] = self._engine.point
            self._comes_after(self.started[index])
            self._lets_go_on()  # the thread that has started it
            if task.thread is not None:
                self._touches(task.thread, "_started", Deed.WRITE)
        elif index in self._awaited:
            self._comes_after(self._begun.get(self._awaited.pop(index), 0))

    def ends(self, task: Task) -> None:
        """The running thread makes no more steps."""
        self._ended[task.index] = self._engine.point
        if task.thread is not None and not task.root:
            self._touches(task.thread, "_is_stopped", Deed.WRITE)

    def asks_to_join(self, thread: Any) -> None:
        """The running thread is about to wait for the end of this one, which fails if it has not been started."""
        self._touches(thread, "_started", Deed.READ)

    def joins(self, task: Task, by: Task) -> None:
        """The running thread has waited for the end of this one, for as long as it took."""
        if task.index in self._ended:
            if not by.daemon:
                self._joined.add(task.index)
            self._comes_after(self._ended[task.index])

    def _touches(self, thread: Any, name: str, deed: Deed) -> None:
        known = self._dictionaries
        number, part = (self._objects.number(thread), name) if known is None else known.number(thread, name)
        self._parts.setdefault(self._engine.point, []).append(Part(number, part, deed))

    def _comes_after(self, earlier: int) -> None:
        point = self._engine.point
        if earlier and earlier != point:
            self.after.setdefault(point, []).append(earlier)

    def _lets_go_on(self) -> None:
        """From here on another thread can go on, which could not before: so this transition is more than nothing."""
        self._parts.setdefault(self._engine.point, [])

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
    if not is_a(thread, _THREAD) or any(name in own for name in ("run", *_LIFE)):
        return False
    if any(in_class(kind, name) is not in_class(_THREAD, name) for name in _LIFE):
        return False
    run = in_class(kind, "run")
    if run is not in_class(_THREAD, "run"):
        return type(run) is FunctionType and function_makes_steps(run, under_test)
    target = own.get("_target")
    return target is None or not is_step(unwrapped(target, [])[0], None, under_test)
