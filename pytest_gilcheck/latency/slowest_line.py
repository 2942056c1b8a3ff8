"""The line of the workload with the longest operation, from one traced call.

Where an operation is the last of the workload, or an operator such as ``**``, the interpreter next looks for requests to release
the GIL after the workload has returned. Then the place of the release does not tell the operation, and this does: the line that
used most CPU time at once. CPU time, because a busy machine interrupts any line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from ..core.clocks import thread_time_ns
from ..core.origin import under_test

_MOST_EVENTS = 200_000  # then tracing ends: it slows a loop in Python by a factor of ten


@dataclass(frozen=True)
class SlowestLine:
    """One line, and the CPU seconds that it used at once.

    Attributes:
        freed: whether that was after the end of its function: to free what the function leaves behind.
    """

    file: str
    line: int
    function: str
    seconds: float
    freed: bool


def slowest_line(call: Callable[[], object]) -> SlowestLine | None:
    """Call something once in this thread, and find its slowest line of code under test; None if no such code runs."""
    tracer = _Tracer()
    before = sys.gettrace()
    sys.settrace(tracer.trace)
    try:
        call()
    finally:
        sys.settrace(before)
    tracer.charge()
    return tracer.slowest


class _Tracer:
    def __init__(self) -> None:
        self.slowest: SlowestLine | None = None
        self._at: tuple[CodeType, int, bool] | None = None
        self._since = self._events = 0

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._events > _MOST_EVENTS or not under_test(frame.f_code.co_filename):
            return None
        self._events += 1
        self.charge()
        self._at = frame.f_code, frame.f_lineno or 0, event == "return"
        self._since = thread_time_ns()
        return self.trace

    def charge(self) -> None:
        """Charge the time since the last event to the line of that event."""
        if self._at is None:
            return
        (code, line, freed), seconds = self._at, (thread_time_ns() - self._since) / 1e9
        if self.slowest is None or seconds > self.slowest.seconds:
            self.slowest = SlowestLine(code.co_filename, line, code.co_qualname, seconds, freed)
