"""A probed interpreter: started, told what to do, and gone afterwards, whatever it does.

It runs in a process group of its own: a Ctrl-C at the terminal reaches us alone, and a launcher goes together with what it has
launched. If we are killed ourselves, `core.reaper` ends the group.
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
from time import monotonic, perf_counter
from types import TracebackType
from typing import IO, Any

from ..core import reaper
from ..core.cores import pinned

SCRIPT = Path(__file__).with_name("experiments.py")
PATIENCE = 20.0  # seconds for an answer
_LONGEST = 1 << 22  # bytes of an answer
_LAST_WORDS = 2000  # bytes of its output that are kept
_GRACE = 1.0  # seconds that its last words may take to arrive, and its processes to be gone
_KEPT = {"PYTHON_GIL", "PYTHON_JIT", "PYTHONHASHSEED"}  # of its environment: what decides how it runs, not what it imports
_POSIX = os.name == "posix"

Answer = dict[str, Any]


class Failed(Exception):
    """An experiment got no figure out of the interpreter; the message says why, in one line."""


class NoAnswer(Failed):
    """It was still running, and did not answer in time."""


class Gone(Failed):
    """It ended by itself, or said what our script does not say; whatever it is, it cannot be talked to."""


def command(given: str) -> list[str]:
    """The command line of what was given as an interpreter: a path or name, or one followed by arguments for it.

    Raises:
        Failed: there is nothing to run at that place.
    """
    try:
        words = [given] if shutil.which(given) else shlex.split(given)
    except ValueError:
        words = [given]
    program = shutil.which(words[0]) if words else None
    if program is None:
        there = words and Path(words[0]).exists()
        raise Failed("it is no program that can be run" if there else "there is no such program")
    return [program, *words[1:]]


def environment() -> dict[str, str]:
    """Ours, without what our own interpreter was told about modules and warnings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _KEPT}


class Program:
    """A process with its group, ended by `close` at the latest.

    Args:
        words: its command line.
        cores: keep it on so many cores; None leaves it alone.
        talks: whether we talk to it over its standard input and output; otherwise its last words there are kept.

    Raises:
        Failed: the system cannot start it.
        BadValue: it cannot be kept on so many cores.
    """

    def __init__(self, words: Sequence[str], *, cores: int | None = None, talks: bool = False) -> None:
        self.words = bytearray()
        self.started = perf_counter()
        if _POSIX:
            reaper.start()
        try:
            with pinned(cores), _heard_signals():
                self.process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL if talks else subprocess.STDOUT,
                    env=environment(),
                    process_group=0 if _POSIX else None,
                )
        except OSError as error:
            raise Failed(f"it cannot be started ({error.strerror or error})") from error
        if _POSIX:
            reaper.watch(self.process.pid)
        assert self.process.stdout is not None, "it is a pipe"
        self._listener: threading.Thread | None = None
        if not talks:
            self._listener = threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True)
            self._listener.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End it, with everything it has started that stayed in its group."""
        try:
            if _POSIX:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):  # macOS says so of a group that is a zombie
            pass
        self.process.wait()
        if _POSIX:
            reaper.release(self.process.pid)
        if self._listener is not None:
            self._listener.join(_GRACE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and (self._listener is None or not self._listener.is_alive()):
                try:
                    pipe.close()
                except OSError:
                    pass

    def ended(self, seconds: float = 0.0) -> str | None:
        """How it ended, in words; None while it runs, for so many seconds more."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        if self._listener is not None:
            self._listener.join(_GRACE)
        return f"it exited with status {status}" if status >= 0 else f"it was killed by {_signal(-status)}"

    def said(self) -> str:
        """Its last words, to be added to a sentence."""
        said = [line for line in self.words.decode(errors="replace").splitlines() if line.strip()]
        return f"; its last words: {plain(said[-1])!r}" if said else ""

    def first_output(self, patience: float) -> float:
        """Seconds from its start to the first thing it prints, of a program that talks.

        Raises:
            NoAnswer, Gone: it prints nothing.
        """
        assert self.process.stdout is not None, "it is a pipe"
        heard: list[float] = []

        def listen(pipe: IO[bytes]) -> None:
            if pipe.read(1):
                heard.append(perf_counter())

        self._listener = threading.Thread(
            target=listen, args=(self.process.stdout,), daemon=True
        )  # select does not know pipes on Windows
        self._listener.start()
        self._listener.join(patience)
        if heard:
            return heard[0] - self.started
        raise (
            NoAnswer(f"it printed nothing in {patience:g} s")
            if self.ended() is None
            else Gone(f"{self.ended()}, and printed nothing")
        )

    def _listen(self, pipe: IO[bytes]) -> None:
        """Take in all it prints, so that it never waits for us, and keep the end of it."""
        try:
            while part := os.read(pipe.fileno(), 65536):
                self.words += part
                del self.words[:-_LAST_WORDS]
        except (OSError, ValueError):
            pass


class Guest(Program):
    """An interpreter that runs our script, connected to us.

    Args:
        interpreter: its command line, without the script.
        cores: keep it on so many cores; None leaves it alone.
        patience: seconds that an answer may take.

    Raises:
        Failed: it cannot be started, or does not connect, or is no Python.
        BadValue: it cannot be kept on so many cores.
    """

    def __init__(self, interpreter: Sequence[str], *, cores: int | None = None, patience: float = PATIENCE) -> None:
        self.patience = patience
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

    def __enter__(self) -> Guest:
        return self

    def close(self) -> None:
        super().close()
        for sock in (self._server, *self._connections):
            sock.close()

    def accept(self, key: str) -> socket.socket:
        """Its next connection.

        Raises:
            NoAnswer, Gone: it does not connect.
        """
        deadline = monotonic() + self.patience
        while (left := deadline - monotonic()) > 0:
            self._server.settimeout(min(left, 0.05))
            try:
                sock, _ = self._server.accept()
            except TimeoutError:
                if (how := self.ended()) is not None:
                    raise Gone(f"{how} before it ran our script{self.said()}") from None
                continue
            try:
                sock.settimeout(_GRACE)
                if sock.recv(len(key), socket.MSG_WAITALL) == key.encode():
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._connections.append(sock)
                    return sock
            except OSError:
                pass
            sock.close()  # somebody else on this machine
        raise NoAnswer(f"it did not answer in {self.patience:g} s{self.said()}")

    def ask(self, do: str, **order: Any) -> Answer:
        """Have it do that, and wait for the answer.

        Raises:
            NoAnswer, Gone: there is none.
            Failed: it answered with an error.
        """
        self.tell(do, **order)
        return self.hear()

    def tell(self, do: str, **order: Any) -> None:
        """Have it do that; `hear` gets the answer.

        Raises:
            Gone: it is no more.
        """
        try:
            self._control.sendall(json.dumps({"do": do, **order}).encode() + b"\n")
        except OSError:
            raise self._gone() from None

    def hear(self, seconds: float | None = None) -> Answer:
        """What it says next, within its patience or so many seconds.

        Raises:
            NoAnswer, Gone: nothing, or nothing that makes sense.
            Failed: that there was an error.
        """
        patience = self.patience if seconds is None else seconds
        deadline = monotonic() + patience
        while b"\n" not in self._received:
            self._control.settimeout(max(0.001, deadline - monotonic()))
            try:
                part = self._control.recv(1 << 16)
            except TimeoutError:
                raise NoAnswer(f"it did not answer in {patience:g} s") from None
            except OSError:
                part = b""
            if not part:
                raise self._gone()
            self._received += part
            if len(self._received) > _LONGEST:
                raise Gone("its answer has no end")
        line, _, self._received = self._received.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Gone(f"it answered {plain(line[:60].decode(errors='replace'))!r}, which is not what our script says")
        if "error" in answer:
            raise Failed(plain(str(answer["error"])))
        return answer

    def expect(self, name: str, seconds: float | None = None) -> Answer:
        """Its next answer, which has to have that name.

        Raises:
            NoAnswer, Gone, Failed: as `hear`.
        """
        answer = self.hear(seconds)
        if name not in answer:
            raise Gone(f"it answered {plain(repr(answer))} instead of {name!r}")
        return answer

    def number(self, value: object) -> float:
        """A number of its answer.

        Raises:
            Gone: that is none.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Gone(f"it answered {plain(repr(value))} instead of a number")
        return float(value)

    def connection(self) -> tuple[int, str]:
        """Port and key for another connection to us."""
        return self._server.getsockname()[1], self._key

    def memory(self) -> int:
        """Bytes of memory that it keeps resident.

        Raises:
            Failed: it cannot be looked at.
        """
        return resident(self.process.pid)

    def cpu(self) -> float:
        """CPU seconds that it has used so far.

        Raises:
            Failed: it cannot be looked at.
        """
        return _summed(self.process.pid, lambda process: sum(process.cpu_times()[:2]))

    def interrupt(self) -> float:
        """Send SIGINT to it; when, on the clock ``time.perf_counter``.

        Raises:
            Failed: this system has no such signals.
        """
        if not _POSIX:
            raise Failed("signals are sent on POSIX systems only")
        sent = perf_counter()
        os.killpg(self.process.pid, signal.SIGINT)  # as a terminal does; a launcher gets it too
        return sent

    def _gone(self) -> Gone:
        how = self.ended(_GRACE)
        return Gone("it closed the connection, and lives on" if how is None else f"{how} in the middle of it{self.said()}")


def resident(pid: int) -> int:
    """Bytes of memory that a process and its children keep resident: a launcher may have started the interpreter.

    Raises:
        Failed: it cannot be looked at.
    """
    return int(_summed(pid, lambda process: process.memory_info().rss))


def _summed(pid: int, look: Callable[[Any], float]) -> float:
    """What one look at each of a process and its children adds up to."""
    import psutil  # slow to import

    try:
        process = psutil.Process(pid)
        return sum(map(look, (process, *process.children(recursive=True))))
    except psutil.Error as error:
        raise Failed(f"it cannot be looked at ({type(error).__name__})") from error


@contextmanager
def _heard_signals() -> Iterator[None]:
    """What is started in the block does not ignore SIGINT, even if we do, as the job of a shell in the background does.

    A handler that Python has is reset by the system; being ignored is inherited, and a Java that ignores SIGINT keeps to it.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def plain(text: str) -> str:
    """Text for one line of a terminal, whatever it was."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:160]
