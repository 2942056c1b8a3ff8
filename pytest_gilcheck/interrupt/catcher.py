"""Finds the code that caught the interrupt: follows the exception that the handler raises through the frames, line by line.

From Python 3.12 on it uses ``sys.monitoring``, before that a trace function: from 3.12 on a trace function is not called for a
coroutine into which an exception is thrown, and `asyncio` and `trio` interrupt a task in this way.

C code can end an exception as well. The interpreter discards one that is raised in a call of its own (``__del__``, the callback of
a weak reference or of `ctypes`, a hook of ``os.fork`` such as that of ``logging``). A C library that called back may clear it or
raise another in its place, as `sqlite3` does. No line of the workload gets it then.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ..core.classes import full_name_of_class
from ..core.monitoring import take_over
from ..core.origin import foreign, of_user, ours
from ..core.source import came_through
from ..core.system import get_ident, getframe
from ..core.texts import name_in, text_of
from .target import Instrument

_LINES = 20  # after each exception: enough to pass all conditions of several except clauses
_CHAIN = 20  # exceptions, each raised while the next one was handled
_TOOL_ID = 4
_YIELDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_OFTEN = (Exception, GeneratorExit)  # raised for other reasons than the interrupt


class Catcher(Instrument):
    """Sends these notes:

    - ``("caught", file, function, [lines...], line)``: where the exception was last stopped, the lines that ran there next, and
      the line at which it came;
    - ``("unwound", file, function)``: it left a function;
    - ``("cleared", function, file, line, caller)``: C code called the function, and discarded the exception: its caller goes on;
    - ``("converted", function, file, line, caller, class)``: C code called the function, and raised another in its caller;
    - ``("replaced", file, line, function, class)``: the clause that got it raised another in its place;
    - ``("restored",)``: that one was caught in the same clause, which goes on with what it had before;
    - ``("swallowed", file, function)``: the function that caught it has finished handling it;
    - ``("discarded", function, message, file, line, function)``: the interpreter called the function, and discarded the exception,
      which came at that line of the user's (its values are missing if there is none);
    - ``("returned",)``: the handler returned, and raised nothing.

    It begins in the handler, so that the workload runs at full speed before the signal and gets it where it would without.
    """

    portable = True

    def __init__(self) -> None:
        self._send_note: Callable[..., None] = _discard
        self._kind: type[BaseException] | None = None
        self._converted: BaseException | None = None
        self._interrupted: set[FrameType] = set()
        self._last: tuple[FrameType, FrameType | None] | None = None  # that the exception passed, and its caller
        self._called_at: tuple[str, int | None, str] = ("", None, "")
        self._stopped_in: FrameType | None = None
        self._exception: BaseException | None = None
        self._lines: list[int] = []
        self._came_at = 0
        self._replaced: list[tuple[FrameType, BaseException, list[int], int]] = []  # what a clause had got before it raised another
        self._returned: FrameType | None = None  # the frame that caught it, if that has returned or passed it on
        self._done = False

    def begin(self, send_note: Callable[..., None]) -> None:
        self._send_note, self._thread = send_note, get_ident()
        report = sys.unraisablehook

        def discarded(unraisable: Any) -> None:
            if self._follows(unraisable.exc_value):
                called = unraisable.object
                if called is None and self._last is not None:  # a callback of ctypes
                    called = self._last[0].f_code.co_qualname
                function = called if isinstance(called, str) else name_in(called) or text_of(called)
                send_note("discarded", function, unraisable.err_msg or "", *_last_line(unraisable.exc_value))
            report(unraisable)

        sys.unraisablehook = discarded

    def entered(self, frame: FrameType | None) -> None:
        interrupted = frame
        self._interrupted.clear()
        while interrupted is not None:
            if sys.version_info < (3, 12):
                interrupted.f_trace = self._trace
            self._interrupted.add(interrupted)
            interrupted = interrupted.f_back
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            sys.settrace(self._trace)

    def returned(self) -> None:
        self._send_note("returned")

    def _follows(self, error: BaseException | None) -> bool:
        """Whether this is the interrupt, or what it became: the cancelling of a task, a group, or what C code raised for it."""
        if error is None:
            return False
        if error is self._converted or (self._kind is not None and isinstance(error, self._kind)):
            return True
        if isinstance(error, BaseExceptionGroup):
            return any(self._follows(part) for part in error.exceptions)
        return not isinstance(error, _OFTEN)  # KeyboardInterrupt, CancelledError, trio.Cancelled, SystemExit

    def _raised(self, frame: FrameType, error: BaseException) -> None:
        """An exception reaches a frame."""
        if self._kind is None and frame in self._interrupted:  # one in a frame of the handler itself is not the interrupt yet
            self._kind = type(error)
        last, self._last = self._last, None
        if not self._follows(error) and last is not None and last[1] is frame and not self._lines:
            self._converted = error
            self._send_note("converted", last[0].f_code.co_qualname, *_position(frame), full_name_of_class(type(error)))
        elif not self._follows(error) and frame is self._stopped_in and _came_of(error, self._exception):
            assert self._exception is not None, "the clause got it"  # `raise Failed from interrupt`, or a cleanup that failed
            self._replaced.append((frame, self._exception, self._lines, self._came_at))
            self._converted = error
            self._send_note("replaced", *_position(frame), full_name_of_class(type(error)))

    def _handled(self, frame: FrameType, error: BaseException) -> None:
        """A clause of a frame gets the exception; it may pass it on."""
        if self._follows(error):
            self._stopped_in, self._exception, self._lines = frame, error, []
            self._came_at = _line_of(error, frame)

    def _left(self, frame: FrameType, error: BaseException) -> None:
        """The exception leaves a frame."""
        if not self._follows(error):
            return
        self._stopped_in, self._lines = None, []
        caller = frame.f_back
        self._last = frame, caller
        if caller is not None and not ours(caller.f_code.co_filename):
            self._called_at = _position(caller)
            self._send_note("unwound", frame.f_code.co_filename, frame.f_code.co_qualname)

    def _line(self, frame: FrameType) -> None:
        """The next line runs in a frame that got the exception, or that called C code which called a function that it left."""
        last = self._last
        if last is not None and frame is last[1]:
            self._send_note("cleared", last[0].f_code.co_qualname, *self._called_at)
            self._last, self._done = None, not foreign(frame.f_code.co_filename)
        if frame is not self._stopped_in or len(self._lines) >= _LINES:
            return
        self._lines.append(frame.f_lineno)
        self._send_note("caught", frame.f_code.co_filename, frame.f_code.co_qualname, self._lines, self._came_at)
        if len(self._lines) > 1 and (handled := sys.exc_info()[1]) is not self._exception:  # not known as handled at the first line
            self._finish_or_restore(frame, handled)

    def _finish_or_restore(self, frame: FrameType, handled: BaseException | None) -> None:
        """The frame has handled the exception; another may have come of the interrupt in the clause that still handles that."""
        while self._replaced:
            where, before, lines, came_at = self._replaced.pop()
            if where is frame and before is handled:
                self._exception, self._lines, self._came_at = before, lines, came_at
                self._send_note("restored")
                self._send_note("caught", frame.f_code.co_filename, frame.f_code.co_qualname, lines, came_at)
                return
        self._finish(frame)

    def _finish(self, frame: FrameType) -> None:
        """The frame has handled the exception. A library may have stored it, to raise it later; the user's code has not."""
        self._send_note("swallowed", frame.f_code.co_filename, frame.f_code.co_qualname)
        self._stopped_in = None
        if not foreign(frame.f_code.co_filename):
            self._done = True

    def _monitor(self) -> None:
        monitoring = take_over(_TOOL_ID, "gilcheck-catcher")
        events = monitoring.events

        def on(event: int, found: Callable[[FrameType, BaseException], None]) -> None:
            def called(code: CodeType, offset: int, error: BaseException) -> None:
                if get_ident() == self._thread and not self._done and not ours(code.co_filename):
                    found(getframe(1), error)

            monitoring.register_callback(_TOOL_ID, event, called)

        def handled(frame: FrameType, error: BaseException) -> None:
            self._handled(frame, error)
            if frame is self._stopped_in:
                monitoring.set_local_events(_TOOL_ID, frame.f_code, events.LINE | events.PY_RETURN)

        def left(frame: FrameType, error: BaseException) -> None:
            self._left(frame, error)
            if self._last is not None and (caller := self._last[1]) is not None and not ours(caller.f_code.co_filename):
                monitoring.set_local_events(_TOOL_ID, caller.f_code, events.LINE | events.PY_RETURN)

        def passed_on(frame: FrameType, error: BaseException) -> None:
            if frame is self._stopped_in:
                self._stopped_in, self._lines = None, []

        def line(code: CodeType, number: int) -> None:
            if not self._done:
                self._line(getframe(1))

        def returned(code: CodeType, offset: int, value: object) -> None:
            if not self._done and getframe(1) is self._stopped_in:
                self._finish(getframe(1))

        on(events.RAISE, self._raised)
        on(events.EXCEPTION_HANDLED, handled)
        on(events.RERAISE, passed_on)
        on(events.PY_UNWIND, left)
        monitoring.register_callback(_TOOL_ID, events.LINE, line)
        monitoring.register_callback(_TOOL_ID, events.PY_RETURN, returned)
        monitoring.set_events(_TOOL_ID, events.RAISE | events.EXCEPTION_HANDLED | events.RERAISE | events.PY_UNWIND)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._done or ours(frame.f_code.co_filename):
            return None
        returned, self._returned = self._returned, None
        if returned is not None and event == "line" and frame is returned.f_back:
            self._finish(returned)
        if event == "exception":
            self._raised(frame, argument[1])
            self._handled(frame, argument[1])  # there is no event for a clause: without one, no line of this frame follows
        elif event == "line":
            self._line(frame)
        elif event == "return" and frame is self._stopped_in:
            if argument is not None and not frame.f_code.co_flags & _YIELDS:  # a yield is such an event as well
                self._finish(frame)
            elif self._exception is not None and not self._lines:
                self._left(frame, self._exception)
            else:  # with None as its value, as an exception would have it: what comes next in the caller tells
                self._returned = frame
        return self._trace


def _position(frame: FrameType) -> tuple[str, int | None, str]:
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def _last_line(error: BaseException) -> tuple[str, int, str] | tuple[()]:
    """The innermost line of the user's that an error came through."""
    lines = [(code.co_filename, line or 0, code.co_qualname) for code, line in came_through(error) if of_user(code.co_filename)]
    return lines[-1] if lines else ()


def _came_of(error: BaseException, other: BaseException | None) -> bool:
    """Whether an exception was raised while the other one was handled."""
    cause = error.__context__
    for _ in range(_CHAIN):  # the workload may have made a ring of them
        if cause is None or cause is other:
            break
        cause = cause.__context__
    return cause is other and other is not None


def _line_of(error: BaseException, frame: FrameType) -> int:
    """The line of a frame at which an exception came. A trace function is called before the traceback has it."""
    trace, line = error.__traceback__, frame.f_lineno or 0
    while trace is not None:
        if trace.tb_frame is frame:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _discard(*values: object) -> None:
    """Stands for ``send_note`` until `Catcher.begin`."""
