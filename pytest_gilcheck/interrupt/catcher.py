"""Who caught the interrupt: follows the exception that the handler raises through the frames, line by line.

One that is raised where the interpreter itself calls (``__del__``, a weak reference's callback, a hook of ``os.fork``, as
``logging`` has one) is discarded there, and no line of the workload ever sees it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .target import Instrument

_LINES = 20  # after each exception, enough to pass the tests of a row of except clauses


class Catcher(Instrument):
    """Tells ``("caught", file, function, [lines...])``: where the exception was last stopped, and the lines run there next; or
    ``("discarded", function)``: in whose call the interpreter has thrown it away.

    The tracing starts in the handler: what comes before runs at full speed, and the signal finds the workload where it found it
    without us.
    """

    portable = True

    def __init__(self) -> None:
        self._tell: Callable[..., None] = _nobody
        self._kind: type[BaseException] | None = None
        self._interrupted: set[FrameType] = set()
        self._stopped_in: FrameType | None = None
        self._lines: list[int] = []

    def begin(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        report = sys.unraisablehook

        def discarded(what: Any) -> None:
            if issubclass(what.exc_type, KeyboardInterrupt):
                tell("discarded", getattr(what.object, "__qualname__", None) or repr(what.object))
            report(what)

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
            if self._kind is None and frame in self._interrupted:  # before that it is the handler's own affair
                self._kind = argument[0]
            if issubclass(argument[0], (self._kind or KeyboardInterrupt, KeyboardInterrupt, asyncio.CancelledError)):
                self._stopped_in, self._lines = frame, []
        elif event == "line" and frame is self._stopped_in:
            self._lines.append(frame.f_lineno)
            self._tell("caught", frame.f_code.co_filename, frame.f_code.co_qualname, self._lines)
            if len(self._lines) == _LINES:
                self._stopped_in = None
        return self._trace


def _nobody(*words: object) -> None:
    """Before there is anybody to tell."""
