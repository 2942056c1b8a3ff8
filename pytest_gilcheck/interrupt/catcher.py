"""Finds the code that caught the interrupt: follows the exception that the handler raises through the frames, line by line.

The interpreter discards an exception that is raised in a call of its own (``__del__``, the callback of a weak reference, a hook of
``os.fork`` such as that of ``logging``). No line of the workload gets it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .target import Instrument

_LINES = 20  # after each exception: enough to pass all conditions of several except clauses


class Catcher(Instrument):
    """Sends the note ``("caught", file, function, [lines...])``: where the exception was last stopped, and the lines that ran there
    next; or ``("discarded", function)``: the interpreter called the function, and discarded the exception.

    Tracing starts in the handler, so that the workload runs at full speed before the signal and gets it where it would without
    tracing.
    """

    portable = True

    def __init__(self) -> None:
        self._send_note: Callable[..., None] = _discard
        self._kind: type[BaseException] | None = None
        self._interrupted: set[FrameType] = set()
        self._stopped_in: FrameType | None = None
        self._lines: list[int] = []

    def begin(self, send_note: Callable[..., None]) -> None:
        self._send_note = send_note
        report = sys.unraisablehook

        def discarded(unraisable: Any) -> None:
            if issubclass(unraisable.exc_type, KeyboardInterrupt):
                send_note("discarded", getattr(unraisable.object, "__qualname__", None) or repr(unraisable.object))
            report(unraisable)

        sys.unraisablehook = discarded

    def entered(self, frame: FrameType | None) -> None:
        interrupted = frame
        self._interrupted.clear()
        while interrupted is not None:
            interrupted.f_trace = self._trace
            self._interrupted.add(interrupted)
            interrupted = interrupted.f_back
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "exception":
            if (
                self._kind is None and frame in self._interrupted
            ):  # an exception in a frame of the handler itself is not the interrupt yet
                self._kind = argument[0]
            if issubclass(argument[0], (self._kind or KeyboardInterrupt, KeyboardInterrupt, asyncio.CancelledError)):
                self._stopped_in, self._lines = frame, []
        elif event == "line" and frame is self._stopped_in:
            self._lines.append(frame.f_lineno)
            self._send_note("caught", frame.f_code.co_filename, frame.f_code.co_qualname, self._lines)
            if len(self._lines) == _LINES:
                self._stopped_in = None
        return self._trace


def _discard(*values: object) -> None:
    """Stands for ``send_note`` until `Catcher.begin`."""
