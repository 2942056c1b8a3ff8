"""A sleep that tells how long it really took before its thread waited for the GIL: a periodic timer of Linux counts its ticks.

A thread that returns from ``time.sleep`` needs a core first, and then the GIL; what it reads from a clock afterwards is the sum.
The kernel puts the number of ticks so far into the answer of a read when the thread has its core, and only then the interpreter
asks for the GIL.
"""

from __future__ import annotations

import ctypes
import os
import sys

from ..core.descriptors import OwnDescriptor

TICK = 0.00005  # seconds
_MONOTONIC, _CLOEXEC = 1, 0o2000000


class _Time(ctypes.Structure):
    _fields_ = (("every", ctypes.c_long), ("every_ns", ctypes.c_long), ("first", ctypes.c_long), ("first_ns", ctypes.c_long))


class NoTicks(Exception):
    """This system has no such timer."""


class Ticks:
    """One timer, for one thread.

    Raises:
        NoTicks: there is none.
    """

    _read = staticmethod(os.read)  # a test may replace that of the module

    def __init__(self) -> None:
        if ctypes.sizeof(ctypes.c_long) < 8:
            raise NoTicks("the times of the timer may have another size here")
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            number = self._libc.timerfd_create(_MONOTONIC, _CLOEXEC)
        except (AttributeError, OSError, TypeError) as error:  # Windows has no library of that name
            raise NoTicks from error
        if number < 0:
            raise NoTicks
        self._file = OwnDescriptor(number)
        self._first = 1

    def start(self, ticks: int) -> None:
        """Set the timer to its first tick after so many ticks. It releases the GIL.

        Raises:
            DescriptorLost: other code has closed the timer.
        """
        self._file.require()
        first, every = int(ticks * TICK * 1e9), int(TICK * 1e9)
        self._first = ticks
        self._libc.timerfd_settime(self._file.number, 0, ctypes.byref(_Time(0, every, 0, first)), None)

    def sleep(self) -> int:
        """Sleep until the first tick; the number of ticks since `start` when the thread had a core again."""
        return self._first - 1 + int.from_bytes(self._read(self._file.number, 8), sys.byteorder)

    def close(self) -> None:
        self._file.close()
