"""A target in a new interpreter, for processes that cannot be forked: on Windows and macOS, and where threads are running.

The workload must be importable, because it is sent pickled. Notes come back over a local connection. Instruments that share memory
with the target are not used.
"""

from __future__ import annotations

import os
import pickle
import secrets
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from ..core import lineage
from ..core.clocks import time
from ..core.lifecycle import start_program
from ..core.origin import ours
from ..core.own_builtins import PutBack
from ..core.stack_dumps import StackDumps, write_stacks_to
from ..core.system import FAILING
from .job import Job
from .leftovers import mark_names
from .sending import WINDOWS
from .target import Instrument, Target

_STARTS_WITHIN = 30.0  # seconds that the new interpreter gets to connect
_POLL = 0.002  # seconds


class Spawned:
    """The parent's side; see `starting.Process`."""

    def __init__(self, job: Job, instrument: Instrument | None) -> None:
        self.gone_at: int | None = None
        self.status: int | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="gilcheck-")
        stacks = Path(self._folder.name) / "stacks"
        stacks.touch()
        self._stacks = StackDumps(open(stacks, "rb"))  # noqa: SIM115 - closed by end()
        carried = instrument if instrument is not None and instrument.portable else None
        key = secrets.token_bytes(16)
        with Listener(authkey=key) as listener:
            greeting = pickle.dumps((sys.path, os.getcwd(), listener.address, key, str(stacks)))
            options: dict[str, Any] = {"creationflags": 0x10} if WINDOWS else {"start_new_session": True}  # a console of its own
            command_line = [sys.executable, "-c", f"from {__name__} import main; main()"]
            self._life = start_program(command_line, group=True, stdin=subprocess.PIPE, **options)
            assert self._life.program is not None, "it is a program"
            assert self._life.program.stdin is not None, "it has a pipe"
            try:
                with self._life.program.stdin as pipe:
                    pipe.write(len(greeting).to_bytes(8, "big") + greeting + pickle.dumps((job, carried)))
            except OSError:  # it has died already: that is seen from its exit
                pass
            self._connection = self._accepted(listener)

    @property
    def pid(self) -> int:
        return self._life.pid

    def receive_notes(self, seconds: float) -> list[bytes]:
        until = time.monotonic() + seconds
        notes: list[bytes] = []
        open_ = self._connection is not None
        while not notes and self.gone_at is None:
            left = max(0.0, until - time.monotonic())
            gone = self._life.gone()  # looked at before the connection is read, so that the last notes are not missed
            try:
                while open_ and self._connection is not None and self._connection.poll(0 if notes or gone else min(left, _POLL)):
                    notes.append(self._connection.recv_bytes())
            except (EOFError, OSError):
                open_ = False
            if gone:
                self.gone_at, self.status = self._life.gone_at, self._life.status
            elif not open_:
                time.sleep(min(left, _POLL))
            if not left:
                break
        return notes

    def stacks(self) -> str:
        return self._stacks.request(self.pid, lambda: self.gone_at)

    def end(self) -> str:
        self._life.end()
        if self._connection is not None:
            self._connection.close()
        trace = self._stacks.text()
        self._stacks.close()
        self._folder.cleanup()
        return trace

    def _accepted(self, listener: Listener) -> Connection[Any, Any] | None:
        """The target's connection; None if it exits before it connects, or does not connect in time."""
        found: list[Connection[Any, Any]] = []

        def accept() -> None:
            try:
                found.append(listener.accept())
            except (OSError, EOFError):  # the listener was closed, or the target died
                pass

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        until = time.monotonic() + _STARTS_WITHIN
        while thread.is_alive() and not self._life.gone() and time.monotonic() < until:
            thread.join(_POLL)
        thread.join(0.1)
        return found[0] if found else None


def unpicklable(job: Job) -> str | None:
    """Why this job cannot be sent to a new interpreter; None if it can."""
    try:
        pickle.dumps(job)
    except Exception as error:  # pickle raises whatever the object's own hooks raise
        if ours(getattr(getattr(job.work, "__code__", None), "co_filename", "")):  # its name says nothing to the user
            return "the body of a test cannot be imported by a new interpreter"
        return f"the workload cannot be pickled for a new interpreter ({error})"
    if getattr(job.work, "__module__", None) == "__main__":
        return "the workload is defined in __main__, which a new interpreter cannot import"
    return None


def main() -> None:
    """The target's side, in the new interpreter."""
    lineage.mark()
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    path, folder, address, key, stacks = pickle.loads(sys.stdin.buffer.read(size))
    sys.path[:] = path
    os.chdir(folder)
    write_stacks_to(open(stacks, "wb"))  # noqa: SIM115 - open until the end
    connection = Client(address, authkey=key)

    def send_note(note: bytes) -> bool:
        try:
            with PutBack():
                connection.send_bytes(note)
        except OSError:  # the code under test closed it
            return False
        return True

    try:
        job, instrument = pickle.loads(sys.stdin.buffer.read())
        mark_names(job.token)
        Target(send_note, job.signals, instrument, real_end=True).run(job.work, job.setup, job.imports)
    except SystemExit:  # from the target, after the workload
        raise
    except BaseException:
        for _ in FAILING:
            pass
