"""The target's side of a trial: runs the workload in the main thread of this process, and reports when what happened.

It sends a note for each event, with a ``time.monotonic_ns``, which all processes of a machine share: the workload began, a
handler was entered, the workload ended.

To report when a handler is entered, code of ours must run first in it. But code compares its handlers: ``asyncio`` cancels its task
on Ctrl-C only if it finds Python's own handler in place. So the functions behind ``signal.signal`` and ``signal.getsignal`` are
replaced in the module ``_signal`` of this process, which also covers ``from signal import signal``: the first wraps the handler
that is set, the second returns it unwrapped.

What does not work: a thread that watches for the signal (a stalled process stalls it too); ``signal.set_wakeup_fd`` (the byte is
written when the kernel delivers the signal, long before Python checks for it); a handler of ours that calls the previous one
(``getsignal`` would return ours).
"""

from __future__ import annotations

import _signal
import asyncio
import atexit
import json
import marshal
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import CoroutineType, FrameType
from typing import Any, NoReturn

from ..core.child_protocol import PIPE_LOST
from ..core.classes import name_of_class
from ..core.clocks import monotonic_ns
from ..core.errors import as_failure
from ..core.packing import packed
from ..core.source import code_position
from ..core.system import FAILING, exit_at_once, getframe, getpid
from ..core.texts import name_in, text_of
from .awaiting import waiting_coroutines
from .handlers import HandlerFacts, inspect_handler, restarts_calls, restarts_can_be_told
from .repeated_imports import import_before
from .sending import PROBE

_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_SIGNAL_FILE = signal.__file__
_ROOM = 200  # calls that ours need, beside those that the workload leaves (sys.setrecursionlimit)
_getpgrp = getattr(os, "getpgrp", lambda: 0)  # the workload may replace it
_addaudithook, _getlimit, _setlimit = sys.addaudithook, sys.getrecursionlimit, sys.setrecursionlimit  # and these


class Instrument:
    """Observes a target more closely, in a run that is made to find a cause; this base class observes nothing.

    An instrument slows the run, so no figure is taken from it.

    Attributes:
        portable: whether it also works in a new interpreter.
    """

    portable = False

    def begin(self, send_note: Callable[..., None]) -> None:
        """Called in the target right before the workload; ``send_note(kind, *values)`` sends a note to the parent."""

    def entered(self, frame: FrameType | None) -> None:
        """Called in the target when a handler is entered, with the frame that it interrupts."""

    def returned(self) -> None:
        """Called in the target when a handler has returned, and raised nothing."""

    def stuck(self) -> None:
        """Called in the parent when a signal was not handled in time, or the workload did not end in time after it."""


class Target:
    """Runs one workload for one trial.

    Args:
        send: sends a note to the parent; returns whether it can.
        signals: numbers of the signals that will be sent.
        instrument: observes this process.
        real_end: whether this interpreter is to end by itself after the workload, as one of a program does.
    """

    def __init__(
        self,
        send: Callable[[bytes], bool],
        signals: tuple[int, ...],
        instrument: Instrument | None = None,
        *,
        real_end: bool = False,
    ) -> None:
        self._real_end = real_end
        self._usual_hook = sys.__excepthook__ if real_end else sys.excepthook  # a fork has what its parent set
        self._send, self._signals, self._pid = send, signals, getpid()
        self._instrument = instrument or Instrument()
        self._audited = False
        self._running = False  # whether the workload runs, and a signal is meant for it
        self._handlers: dict[int, tuple[Any, Any]] = {}  # by signal: what is installed, and what the workload set
        self._facts: dict[int, HandlerFacts] = {}
        self._tells_restarts = False

    def run(self, work: Callable[[], Any], setup: Callable[[], object] | None, imports: tuple[str, ...] = ()) -> NoReturn:
        """Run the workload, and exit as an interpreter would.

        Args:
            setup: called before the workload.
            imports: names of the modules to import after the setup.

        Raises:
            SystemExit: with ``real_end``, after the workload.
        """
        if not self._real_end:
            atexit._clear()  # the parent's exit handlers; those that the workload registers from here on are run
        self._install()
        error: BaseException | None = None
        try:
            if setup is not None:
                _set_up(setup)
            if imports:
                import_before(imports)
            self._warm_up()
            self._running = True
            self._note("began", monotonic_ns())
            self._instrument.begin(self._note)
            result = work()
            if type(result) is CoroutineType:
                asyncio.run(result)  # as a program would, with its handling of Ctrl-C
        except BaseException as raised:  # the workload may raise anything
            error = raised
        self._running = False
        if getpid() != self._pid:  # a process that the workload forked returned from the workload as well: it does not report
            exit_at_once(_exit_status(error))
        left = monotonic_ns()
        _setlimit(_getlimit() + _ROOM)
        left_by = "returned" if error is None else name_of_class(type(error))
        own = None if isinstance(error, (KeyboardInterrupt, SystemExit)) else error
        self._note("left", left, left_by, self._still_running(), "" if own is None else packed(own))
        status = _exit_status(error)
        if error is not None and self._audited and not isinstance(error, SystemExit):
            self._call_hook(error)
        error = own = None
        if self._real_end:
            raise SystemExit(status)
        _exit(status)

    def _note(self, *values: object) -> None:
        if getpid() != self._pid:  # a fork of the workload has our pipe and our handlers, but is not the target
            return
        if not self._send(_encoded(values)):  # what it does from here on could not be told
            exit_at_once(PIPE_LOST)

    def _install(self) -> None:
        """Install the handlers that a program starts with, or those that were set before, and wrap them."""
        real_signal, real_getsignal = _signal.signal, _signal.getsignal

        def reporting(handler: Callable[[int, FrameType | None], Any], where: str) -> Callable[..., Any]:
            def entered(signum: int, frame: FrameType | None) -> Any:
                now = monotonic_ns()
                if getpid() != self._pid:  # a fork of the workload, or of its setup
                    return handler(signum, frame)
                if not self._running:
                    return None
                try:
                    limit = _getlimit()
                    try:
                        _setlimit(limit + _ROOM)
                        self._report_entered(now, signum, frame, where)
                    finally:
                        _setlimit(limit)
                except Exception:  # it must not reach the workload, which would end by it: that looks as if the signal had ended it
                    for _ in FAILING:
                        pass
                result = handler(signum, frame)
                self._instrument.returned()
                return result

            return entered

        def install(number: int, handler: Any, where: str) -> None:
            real_signal(number, reporting(handler, where) if callable(handler) else handler)
            self._handlers[number] = (real_getsignal(number), handler)

        def set_handler(number: int, handler: Any) -> Any:
            if number not in self._signals:
                return real_signal(number, handler)
            before = get_handler(number)
            install(number, handler, _caller())
            return before

        def get_handler(number: int) -> Any:
            current = real_getsignal(number)
            real, handler = self._handlers.get(number, (current, current))
            return handler if current is real else current

        signal.set_wakeup_fd(-1)
        for number in self._signals:
            handler = real_getsignal(number)
            if not callable(handler):
                handler = signal.default_int_handler if number == signal.SIGINT else _signal.SIG_DFL
            install(number, handler, "")
            self._facts[number] = inspect_handler(number, real_getsignal)
        _signal.signal, _signal.getsignal = set_handler, get_handler
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [*self._signals, PROBE])
            real_signal(PROBE, lambda signum, frame: self._answer_probe(frame, real_getsignal))
            self._tells_restarts = restarts_can_be_told(PROBE)

    def _report_entered(self, now: int, signum: int, frame: FrameType | None, where: str) -> None:
        try:
            restarts = self._tells_restarts and restarts_calls(signum)
        except Exception:  # the workload has changed what that needs
            restarts = False
        self._note("entered", now, signum, _place(frame), where, _imported(frame), restarts)
        self._report_suicide()
        self._instrument.entered(frame)

    def _report_suicide(self) -> None:
        """From now on, report the signals that this process sends to itself: a SIGKILL of its own is an exit."""
        if not self._audited:
            self._audited = True
            _addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("os.kill", "os.killpg", "os.exec"):
            return
        try:
            group = _getpgrp()
            if event == "os.exec":
                self._note("became", os.fsdecode(arguments[0]))
            elif arguments[0] in ((self._pid, 0, -1, -group) if event == "os.kill" else (0, group)):
                self._note("ends itself", int(arguments[1]))
        except Exception:  # an error here would keep the workload from what it is about to do
            pass

    def _call_hook(self, error: BaseException) -> None:
        """Call ``sys.excepthook``, if it is another one by now: at the end of a program, the interpreter does."""
        hook = sys.excepthook
        if hook is self._usual_hook:
            return
        self._note("hook", name_in(hook) or text_of(hook))
        try:
            hook(type(error), error, error.__traceback__)
        except BaseException:  # an interpreter prints it and continues to exit
            _print_error()
        self._note("hook", "")

    def _warm_up(self) -> None:
        """Run each handler once without reporting it.

        The first run in a fork copies the memory pages that it touches, which would slow the delivery of the real signal (0.2 ms
        instead of 0.1).
        """
        for number in self._signals:
            if callable(signal.getsignal(number)):
                signal.raise_signal(number)

    def _answer_probe(self, frame: FrameType | None, real_getsignal: Callable[[int], Any]) -> None:
        """The main thread checks for signals: report what has changed about the handlers of the signals that are sent."""
        now = monotonic_ns()
        changes = []
        try:
            for number in self._signals:
                replaced = real_getsignal(number) is not self._handlers[number][0]
                changes.append(inspect_handler(number, real_getsignal).changes_since(self._facts[number], replaced))
        except Exception:  # the workload has changed what that needs
            pass
        try:
            self._note("probed", now, _place(frame), [change for change in changes if change])
            self._note("awaits", waiting_coroutines())  # which takes long on a large heap
        except Exception:  # see `entered`
            for _ in FAILING:
                pass

    def _still_running(self) -> list[list[object]]:
        """[name, kind, ident] of each thread that an interpreter waits for before it exits."""
        try:
            pool = _pool_threads()
            return [
                [thread.name, "a worker of an executor" if _is_worker(thread, pool) else "a non-daemon thread", thread.ident or 0]
                for thread in threading.enumerate()
                if thread is not threading.current_thread() and (thread in pool or not thread.daemon)
            ]
        except Exception:  # the workload has changed what that needs; it is only to name what keeps the process
            return []


def _exit(status: int) -> NoReturn:
    """Exit like an interpreter: wait for non-daemon threads, executors and child processes, then run exit handlers.

    A real exit would also run the parent's exit handlers, and flush its buffers a second time.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined] # joins threads; executors registered themselves here
        if (util := sys.modules.get("multiprocessing.util")) is not None:
            util._exit_function()  # joins child processes
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:  # an interpreter prints it and continues to exit
        _print_error()
    finally:
        exit_at_once(status)


def _print_error() -> None:
    try:
        traceback.print_exc()
    except BaseException:  # without a standard error, say
        pass


def _encoded(values: tuple[Any, ...]) -> bytes:
    """A note, without code of the standard library that is written in Python: the workload may have changed what that needs."""
    try:
        return marshal.dumps(values)
    except ValueError:  # a class derived from str or int
        return marshal.dumps(json.loads(json.dumps(values)))


def _set_up(setup: Callable[[], object]) -> None:
    try:
        setup()
    except BaseException as error:
        if (failure := as_failure(error, "setup")) is error:
            raise
    else:
        return
    raise failure


def _exit_status(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 0 if error is None else 1


def _place(frame: FrameType | None) -> list[Any]:
    """[file, line, function, last line, first column, last column] of what the frame is executing; empty without a frame."""
    if frame is None:
        return []
    code = frame.f_code
    return [code.co_filename, frame.f_lineno, code.co_qualname, *code_position(code, frame.f_lasti)[1:]]


def _imported(frame: FrameType | None) -> str:
    """The outermost module that the frame, or one that it was called by, is importing; empty if none."""
    name = ""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename == _IMPORT_SYSTEM and frame.f_code.co_name == "_find_and_load":
            name = str(frame.f_locals.get("name", "a module"))
        frame = frame.f_back
    return name


def _caller() -> str:
    """``"file:line"`` of the call of ``signal.signal``, or of asyncio's ``add_signal_handler``."""
    frame: FrameType | None = getframe(2)
    while frame is not None and (
        frame.f_code.co_filename == _SIGNAL_FILE or frame.f_code.co_name in ("add_signal_handler", "remove_signal_handler")
    ):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_worker(thread: threading.Thread, pool: set[threading.Thread]) -> bool:
    """Whether an executor started this thread. The name tells if the executor was interrupted before it registered the thread."""
    return thread in pool or thread.name.startswith("ThreadPoolExecutor-")


def _pool_threads() -> set[threading.Thread]:
    """The threads that executors have registered to be waited for."""
    module = sys.modules.get("concurrent.futures.thread")
    return set(getattr(module, "_threads_queues", ()))
