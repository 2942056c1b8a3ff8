"""Run-queue time, the CPU time of another thread, and context switches.

What does not work:

- The CPU time in ``schedstat`` is late by up to a scheduler tick (4 ms at 250 Hz); ``time.thread_time_ns`` is exact. The second
  field of ``schedstat``, the time ready to run without a core, is exact too.
- ``psutil.Process().num_ctx_switches()`` counts only the main thread on Linux; ``getrusage`` counts the whole process.
"""

from __future__ import annotations

import time

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_SCHEDSTAT = "/proc/thread-self/schedstat"


def run_queue_wait_ns() -> int | None:
    """Nanoseconds for which the calling thread was ready to run without a core; None where the kernel does not count them."""
    try:
        with open(_SCHEDSTAT, "rb", buffering=0) as file:
            return int(file.read(96).split()[1])
    except (OSError, IndexError, ValueError):
        return None


def thread_cpu_ns(ident: int) -> int | None:
    """CPU nanoseconds of the thread with this ``threading`` ident; None if it has ended or the platform has no such clock."""
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(ident))
    except (AttributeError, OSError):
        return None


def context_switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches of the whole process so far; None where the platform does not count them."""
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw
