"""Starts a probed interpreter, sends it commands, and ends it with everything that it started.

It runs in a process group of its own: Ctrl-C at the terminal reaches only this process, and a launcher ends together with the
process that it launched. If this process is killed, `core.reaper` ends the group.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..core.clocks import monotonic, perf_counter
from ..core.cores import pinned
from ..core.exit_status import describe_exit
from ..core.lifecycle import start_program

SCRIPT = Path(__file__).with_name("experiments.py")
ANSWER_TIMEOUT = 20.0  # seconds for an answer
_LONGEST = 1 << 22  # bytes of an answer, at most
_KEPT_OUTPUT = 2000  # bytes of its output that are kept for error messages
_GRACE = 1.0  # seconds for its last output to arrive, and for its processes to end
_KEPT = {
    "PYTHON_GIL",
    "PYTHON_JIT",
    "PYTHONHASHSEED",
}  # PYTHON variables that are passed on: they decide how it runs, and not what it imports
_POSIX = os.name == "posix"

Answer = dict[str, Any]


class ExperimentFailed(Exception):
    """An experiment got no figure from the interpreter; the message gives the reason in one line."""


class NoAnswer(ExperimentFailed):
    """The interpreter is running, and did not answer in time."""


class InterpreterGone(ExperimentFailed):
    """The interpreter ended, or its answer is not one of the script: it cannot be used any further."""


def command(given: str) -> list[str]:
    """Return the command line of an interpreter: a path or a name, optionally followed by arguments.

    Raises:
        ExperimentFailed: no such program exists.
    """
    try:
        words = [given] if shutil.which(given) else shlex.split(given)
    except ValueError:
        words = [given]
    program = shutil.which(words[0]) if words else None
    if program is None:
        there = words and Path(words[0]).exists()
        raise ExperimentFailed("it is not a program that can be run" if there else "there is no such program")
    return [program, *words[1:]]


def environment() -> dict[str, str]:
    """Return the environment without the PYTHON variables that apply to this interpreter, such as PYTHONPATH."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _KEPT}


class InterpreterProcess:
    """A process with a group of its own, which `close` ends.

    Args:
        command_line: the program and its arguments.
        cores: pin it to this many cores; None does not pin it.
        pipes: whether its standard input and output are pipes to this process. Otherwise the end of its output is kept.

    Raises:
        ExperimentFailed: the system cannot start it.
        BadValue: it cannot be pinned to so many cores.
    """

    def __init__(self, command_line: Sequence[str], *, cores: int | None = None, pipes: bool = False) -> None:
        self.output = bytearray()
        self.started = perf_counter()
        try:
            with pinned(cores), _sigint_not_ignored():
                self._life = start_program(
                    command_line,
                    group=True,
                    stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL if pipes else subprocess.STDOUT,
                    env=environment(),
                    process_group=0 if _POSIX else None,
                )
        except OSError as error:
            raise ExperimentFailed(f"it cannot be started ({error.strerror or error})") from error
        assert self._life.program is not None, "start_program has started it"
        self.process = self._life.program
        assert self.process.stdout is not None, "it is a pipe"
        self._reader: threading.Thread | None = None
        if not pipes:
            self._reader = threading.Thread(target=self._read_output, args=(self.process.stdout,), daemon=True)
            self._reader.start()

    def __enter__(self) -> InterpreterProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End it, and everything that it started in its group."""
        self._life.end()
        if self._reader is not None:
            self._reader.join(_GRACE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and (self._reader is None or not self._reader.is_alive()):
                try:
                    pipe.close()
                except OSError:
                    pass

    def ended(self, seconds: float = 0.0) -> str | None:
        """Wait up to ``seconds`` for its end; return how it ended, or None while it runs."""
        if not self._life.wait(seconds):
            return None
        if self._reader is not None:
            self._reader.join(_GRACE)
        return f"it {describe_exit(self._life.status)}"

    def last_output(self) -> str:
        """Return the last line of its output, to be added to a message; empty if there is none."""
        lines = [line for line in self.output.decode(errors="replace").splitlines() if line.strip()]
        return f"; its last output: {printable(lines[-1])!r}" if lines else ""

    def first_output(self, answer_timeout: float) -> float:
        """Return the seconds from its start to its first output; only for a process with pipes.

        Raises:
            NoAnswer, InterpreterGone: it printed nothing.
        """
        assert self.process.stdout is not None, "it is a pipe"
        times: list[float] = []

        def read_first(pipe: IO[bytes]) -> None:
            if pipe.read(1):
                times.append(perf_counter())

        # a thread, because select has no pipes on Windows
        self._reader = threading.Thread(target=read_first, args=(self.process.stdout,), daemon=True)
        self._reader.start()
        self._reader.join(answer_timeout)
        if times:
            return times[0] - self.started
        raise (
            NoAnswer(f"it printed nothing in {answer_timeout:g} s")
            if self.ended() is None
            else InterpreterGone(f"{self.ended()}, and printed nothing")
        )

    def _read_output(self, pipe: IO[bytes]) -> None:
        """Read all its output, so that it never blocks on a full pipe, and keep the end of it."""
        try:
            while part := os.read(pipe.fileno(), 65536):
                self.output += part
                del self.output[:-_KEPT_OUTPUT]
        except (OSError, ValueError):
            pass


class InterpreterSession(InterpreterProcess):
    """An interpreter that runs our script and is connected to this process.

    Args:
        interpreter: its command line, without the script.
        cores: pin it to this many cores; None does not pin it.
        answer_timeout: seconds that an answer may take.

    Raises:
        ExperimentFailed: it cannot be started, does not connect, or is not Python.
        BadValue: it cannot be pinned to so many cores.
    """

    def __init__(self, interpreter: Sequence[str], *, cores: int | None = None, answer_timeout: float = ANSWER_TIMEOUT) -> None:
        self.answer_timeout = answer_timeout
        self._received = b""
        self._connections: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        try:
            self._key = secrets.token_hex(16)
            super().__init__([*interpreter, str(SCRIPT), str(self._server.getsockname()[1]), self._key], cores=cores)
        except BaseException:
            self._server.close()
            raise
        try:
            self._control = self.accept(self._key)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> InterpreterSession:
        return self

    def close(self) -> None:
        super().close()
        for sock in (self._server, *self._connections):
            sock.close()

    def accept(self, key: str) -> socket.socket:
        """Return its next connection.

        Raises:
            NoAnswer, InterpreterGone: it did not connect.
        """
        deadline = monotonic() + self.answer_timeout
        while (left := deadline - monotonic()) > 0:
            self._server.settimeout(min(left, 0.05))
            try:
                sock, _ = self._server.accept()
            except TimeoutError:
                if (how := self.ended()) is not None:
                    raise InterpreterGone(f"{how} before it ran our script{self.last_output()}") from None
                continue
            try:
                sock.settimeout(_GRACE)
                if sock.recv(len(key), socket.MSG_WAITALL) == key.encode():
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._connections.append(sock)
                    return sock
            except OSError:
                pass
            sock.close()  # another process of this machine
        raise NoAnswer(f"it did not answer in {self.answer_timeout:g} s{self.last_output()}")

    def request(self, do: str, **order: Any) -> Answer:
        """Send a command, and return the answer.

        Raises:
            NoAnswer, InterpreterGone: there is no answer.
            ExperimentFailed: the answer is an error.
        """
        self.send(do, **order)
        return self.receive()

    def send(self, do: str, **order: Any) -> None:
        """Send a command; `receive` returns the answer.

        Raises:
            InterpreterGone: the interpreter has ended.
        """
        try:
            self._control.sendall(json.dumps({"do": do, **order}).encode() + b"\n")
        except OSError:
            raise self._gone() from None

    def receive(self, seconds: float | None = None) -> Answer:
        """Return its next answer.

        Args:
            seconds: how long to wait; its ``answer_timeout`` by default.

        Raises:
            NoAnswer, InterpreterGone: there is no answer, or none that can be read.
            ExperimentFailed: the answer is an error.
        """
        answer_timeout = self.answer_timeout if seconds is None else seconds
        deadline = monotonic() + answer_timeout
        while b"\n" not in self._received:
            self._control.settimeout(max(0.001, deadline - monotonic()))
            try:
                part = self._control.recv(1 << 16)
            except TimeoutError:
                raise NoAnswer(f"it did not answer in {answer_timeout:g} s") from None
            except OSError:
                part = b""
            if not part:
                raise self._gone()
            self._received += part
            if len(self._received) > _LONGEST:
                raise InterpreterGone(f"its answer is longer than {_LONGEST} bytes")
        line, _, self._received = self._received.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise InterpreterGone(
                f"it answered {printable(line[:60].decode(errors='replace'))!r}, which is no answer of the script"
            )
        if "error" in answer:
            raise ExperimentFailed(printable(str(answer["error"])))
        return answer

    def expect(self, name: str, seconds: float | None = None) -> Answer:
        """Return its next answer, which must have the field ``name``.

        Raises:
            NoAnswer, InterpreterGone, ExperimentFailed: as `receive`.
        """
        answer = self.receive(seconds)
        if name not in answer:
            raise InterpreterGone(f"it answered {printable(repr(answer))} instead of {name!r}")
        return answer

    def number(self, value: object) -> float:
        """Return a number of its answer.

        Raises:
            InterpreterGone: it is not a finite number.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InterpreterGone(f"it answered {printable(repr(value))} instead of a number")
        return float(value)

    def connection(self) -> tuple[int, str]:
        """Return the port and the key for another connection to this process."""
        return self._server.getsockname()[1], self._key

    def memory(self) -> int:
        """Return its resident memory in bytes.

        Raises:
            ExperimentFailed: the system does not show it.
        """
        return resident(self.process.pid)

    def cpu(self) -> float:
        """Return the CPU seconds that it has used so far.

        Raises:
            ExperimentFailed: the system does not show them.
        """
        return _summed(self.process.pid, lambda process: sum(process.cpu_times()[:2]))

    def interrupt(self) -> float:
        """Send SIGINT to its group; return the time of sending, by ``time.perf_counter``.

        Raises:
            ExperimentFailed: the system is not POSIX.
        """
        if not _POSIX:
            raise ExperimentFailed("signals are sent on POSIX systems only")
        sent = perf_counter()
        os.killpg(self.process.pid, signal.SIGINT)  # to the group, as a terminal does: it may be behind a launcher
        return sent

    def _gone(self) -> InterpreterGone:
        how = self.ended(_GRACE)
        return InterpreterGone(
            "it closed the connection, and is still running" if how is None else f"{how} during the experiment{self.last_output()}"
        )


def resident(pid: int) -> int:
    """Return the resident memory of a process and its children, in bytes: the interpreter may be the child of a launcher.

    Raises:
        ExperimentFailed: the system does not show it.
    """
    return int(_summed(pid, lambda process: process.memory_info().rss))


def _summed(pid: int, look: Callable[[Any], float]) -> float:
    """Return the sum of ``look`` over a process and its children."""
    import psutil  # slow to import

    try:
        process = psutil.Process(pid)
        return sum(map(look, (process, *process.children(recursive=True))))
    except psutil.Error as error:
        raise ExperimentFailed(f"the system does not show its figures ({type(error).__name__})") from error


@contextmanager
def _sigint_not_ignored() -> Iterator[None]:
    """Let processes started in the block receive SIGINT, even if this process ignores it, as the background job of a shell does.

    The system resets a signal handler of the parent, but a child inherits that a signal is ignored, and Java then ignores it too.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def printable(text: str) -> str:
    """Return the text as one printable line of at most 160 characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:160]
