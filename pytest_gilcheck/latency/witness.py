"""What a probe thread knows of its own wait: for how long it, or the workload's thread, was denied a core.

A heartbeat that is late because a neighbour had the core says nothing of the workload. Nor does one that waits for the GIL
while its *holder* is denied a core. The kernel counts both exactly, for each thread, and this reads the counters.

What does not work: opening the files at every beat. Each call into the kernel lets go of the GIL, and beside a busy thread each
letting go may cost a switch interval: the probe would measure itself. So the files stay open, and are read after a wait that
was long, and now and then; a wait is charged with all that was denied since the last reading, which errs to the workload's
favour. Threads that the workload itself starts are not read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

_READ_EVERY = 16  # short waits between two readings


class Witness:
    """For one probe thread, and used only by it.

    Args:
        workers: kernel thread ids of the workload's threads.
        long: seconds of lateness from which a wait is looked into.
    """

    def __init__(self, workers: Iterable[int], long: float) -> None:
        self._long = long
        self._files = [_schedstat(tid) for tid in (threading.get_native_id(), *workers)]
        self._last = self._denied()
        self._short = 0

    def unexplained(self, late: float) -> float | None:
        """Seconds of the wait that just ended for which a core was missing; None where the kernel does not say."""
        if late < self._long and self._short < _READ_EVERY:
            self._short += 1
            return late  # nobody asks whose fault a short wait was
        self._short = 0
        before, self._last = self._last, self._denied()
        return None if before is None or self._last is None else (self._last - before) / 1e9

    def close(self) -> None:
        for file in self._files:
            if file is not None:
                os.close(file)

    def _denied(self) -> int | None:
        """Nanoseconds for which these threads were ready to run without a core, so far."""
        total = 0
        for file in self._files:
            if file is None:
                return None
            try:
                total += int(os.pread(file, 96, 0).split()[1])
            except (OSError, IndexError, ValueError):
                return None
        return total


def stolen() -> float:
    """Seconds that the hypervisor has taken from this machine's cores so far, summed; 0 where it does not say.

    No thread's run-queue time counts them: a thread whose core is taken away looks as if it ran on.
    """
    try:
        fields = Path("/proc/stat").read_text().split(maxsplit=9)
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, IndexError, ValueError):
        return 0.0


def _schedstat(tid: int) -> int | None:
    try:
        return os.open(f"/proc/self/task/{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return None
