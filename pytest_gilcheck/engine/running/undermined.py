"""What a check stands on in its own process, and a program may take away: the steps that it is told of, room on the stack, and the
descriptors by which its threads hand over.

A run of which no steps are seen proves nothing, and code of ours that meets the recursion limit fails in the program's place. So
the functions that would do that are replaced: a thread under control that calls one ends its run before anything is lost. `Events`
looks for itself after each run, in case that the program has kept the real ones where nothing is replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

from .engine import Engine
from .handoff import open_ends
from .places import place
from .task import Task

TOOL = "gilcheck-fuzz"  # the name of ours in ``sys.monitoring``
_ROOM = 100  # frames that our own code may need above the deepest one: to switch, to record, to make the steps of code that begins
_setrecursionlimit = sys.setrecursionlimit
_monitoring: Any = getattr(sys, "monitoring", None)
_OF_ITS_TOOL = ("free_tool_id", "clear_tool_id", "set_events", "set_local_events", "register_callback")
_BEGINNING = ("set_events", "set_local_events")
_before: dict[int, Any] = {}  # the tools that watched this process when the check began, by number

Current = Callable[[], "tuple[Engine, Task] | None"]


def replacements(current: Current) -> list[tuple[Any, str, Any]]:
    """What stands for these functions during a check: where, by which name, and what.

    Args:
        current: the engine and the task of the calling thread; None if it is not under control.
    """
    found: list[tuple[Any, str, Any]] = [
        (sys, "setrecursionlimit", _limiting(current)),
        (os, "closerange", _closing(current, os.closerange)),
    ]
    if _monitoring is None:
        found.append((sys, "settrace", _tracing(current, sys.settrace)))
    else:
        found += [(_monitoring, name, _watched(current, name)) for name in _OF_ITS_TOOL if hasattr(_monitoring, name)]
    return found


def remember_tools() -> None:
    """Take note that the check begins: the tools that are there, such as coverage's, are not the program's, and go on."""
    _before.clear()
    _before.update((tool, _monitoring.get_tool(tool)) for tool in range(6))


def no_room() -> str:
    """Why the recursion limit leaves no room for a check that begins in the calling thread; empty if it does."""
    limit, needed = sys.getrecursionlimit(), _depth(sys._getframe(1)) + _ROOM
    return "" if limit >= needed else f"the recursion limit is {limit}, and the check needs {needed} (sys.setrecursionlimit)"


def _limiting(current: Current) -> Callable[[int], None]:
    @wraps(_setrecursionlimit)
    def setrecursionlimit(limit: int, /) -> None:
        if (found := current()) is not None and type(limit) is int:
            deepest = max(map(_depth, sys._current_frames().values()))  # the limit is one for all threads
            if limit < deepest + _ROOM:
                at = place(sys._getframe(1), found[0].takes_part)
                what = f"sys.setrecursionlimit({limit}), at {at}, leaves no room on the stack for the check itself"
                found[0].refuse(f"{what}: in a check, set it to {_rounded(deepest + _ROOM)} or more")
        _setrecursionlimit(limit)

    return setrecursionlimit


def _watched(current: Current, name: str) -> Callable[..., Any]:
    """A function of ``sys.monitoring`` that ends the run if it is called for our tool, and notes if another one begins."""
    function = getattr(_monitoring, name)

    @wraps(function)
    def watched(tool: Any, *arguments: Any) -> Any:
        if (found := current()) is not None and type(tool) is int and 0 <= tool < 6:
            engine, task = found
            at = place(sys._getframe(1), engine.takes_part)
            if (known := _monitoring.get_tool(tool)) == TOOL:
                what = f"sys.monitoring.{name}({tool}, ...), at {at}, is of a tool that is not the program's: the check's own"
                engine.refuse(f"{what}, {TOOL!r}, without which it sees no steps. End only tools that the test has begun itself")
            begins = name in _BEGINNING and arguments and arguments[-1] and known != _before.get(tool)
            if engine.exploring and begins:
                engine.note_uncontrolled(
                    f"{task.name} began the monitoring tool {known!r}, which takes steps of the check, at {at}"
                )
        return function(tool, *arguments)

    return watched


def _tracing(current: Current, settrace: Callable[[Any], None]) -> Callable[[Any], None]:
    """``sys.settrace`` up to 3.11, where the trace function of a thread tells of its steps: some are lost though it is put back."""

    @wraps(settrace)
    def tracing(function: Any, /) -> None:
        if (found := current()) is not None and found[0].exploring and function != found[0].tracer:
            engine, task = found
            at = place(sys._getframe(1), engine.takes_part)
            engine.note_uncontrolled(f"{task.name} lost its trace function, by sys.settrace at {at}")
        settrace(function)

    return tracing


def closing(current: Current, close: Callable[[int], None]) -> Callable[[int], None]:
    """``os.close``: who closes all numbers one after the other closes those of the check, too."""

    @wraps(close)
    def closes(descriptor: int) -> None:
        if descriptor in open_ends and (found := current()) is not None:
            _refuse_to_close(found[0], f"os.close({descriptor})", sys._getframe(1))
        close(descriptor)

    return closes


def _closing(current: Current, closerange: Callable[[int, int], None]) -> Callable[[int, int], None]:
    @wraps(closerange)
    def closes(first: int, end: int, /) -> None:
        if (found := current()) is not None and any(first <= each < end for each in open_ends):
            _refuse_to_close(found[0], f"os.closerange({first}, {end})", sys._getframe(1))
        closerange(first, end)

    return closes


def _refuse_to_close(engine: Engine, call: str, frame: FrameType) -> None:
    what = f"{call}, at {place(frame, engine.takes_part)}, closes descriptors that the program did not open: those of the check"
    engine.refuse(f"{what}, by which its threads hand over. Close those that the test has opened")


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def _rounded(frames: int) -> int:
    return -(-frames // 100) * 100
