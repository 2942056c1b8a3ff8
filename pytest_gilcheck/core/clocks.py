"""Clocks that nobody can freeze; run-queue time, the CPU time of another thread, and context switches.

Tests freeze and replace clocks, and ours must run on: a check that never sees a deadline hangs for ever. Every module of this
package takes its clocks from here (`tests/test_house.py` holds that), and none has the standard library wait by a clock of Python
code (``subprocess``, ``asyncio``).

How clocks are replaced, and why these are out of reach:

- ``unittest.mock`` and ``monkeypatch`` replace attributes of the module ``time``. `time` here is a second instance of that module,
  which is in no ``sys.modules``.
- freezegun replaces, in every loaded module, each attribute that *is* a function of the module ``time``; an early import does
  not help. The functions of the second instance are other objects.
- time-machine replaces the C code of ``time.time``, ``time_ns``, ``gmtime``, ``localtime``, ``strftime``, and of
  ``clock_gettime`` for ``CLOCK_REALTIME``, in all instances. So `wall_time` reads none of them: it adds a monotonic clock to the
  time at which this module was imported, which the plugin does before any test.

What does not work:

- The CPU time in ``schedstat`` is late by up to a scheduler tick (4 ms at 250 Hz); ``time.thread_time_ns`` is exact. The second
  field of ``schedstat``, the time ready to run without a core, is exact too.
- ``psutil.Process().num_ctx_switches()`` counts only the main thread on Linux; ``getrusage`` counts the whole process.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .system import read

if TYPE_CHECKING:
    import time as _public
    import time as time
else:
    import time as _public

    time = _public.__spec__.loader.create_module(_public.__spec__)
    _public.__spec__.loader.exec_module(time)

monotonic, monotonic_ns, perf_counter, perf_counter_ns = time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns
process_time, process_time_ns = time.process_time, time.process_time_ns
thread_time_ns, sleep = time.thread_time_ns, time.sleep

_NAMES = (
    "sleep", "monotonic", "monotonic_ns", "time", "time_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns",
    "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns", "clock_settime", "clock_settime_ns",
)  # fmt: skip
PUBLIC: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {name: getattr(_public, name) for name in _NAMES if hasattr(_public, name)}
)
"""The functions of the module ``time`` that everybody else has. (In a mapping: freezegun would replace attributes of a module.)"""

_SCHEDSTAT = "/proc/thread-self/schedstat"
_STEADY = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)  # the first also counts while suspended
_EPOCH = datetime.datetime(1970, 1, 1)


def _steady_ns() -> int:
    return time.monotonic_ns() if _STEADY is None else time.clock_gettime_ns(_STEADY)


_OFFSET = time.time_ns() - _steady_ns()


def wall_time_ns() -> int:
    """Nanoseconds since 1970, whatever date the program under test was given."""
    return _OFFSET + _steady_ns()


def wall_time() -> float:
    """Seconds since 1970, whatever date the program under test was given."""
    return wall_time_ns() / 1e9


def utc(seconds: float | None = None) -> str:
    """A moment in seconds since 1970, or now, as ISO 8601 in UTC, to the second."""
    moment = _EPOCH + datetime.timedelta(seconds=int(wall_time() if seconds is None else seconds))
    return moment.isoformat() + "Z"


def today() -> datetime.date:
    """The date in UTC, whatever date the program under test was given."""
    return (_EPOCH + datetime.timedelta(seconds=int(wall_time()))).date()


def run_queue_wait_ns() -> int | None:
    """Nanoseconds for which the calling thread was ready to run without a core; None where the kernel does not count them."""
    try:
        return int(read(_SCHEDSTAT).split()[1])
    except (OSError, IndexError, ValueError):
        return None


def thread_cpu_ns(ident: int) -> int | None:
    """CPU nanoseconds of the thread with this ``threading`` ident; None if it has ended or the platform has no such clock."""
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(ident))
    except (AttributeError, OSError):
        return None


def voluntary_switches() -> int | None:
    """How often the calling thread has given up its core by itself, to sleep or to wait; None where that is not counted."""
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    except (ImportError, AttributeError):  # Windows, macOS
        return None


def cpu_with_children_ns() -> int:
    """CPU nanoseconds of this process so far, and of its child processes that have ended and were waited for."""
    used = process_time_ns()
    try:
        import resource
    except ImportError:  # Windows
        return used
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used + int((children.ru_utime + children.ru_stime) * 1e9)


def context_switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches of the whole process so far; None where the platform does not count them."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw
