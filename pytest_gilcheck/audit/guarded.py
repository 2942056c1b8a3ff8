"""A program in a process group of its own, ended with everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..core import reaper
from ..core.clocks import monotonic, sleep

_POSIX = os.name == "posix"
_POLL = 0.01  # seconds


def run(command: Sequence[str], folder: Path, environment: dict[str, str], words: Path, seconds: float) -> int | None:
    """Run a program; its standard error goes to a file.

    Args:
        folder: that it works in.
        words: the file.
        seconds: after which it is ended.

    Returns:
        Its exit status, or minus the signal that killed it; None if it was still running.

    Raises:
        OSError: it cannot be started.
    """
    with words.open("wb") as error:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=error,
            cwd=folder,
            env=environment,
            process_group=0 if _POSIX else None,
        )
    if _POSIX:
        reaper.watch(process.pid)
    until = monotonic() + seconds
    try:
        while process.poll() is None and monotonic() < until:  # not process.wait(seconds), which a frozen clock would stop
            sleep(_POLL)
        return process.poll()
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        if _POSIX:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()
    if _POSIX:
        reaper.release(process.pid)
