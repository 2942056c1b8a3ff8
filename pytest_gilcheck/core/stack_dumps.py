"""Stacks of a child process that may be stuck: its ``faulthandler`` writes them to a file when the parent sends a signal.

``faulthandler``'s handler needs no GIL. What does not work: Python code in the child, when that very GIL is what is stuck; and
``faulthandler.dump_traceback_later``, which waits forever for its timer thread in a fork of a process that had one.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable
from typing import IO

from .clocks import monotonic, sleep
from .system import read

DUMP_SIGNAL = getattr(signal, "SIGUSR2", None)  # None on Windows
DUMP_GRACE = 0.5  # seconds that a process gets to write its stacks
_LARGEST = 1 << 20  # bytes of stacks that are read
_STABLE = 0.03  # seconds without growth after which the stacks count as complete


def write_stacks_to(file: IO[bytes] | int) -> None:
    """Have this process write the stacks of all its threads to a file, or a descriptor, when it crashes or gets `DUMP_SIGNAL`."""
    faulthandler.enable(file)
    if DUMP_SIGNAL is not None:
        faulthandler.register(DUMP_SIGNAL, file)


class StackDumps:
    """The parent's side: the stacks that a child process wrote.

    Args:
        file: open for reading, the file that the child called `write_stacks_to` with. `close` closes it.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def request(self, pid: int, gone: Callable[[], object], seconds: float = DUMP_GRACE) -> str:
        """The stacks of all threads of the process now; empty if it cannot or does not write them.

        Args:
            gone: called again and again; when it returns true, nothing more is waited for.
            seconds: how long to wait for a process that is stuck beyond ``faulthandler``.
        """
        before = self._written()
        if DUMP_SIGNAL is None or not has_handler(pid, DUMP_SIGNAL):  # it set the signal's handler itself: ours would kill it
            return ""
        try:
            os.kill(pid, DUMP_SIGNAL)
        except ProcessLookupError:
            return ""
        until, size = monotonic() + seconds, before
        while monotonic() < until and not gone():
            sleep(_STABLE)
            if size > before and size == self._written():
                break
            size = self._written()
        return self.text(before)

    def text(self, start: int = 0) -> str:
        """What the process has written, from this byte on."""
        if hasattr(os, "pread"):  # a fork shares the file's position, which must not move
            data = os.pread(self._file.fileno(), _LARGEST, start)
        else:
            self._file.seek(start)
            data = self._file.read(_LARGEST)
        return data.decode(errors="replace").strip()

    def close(self) -> None:
        self._file.close()

    def _written(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def has_handler(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal; true where the system does not tell."""
    try:
        masks = [line.split()[1] for line in read(f"/proc/{pid}/status").splitlines() if line.startswith("SigCgt")]
        return bool(int(masks[0], 16) >> (number - 1) & 1)
    except (OSError, IndexError):
        return True
