"""Run-queue time of a probe thread and of the workload's threads: how long they were ready to run without a core.

A heartbeat that is late because another process used the core says nothing about the workload. The same is true if it waits for the
GIL while the *holder* of the GIL has no core. The kernel counts both exactly for each thread, and this module reads the counters.

What does not work: opening the files at every beat. Each system call releases the GIL, and beside a busy thread each release may
cost a switch interval, so the probe would measure itself. So the files stay open. They are read after a long wait, and after
every 16th short one. A wait is charged with all run-queue time since the last reading, which errs in favour of the workload.
Threads that the workload itself starts are not read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from ..core.descriptors import OwnDescriptor
from ..core.system import open_to_read

_READ_EVERY = 16  # short waits between two readings


class RunQueueClock:
    """The run-queue time of one probe thread and some others; to be used only by the probe thread.

    Args:
        workers: kernel thread ids of the workload's threads.
        long: seconds of lateness from which the counters are read.
    """

    def __init__(self, workers: Iterable[int], long: float) -> None:
        self._long = long
        self._files = [_schedstat(tid) for tid in (threading.get_native_id(), *workers)]
        self._last = self._denied()
        self._short = 0

    def unattributed(self, late: float) -> float | None:
        """Seconds of the wait that just ended for which a core was missing, at most; None where the kernel does not count them."""
        if late < self._long and self._short < _READ_EVERY:
            self._short += 1
            return late  # the cause of a short wait does not matter
        self._short = 0
        before, self._last = self._last, self._denied()
        return None if before is None or self._last is None else (self._last - before) / 1e9

    def close(self) -> None:
        for file in self._files:
            if file is not None:
                file.close()

    def _denied(self) -> int | None:
        """Nanoseconds so far for which these threads were ready to run without a core."""
        total = 0
        for file in self._files:
            if file is None:
                return None
            try:
                total += int(os.pread(file.number, 96, 0).split()[1])
            except (OSError, IndexError, ValueError):
                return None
        return total


def _schedstat(tid: int) -> OwnDescriptor | None:
    """A test may close the lowest numbers in each call, and the next file that is opened has such a number."""
    try:
        return OwnDescriptor(open_to_read(f"/proc/self/task/{tid}/schedstat"))
    except OSError:
        return None
