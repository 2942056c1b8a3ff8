"""Replacements for the clocks of ``time``: a thread of the program reads the virtual one, and sleeps by it."""

from __future__ import annotations

import sys
from types import FrameType

from ...core.clocks import PUBLIC, wall_time_ns
from . import controlling
from .controlling import current

_TRAVELLED = 1_000_000_000  # nanoseconds between the date and what the program is told from which on a test has chosen its date


def sleep(seconds: float) -> None:
    """``time.sleep``, by the virtual clock: the calling thread waits, and others may run before it or not."""
    if (found := current()) is None:
        PUBLIC["sleep"](seconds)
        return
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    engine, task = found
    task.gil_checked = True
    engine.sleep(task, int(seconds * 1e9), f"a sleep of {seconds:g} s")


def _reading(name: str, frame: FrameType) -> int:
    """The nanoseconds of a clock, read by this frame: of the virtual clock, if the thread is controlled.

    Args:
        name: of the function of the module ``time`` that reads it, and returns nanoseconds.
    """
    engine = controlling.active
    if engine is None or engine.current() is None:
        return int(PUBLIC[name]())
    now = engine.clock_reading(frame)
    if name != "time_ns":
        return engine.clock.base[0] + now
    told = int(PUBLIC[name]())
    return told if abs(told - wall_time_ns()) > _TRAVELLED else engine.clock.base[1] + engine.clock.set_by + now


def now_of_caller(frame: FrameType) -> float:
    """Seconds of the wall clock, read by this frame."""
    return _reading("time_ns", frame) / 1e9


def monotonic() -> float:
    return _reading("monotonic_ns", sys._getframe(1)) / 1e9


def monotonic_ns() -> int:
    return _reading("monotonic_ns", sys._getframe(1))


def wall_clock() -> float:
    return _reading("time_ns", sys._getframe(1)) / 1e9


def wall_clock_ns() -> int:
    return _reading("time_ns", sys._getframe(1))


def perf_counter() -> float:
    return _reading("perf_counter_ns", sys._getframe(1)) / 1e9


def perf_counter_ns() -> int:
    return _reading("perf_counter_ns", sys._getframe(1))


def process_time() -> float:
    return _reading("process_time_ns", sys._getframe(1)) / 1e9


def process_time_ns() -> int:
    return _reading("process_time_ns", sys._getframe(1))


def clock_gettime_ns(which: int) -> int:
    if controlling.active is None or controlling.active.current() is None:
        return int(PUBLIC["clock_gettime_ns"](which))
    return _reading("time_ns" if which == 0 else "monotonic_ns", sys._getframe(1))  # 0 is CLOCK_REALTIME, everywhere


def clock_gettime(which: int) -> float:
    if controlling.active is None or controlling.active.current() is None:
        return float(PUBLIC["clock_gettime"](which))
    return _reading("time_ns" if which == 0 else "monotonic_ns", sys._getframe(1)) / 1e9


def clock_settime_ns(which: int, value: int) -> None:
    """``time.clock_settime_ns``: a program under test sets the virtual clock. That of the machine belongs to others as well."""
    if (found := current()) is None:
        PUBLIC["clock_settime_ns"](which, value)
    else:
        clock = found[0].clock
        clock.matters, clock.set_by = True, value - clock.base[1] - clock.now


def clock_settime(which: int, value: float) -> None:
    if current() is None:
        PUBLIC["clock_settime"](which, value)
    else:
        clock_settime_ns(which, int(value * 1e9))
