"""Run a program and take its answer, with a time limit that a frozen clock cannot stop.

``subprocess.run(timeout=...)`` reads ``time.monotonic`` through a name of the module ``subprocess``, which freezegun replaces: a
program that hangs would never be ended. A ``threading.Timer`` waits for a lock, whose time limit is C code.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence


def answer(
    command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with nothing to read, and return its status, output and errors.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it was still running after ``seconds``, and was killed.
    """
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
            timer.join()  # a thread that is still ending would forbid a fork
    if late.is_set():
        raise subprocess.TimeoutExpired(command, seconds)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
