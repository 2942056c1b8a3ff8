"""A target in a new interpreter, where this process cannot fork: on Windows and macOS, and where threads are running.

The workload must be importable: it is handed over pickled. Notes come back over a local connection. Instruments that share
memory with a fork stay out.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from ..core import warden
from .job import Job
from .sending import WINDOWS
from .target import Instrument, Target

_STARTS_WITHIN = 30.0  # seconds until the new interpreter must have called back
_POLL = 0.002


class Spawned:
    """The parent's side; see `starting.Process`."""

    def __init__(self, start: Job, instrument: Instrument | None) -> None:
        self.gone_at: int | None = None
        self.status: int | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="gilcheck-")
        self._trace = Path(self._folder.name) / "stacks"
        carried = instrument if instrument is not None and instrument.portable else None
        key = secrets.token_bytes(16)
        with Listener(authkey=key) as listener:
            order = pickle.dumps((sys.path, os.getcwd(), listener.address, key, str(self._trace)))
            options: dict[str, Any] = {"creationflags": 0x10} if WINDOWS else {"start_new_session": True}  # a console of its own
            self._program = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import main; main()"], stdin=subprocess.PIPE, **options
            )
            if not WINDOWS:
                warden.watch(self._program.pid)
            assert self._program.stdin is not None, "it was asked for"
            self._program.stdin.write(len(order).to_bytes(8, "big") + order + pickle.dumps((start, carried)))
            self._program.stdin.close()
            self._connection = _accepted(listener, self._program)

    @property
    def pid(self) -> int:
        return self._program.pid

    def hear(self, seconds: float) -> list[bytes]:
        until = time.monotonic() + seconds
        notes: list[bytes] = []
        open_ = self._connection is not None
        while not notes and self.gone_at is None:
            left = max(0.0, until - time.monotonic())
            try:
                while open_ and self._connection is not None and self._connection.poll(0 if notes else min(left, _POLL)):
                    notes.append(self._connection.recv_bytes())
            except (EOFError, OSError):
                open_ = False
            if not open_:
                time.sleep(min(left, _POLL))
            if (status := self._program.poll()) is not None and not (open_ and self._connection and self._connection.poll()):
                self.gone_at, self.status = time.monotonic_ns(), status
            if not left:
                break
        return notes

    def stacks(self) -> str:
        if WINDOWS:  # no signal to ask with
            return ""
        before = self._written()
        os.kill(self.pid, signal.SIGUSR2)
        time.sleep(0.1)
        return self._written()[len(before) :].strip()

    def end(self) -> str:
        if WINDOWS:
            self._end_tree()
        else:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            warden.release(self.pid)
        self._program.wait()
        if self._connection is not None:
            self._connection.close()
        trace = self._written().strip()
        self._folder.cleanup()
        return trace

    def _end_tree(self) -> None:
        import psutil

        try:
            for process in [*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)]:
                process.kill()
        except psutil.Error:
            pass

    def _written(self) -> str:
        return self._trace.read_text(errors="replace") if self._trace.exists() else ""


def unpicklable(start: Job) -> str | None:
    """Why this cannot be handed to a new interpreter; None if it can."""
    try:
        pickle.dumps(start)
    except Exception as error:  # pickle raises whatever the object's own hooks raise
        return f"it cannot be handed to a new interpreter ({error})"
    if getattr(start.work, "__module__", None) == "__main__":
        return "it is in __main__, which a new interpreter cannot import"
    return None


def main() -> None:
    """The child's side, in the new interpreter."""
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    path, folder, address, key, trace = pickle.loads(sys.stdin.buffer.read(size))
    sys.path[:] = path
    os.chdir(folder)
    stacks = open(trace, "wb")  # noqa: SIM115 - until the end
    faulthandler.enable(stacks)
    if not WINDOWS:
        faulthandler.register(signal.SIGUSR2, stacks)
    connection = Client(address, authkey=key)
    try:
        start, instrument = pickle.loads(sys.stdin.buffer.read())
        Target(lambda note: _tell(connection, note), start.signals, instrument).run(start.work, start.setup)
    finally:
        os._exit(1)


def _tell(connection: Connection[Any, Any], note: bytes) -> None:
    try:
        connection.send_bytes(note)
    except OSError:
        pass


def _accepted(listener: Listener, program: subprocess.Popen[bytes]) -> Connection[Any, Any] | None:
    """The child's call; None if it died before it made one."""
    import threading

    found: list[Connection[Any, Any]] = []

    def accept() -> None:
        try:
            found.append(listener.accept())
        except (OSError, EOFError):  # closed, or nobody there
            pass

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    until = time.monotonic() + _STARTS_WITHIN
    while thread.is_alive() and program.poll() is None and time.monotonic() < until:
        thread.join(_POLL)
    thread.join(0.1)
    return found[0] if found else None
