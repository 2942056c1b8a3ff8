"""A guarded child process: what happens in there, a crash, an exit or a hang included, comes back as a result.

The child is a fork, so it has everything the parent had in memory: fixtures, closures, open files. It runs in a process group
of its own: a Ctrl-C at the terminal reaches the parent alone, and the parent ends the whole group, grandchildren included; if
the parent is killed itself, `warden` does.

A fork has only the thread that forked. What other threads held then stays held, so `can_fork` says no once the program has
started threads of its own. Stacks of a hung child are written by ``faulthandler``'s signal handler, which needs no GIL. What
does not work: Python code in the child, when that very GIL is what is stuck; and ``faulthandler.dump_traceback_later``, which
waits forever for its timer thread in a fork of a process that had one.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import pickle
import select
import signal
import struct
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic, monotonic_ns, sleep  # bound now: a test may patch the module
from typing import IO, Any, NoReturn

from . import warden

_HEADER = struct.Struct("!cQ")
_ANSWER, _CLOCK, _NOTE = b"A", b"C", b"N"
_DUMP_SIGNAL = getattr(signal, "SIGUSR2", None)  # asks a hung child for its stacks
_DUMP_GRACE = 0.5  # seconds between that and the kill
_EXIT_GRACE = 2.0  # seconds an answering child gets to be gone
_POLL = 0.05
_REAP_POLL = 0.002  # where the system has no pidfd
_PR_SET_PDEATHSIG = 1


class Ending(StrEnum):
    ANSWERED = "answered"
    EXITED = "exited"
    KILLED = "killed"
    HUNG = "hung"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Outcome:
    """How a child ended.

    Attributes:
        ending: answered, or exited without an answer, or killed by a signal, or hung and ended by us, or stopped (it wanted the
            terminal, say) and ended by us.
        payload: its answer; empty unless answered.
        status: its exit status, or the signal's number.
        trace: stacks that ``faulthandler`` wrote in it; may be empty.
        seconds: how long it lived.
    """

    ending: Ending
    payload: bytes
    status: int
    trace: str
    seconds: float

    def __str__(self) -> str:
        stacks = f"\n{self.trace}" if self.trace else ""
        match self.ending:
            case Ending.ANSWERED:
                return "it answered"
            case Ending.EXITED:
                return f"the process exited with status {self.status} in mid-test (os._exit?) after {self.seconds:.1f} s{stacks}"
            case Ending.KILLED:
                return f"the process was killed by {_signal_name(self.status)} after {self.seconds:.1f} s{stacks}"
            case Ending.HUNG:
                return f"no end within its time limit; ended after {self.seconds:.1f} s{stacks}"
            case Ending.STOPPED:
                return f"stopped by {_signal_name(self.status)}: it wants the terminal, which a child cannot have (breakpoint()?)"


class ChildSide:
    """The child's end: it answers once, and may say how long it needs."""

    def __init__(self, pipe: int, trace: IO[bytes], limit: float) -> None:
        assert _DUMP_SIGNAL is not None, "where there is a fork there are user signals"
        self._pipe = pipe
        faulthandler.enable(trace)
        faulthandler.register(_DUMP_SIGNAL, trace)
        self.clock(limit)

    def clock(self, limit: float | None) -> None:
        """From now on this child has ``limit`` seconds; None stops the clock, while it waits for others."""
        self._send(_CLOCK, b"" if limit is None else struct.pack("!d", limit))

    def tell(self, payload: bytes) -> None:
        """Send a note, which `ParentSide.hear` returns. Safe in a signal handler, and silent once the pipe is gone."""
        try:
            self._send(_NOTE, payload)
        except OSError:  # closed by the code under test: what is measured must not fail of it
            pass

    def answer(self, payload: bytes) -> NoReturn:
        """Hand over the answer and be gone, without the parent's exit handlers and buffered output a second time."""
        self._send(_ANSWER, payload)
        os._exit(0)

    def _send(self, kind: bytes, payload: bytes) -> None:
        data = memoryview(_HEADER.pack(kind, len(payload)) + payload)
        while data:
            data = data[os.write(self._pipe, data) :]


class ParentSide:
    """The parent's end: waits, and leaves nothing behind."""

    def __init__(self, pid: int, pipe: int, trace: IO[bytes], limit: float, own_group: bool) -> None:
        self._pid, self._pipe, self._trace, self._own_group = pid, pipe, trace, own_group
        self._reaped, self._stopped = False, 0
        self._start = monotonic()
        self._deadline: float | None = self._start + limit
        self._received = bytearray()
        self._answer: bytes | None = None
        self._notes: list[bytes] = []
        self._pidfd = _pidfd(pid)
        self._gone = select.poll()
        if self._pidfd is not None:
            self._gone.register(self._pidfd, select.POLLIN)
        self._poll = select.poll()  # made once: what comes right after a signal must be short, the child may wait for this core
        for descriptor in (pipe, self._pidfd):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        self.gone_at: int | None = None
        self.status: int | None = None

    @property
    def pid(self) -> int:
        return self._pid

    def hear(self, seconds: float) -> list[bytes]:
        """The notes that came, as soon as there is one, the child is gone or the seconds are over.

        Once the child is gone, ``gone_at`` holds when that was seen (``time.monotonic_ns``) and ``status`` its exit status, or
        minus the signal that killed it.
        """
        until = monotonic() + seconds
        while not self._notes and self.gone_at is None:
            left = max(0.0, until - monotonic())
            events = dict(self._poll.poll((left if self._pidfd is not None else min(left, _REAP_POLL)) * 1e3))
            if self._pipe in events and not self._receive():
                self._poll.unregister(self._pipe)  # the child closed it, and lives on
            if (self._pidfd is None or self._pidfd in events) and (status := self._reap(0)) is not None:
                self.gone_at, self.status = monotonic_ns(), status
                while self._receive():  # what it said before it died
                    pass
            if not left:
                break
        return self.notes()

    def notes(self) -> list[bytes]:
        """The notes that came meanwhile and were not yet heard; also after `wait`."""
        notes, self._notes = self._notes, []
        return notes

    def stacks(self, seconds: float = _DUMP_GRACE) -> str:
        """The stacks of all its threads now; what was written after ``seconds``, if it is stuck beyond even that."""
        assert _DUMP_SIGNAL is not None, "where there is a fork there are user signals"
        before = self._written()
        if not _catches(self._pid, _DUMP_SIGNAL):  # it took the signal for itself, and would die of ours
            return ""
        try:
            os.kill(self._pid, _DUMP_SIGNAL)
        except ProcessLookupError:
            return ""
        until, size = monotonic() + seconds, before
        while monotonic() < until and self.gone_at is None:
            sleep(0.01)
            if size > before and size == self._written():
                break
            size = self._written()
        return os.pread(self._trace.fileno(), 1 << 20, before).decode(errors="replace").strip()

    def end(self) -> str:
        """End it, and all its process group; returns what ``faulthandler`` wrote in it."""
        self._kill()
        os.close(self._pipe)
        if self._pidfd is not None:
            os.close(self._pidfd)
        trace = os.pread(self._trace.fileno(), 1 << 20, 0).decode(errors="replace").strip()
        self._trace.close()
        return trace

    def _written(self) -> int:
        return os.fstat(self._trace.fileno()).st_size

    def wait(self) -> Outcome:
        """Wait for the answer or the end; a child that outruns its clock is ended. Its process group dies either way."""
        try:
            ending, status = self._watch()
        finally:
            trace = self.end()
        return Outcome(ending, self._answer or b"", status, trace, monotonic() - self._start)

    def _watch(self) -> tuple[Ending, int]:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        open_ = True
        while True:
            if open_ and poll.poll(_POLL * 1e3):
                open_ = self._receive()
            if self._answer is not None:
                return Ending.ANSWERED, self._reap(_EXIT_GRACE) or 0
            if (status := self._reap(0 if open_ else _POLL)) is not None:
                while self._receive():  # what it said before it died
                    pass
                if self._answer is not None:
                    return Ending.ANSWERED, status
                return (Ending.KILLED, -status) if status < 0 else (Ending.EXITED, status)
            if self._stopped:
                return Ending.STOPPED, self._stopped
            if self._deadline is not None and monotonic() > self._deadline:
                os.kill(self._pid, _DUMP_SIGNAL)  # type: ignore[arg-type]
                self._reap(_DUMP_GRACE)
                return Ending.HUNG, 0

    def _receive(self) -> bool:
        """Take in what has arrived; False at the end of the pipe."""
        os.set_blocking(self._pipe, False)
        try:
            data = os.read(self._pipe, 1 << 20)
        except BlockingIOError:
            return False
        self._received += data
        while len(self._received) >= _HEADER.size:
            kind, size = _HEADER.unpack_from(self._received)
            if len(self._received) < (end := _HEADER.size + size):
                break
            payload = bytes(self._received[_HEADER.size : end])
            del self._received[:end]
            if kind == _ANSWER:
                self._answer = payload
            elif kind == _NOTE:
                self._notes.append(payload)
            else:
                self._deadline = monotonic() + struct.unpack("!d", payload)[0] if payload else None
        return bool(data)

    def _reap(self, seconds: float) -> int | None:
        """Its exit status (negative: the signal) once it is dead, waiting up to ``seconds``."""
        until = monotonic() + seconds
        while True:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return 0
            if pid and os.WIFSTOPPED(status):
                self._stopped = os.WSTOPSIG(status)
                return None
            if pid:
                self._reaped = True
                return os.waitstatus_to_exitcode(status)
            if (left := until - monotonic()) <= 0:
                return None
            if self._pidfd is None:
                sleep(_REAP_POLL)
            else:  # readable when it is gone, but not when it is stopped
                self._gone.poll(min(left, _POLL) * 1e3)

    def _kill(self) -> None:
        try:
            if self._own_group:
                os.killpg(self._pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            if not self._reaped:  # it may have left its group
                os.kill(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not self._reaped:
            try:
                os.waitpid(self._pid, 0)
            except ChildProcessError:
                pass
        if self._own_group:
            warden.release(self._pid)


def can_fork() -> str | None:
    """None if this process can be forked safely now; otherwise why not, in words."""
    if not hasattr(os, "fork"):
        return "this platform has no fork"
    if sys.platform == "darwin":
        return "system libraries of macOS do not survive a fork"
    others = [
        t.name
        for t in threading.enumerate()
        if t is not threading.main_thread() and not isinstance(t, threading._DummyThread) and not _plugins_own(t)
    ]
    if others:
        return f"threads are running that a fork would lose: {', '.join(others[:3])}"
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread can fork safely"
    return None


def _plugins_own(thread: threading.Thread) -> bool:
    """Whether it is a thread of a pytest plugin (the timer of pytest-timeout, the server of pytest-rerunfailures): a child does not
    need it, and it holds nothing but its own."""
    target = getattr(thread, "function", None) or getattr(thread, "_target", None)
    return str(getattr(target, "__module__", "")).startswith("pytest_") and "gilcheck" not in str(getattr(target, "__module__", ""))


def fork(limit: float, own_group: bool = True) -> ParentSide | ChildSide:
    """Fork: returns the `ChildSide` in the child and the `ParentSide` in the parent.

    Args:
        limit: seconds the child has, until it says otherwise.
        own_group: whether it leads a process group of its own. A child of a guarded child stays in that one's group, or it
            would outlive it.
    """
    if own_group:
        warden.start()
    parent = os.getpid()
    reading, writing = os.pipe()
    trace = tempfile.TemporaryFile()  # noqa: SIM115 - both processes keep it, and the parent closes it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded": can_fork has looked closer
        pid = os.fork()
    if pid == 0:
        _die_with(parent)
        if own_group:
            os.setpgid(0, 0)
        os.close(reading)
        return ChildSide(writing, trace, limit)
    if own_group:
        try:
            os.setpgid(pid, pid)  # in both, so that neither is too late
        except (PermissionError, ProcessLookupError):
            pass
        warden.watch(pid)
    os.close(writing)
    return ParentSide(pid, reading, trace, limit, own_group)


def call(function: Callable[[], Any], limit: float) -> tuple[Outcome, Any]:
    """Run ``function`` in a forked child.

    Returns:
        The outcome, and what the function returned (pickled across), or None unless it answered.

    Raises:
        BaseException: what the function raised, if that can be pickled.
    """
    side = fork(limit)
    if isinstance(side, ChildSide):
        try:
            answer = (True, function())
        except BaseException as error:  # it is the function's, and raised again in the parent
            answer = (False, error)
        try:
            side.answer(pickle.dumps(answer))
        except BaseException as error:
            side.answer(pickle.dumps((False, RuntimeError(f"what came out of the child cannot be pickled: {error!r}"))))
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        return outcome, None
    returned, value = pickle.loads(outcome.payload)
    if not returned:
        raise value
    return outcome, value


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent dies, however that dies; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _pidfd(pid: int) -> int | None:
    """A descriptor that is readable once the process is gone; None where the system has none."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal, as far as the system tells."""
    try:
        with open(f"/proc/{pid}/status") as file:
            masks = [line.split()[1] for line in file if line.startswith("SigCgt")]
        return bool(int(masks[0], 16) >> (number - 1) & 1)
    except (OSError, IndexError):
        return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
