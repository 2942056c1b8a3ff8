"""In the child: runs the workload in the main thread, and says when what happened.

The child's word is a note for each event, stamped with ``time.monotonic_ns``, which all processes of a machine share: the
workload began, a handler was entered, the workload was left.

To know when a handler is entered, one of ours must be the first thing in it. Code looks at its handlers, though: ``asyncio``
cancels its task on Ctrl-C only if it finds Python's own handler in place. So what ``signal.signal`` and ``signal.getsignal`` call
is replaced in the child, in the module ``_signal``, so that ``from signal import signal`` is no way around: what is set gets a
stamp in front, what is asked for comes back without it.

What does not work: a thread that watches for the signal (a stalled process stalls it too); ``signal.set_wakeup_fd`` (the byte
is written when the kernel delivers the signal, long before Python looks); a handler of ours that calls the other one, found by
``getsignal``.
"""

from __future__ import annotations

import _signal
import asyncio
import atexit
import inspect
import json
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from time import monotonic_ns  # bound now: a test may patch the module
from types import FrameType
from typing import Any, NoReturn

from ..core.origin import ours
from ..core.source import code_position
from .handlers import HandlerFacts, look
from .sending import PROBE

Tell = Callable[[bytes], None]


class Instrument:
    """What looks closer, in a run that is made to find a cause; this one does not. It slows the run, so no figure comes of it.

    Attributes:
        portable: whether it works in a new interpreter too.
    """

    portable = False

    def begin(self, tell: Callable[..., None]) -> None:
        """In the child, right before the workload; ``tell(kind, *words)`` sends a note."""

    def entered(self, frame: FrameType | None) -> None:
        """In the child, when a handler is entered."""

    def stuck(self) -> None:
        """In the parent, when a signal was not seen in time, or was seen and the workload not left."""


class Target:
    """The child's side of one shot.

    Args:
        tell: hands a note to the parent.
        signals: those that will be sent.
        instrument: looks closer.
    """

    def __init__(self, tell: Tell, signals: tuple[int, ...], instrument: Instrument | None = None) -> None:
        self._tell, self._signals, self._pid = tell, signals, os.getpid()
        self._instrument = instrument or Instrument()
        self._on_stage = False  # whether signals are the workload's
        self._ours: dict[int, Any] = {}
        self._facts: dict[int, HandlerFacts] = {}

    def run(self, work: Callable[[], Any], setup: Callable[[], object] | None) -> NoReturn:
        """Run the workload, and end this process as an interpreter would end."""
        atexit._clear()  # the parent's; what the workload registers from here on is run
        self._install()
        error: BaseException | None = None
        try:
            if setup is not None:
                setup()
            self._warm_up()
            self._on_stage = True
            self._note("began", monotonic_ns())
            self._instrument.begin(self._note)
            result = work()
            if inspect.iscoroutine(result):
                asyncio.run(result)  # as a program would: its own Ctrl-C handling is part of what is tried
        except BaseException as raised:  # whatever it is, it is the workload's
            error = raised
        self._on_stage = False
        if os.getpid() != self._pid:  # a process that the workload forked has come all the way back: its end is nobody's business
            os._exit(_exit_status(error))
        left = monotonic_ns()
        how = "returned" if error is None else type(error).__name__
        own = error is not None and not isinstance(error, (KeyboardInterrupt, SystemExit))
        self._note("left", left, how, self._still_running(), packed(error) if own else "")
        status = _exit_status(error)
        error = None
        _end(status)

    def _note(self, *words: object) -> None:
        if os.getpid() == self._pid:  # forks of the workload have our pipe and our handlers, and are not what is tried
            self._tell(json.dumps(words).encode())

    def _install(self) -> None:
        """Handlers as a program starts with, except those that somebody set before: they are part of what is tried."""
        real_signal, real_getsignal = _signal.signal, _signal.getsignal

        def stamped(handler: Callable[[int, FrameType | None], Any], where: str) -> Callable[..., Any]:
            def entered(signum: int, frame: FrameType | None) -> Any:
                now = monotonic_ns()
                if not self._on_stage:
                    return None
                self._note("entered", now, signum, _place(frame), where)
                self._instrument.entered(frame)
                return handler(signum, frame)

            return entered

        def install(number: int, handler: Any, where: str) -> None:
            real_signal(number, stamped(handler, where) if callable(handler) else handler)
            self._ours[number] = (real_getsignal(number), handler)

        def set_handler(number: int, handler: Any) -> Any:
            if number not in self._signals:
                return real_signal(number, handler)
            before = get_handler(number)
            install(number, handler, _caller())
            return before

        def get_handler(number: int) -> Any:
            current = real_getsignal(number)
            real, handler = self._ours.get(number, (current, current))
            return handler if current is real else current

        signal.set_wakeup_fd(-1)
        for number in self._signals:
            handler = real_getsignal(number)
            if not callable(handler):
                handler = signal.default_int_handler if number == signal.SIGINT else _signal.SIG_DFL
            install(number, handler, "")
            self._facts[number] = look(number, real_getsignal)
        _signal.signal, _signal.getsignal = set_handler, get_handler
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [*self._signals, PROBE])
            real_signal(PROBE, lambda signum, frame: self._answer_probe(frame, real_getsignal))

    def _warm_up(self) -> None:
        """Have each handler run once, unheard: the first pass of a fresh fork copies the memory pages that it touches, and the
        workload's first signal would pay for that (0.2 ms instead of 0.1)."""
        for number in self._signals:
            if callable(signal.getsignal(number)):
                signal.raise_signal(number)

    def _answer_probe(self, frame: FrameType | None, real_getsignal: Callable[[int], Any]) -> None:
        """The main thread does look at signals: say what has become of those that were to be tried."""
        now = monotonic_ns()
        changes = []
        for number in self._signals:
            ours = self._ours[number]
            replaced = real_getsignal(number) is not ours[0]
            changes.append(look(number, real_getsignal).since(self._facts[number], replaced))
        self._note("probed", now, _place(frame), [change for change in changes if change])

    def _still_running(self) -> list[list[object]]:
        """Threads that the interpreter's end would wait for: [name, kind]."""
        pool = _pool_threads()
        return [
            [thread.name, "a worker of an executor" if _works(thread, pool) else "a non-daemon thread"]
            for thread in threading.enumerate()
            if thread is not threading.current_thread() and (thread in pool or not thread.daemon)
        ]


def _end(status: int) -> NoReturn:
    """What ends an interpreter and may keep it: non-daemon threads, executors, child processes, exit handlers.

    The real end would also run the parent's exit handlers, and flush its buffers a second time.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined] # joins threads; executors registered themselves here
        if (util := sys.modules.get("multiprocessing.util")) is not None:
            util._exit_function()  # joins child processes
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:  # an interpreter's end prints and goes on
        traceback.print_exc()
    finally:
        os._exit(status)


def _exit_status(error: BaseException | None) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 0 if error is None else 1


def packed(error: BaseException | None) -> str:
    """The exception with its story, for the parent to raise again."""
    assert error is not None, "only what was raised is packed"
    trace = error.__traceback__
    while trace is not None and ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    story = "".join(traceback.format_exception(type(error), error, trace))
    for candidate in (error, RuntimeError(f"{type(error).__name__}: {error}")):
        try:
            data = pickle.dumps((candidate, story))
            pickle.loads(data)
            return data.hex()
        except Exception:  # pickle raises whatever the exception's own hooks raise
            continue
    raise AssertionError("a RuntimeError of a string can be pickled")


def unpacked(text: str) -> BaseException:
    """What `packed` packed, with its story as a note."""
    error, story = pickle.loads(bytes.fromhex(text))
    error.add_note(f"raised in the child process that ran the workload:\n{story}")
    return error  # type: ignore[no-any-return]


def _place(frame: FrameType | None) -> list[Any]:
    """[file, line, function, last line, first column, last column] of what the frame was executing."""
    if frame is None:
        return []
    code = frame.f_code
    return [code.co_filename, frame.f_lineno, code.co_qualname, *code_position(code, frame.f_lasti)[1:]]


def _caller() -> str:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == signal.__file__:
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _works(thread: threading.Thread, pool: set[threading.Thread]) -> bool:
    """Whether it is an executor's; one that was interrupted as it started a thread does not know that one yet."""
    return thread in pool or thread.name.startswith("ThreadPoolExecutor-")


def _pool_threads() -> set[threading.Thread]:
    module = sys.modules.get("concurrent.futures.thread")
    return set(getattr(module, "_threads_queues", ()))
