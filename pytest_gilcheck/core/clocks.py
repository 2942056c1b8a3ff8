"""Clocks beside the wall: a thread's wait for a core, another thread's CPU time, context switches.

What does not work:

- CPU time out of ``schedstat`` lags by a scheduler tick (4 ms at 250 Hz): use ``time.thread_time_ns``. Its second field, the
  time spent runnable without a core, is exact.
- ``psutil.Process().num_ctx_switches()`` counts the main thread alone on Linux; ``getrusage`` counts the process.
"""

from __future__ import annotations

import time

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_SCHEDSTAT = "/proc/thread-self/schedstat"


def run_queue_wait_ns() -> int | None:
    """Nanoseconds the calling thread has been runnable but denied a core; None where the kernel does not say."""
    try:
        with open(_SCHEDSTAT, "rb", buffering=0) as file:
            return int(file.read(96).split()[1])
    except (OSError, IndexError, ValueError):
        return None


def thread_cpu_ns(ident: int) -> int | None:
    """CPU nanoseconds of the thread with this ``threading`` ident; None where the platform or the thread is gone."""
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(ident))
    except (AttributeError, OSError):
        return None


def context_switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches of the whole process so far; None where the platform does not count."""
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw
