"""Asks the scheduler of the system for short time slices while a search runs, on a build without a GIL.

Free-threaded 3.13 waits for a lock of the interpreter by 40 calls of ``sched_yield``, and waits for itself in many places: where a
class is made, a file is closed, ``dict.get`` meets an object of another thread. Linux moves a thread that yields behind the others
by its time slice. Beside processes that keep all cores busy, one such wait took 160 ms, and a check with a budget of 3 s took 14 to
62 s of which it computed 0.3 s. With slices of 0.1 ms it takes 1 to 3 s. Its share of the cores is the same. On a build with a GIL
they change nothing. Importing our modules takes 24 s there, and 3 s with them: it is outside, because whoever imports pays for it.

What does not work: to avoid such waits in our own code alone (importing modules and making classes waits as well).
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.lookup import looked_up

_SHORTEST = 100_000  # nanoseconds, the least that Linux takes (6.12 and later; before, it ignores them)
_CALLS = {"x86_64": (315, 314), "aarch64": (275, 274), "riscv64": (275, 274)}  # the numbers of sched_getattr and sched_setattr
_OTHER, _BATCH = 0, 3  # scheduling policies of programs that want no particular one


class _Attributes(ctypes.Structure):
    """``struct sched_attr`` of Linux, in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32), ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64),
    )  # fmt: skip


@contextmanager
def short_slices() -> Iterator[None]:
    """While the calling thread, and those that it starts, have short time slices; nothing where the system does not offer that."""
    found = _slice()
    if found is None:
        yield
        return
    before = found.runtime
    _set(found, _SHORTEST)
    try:
        yield
    finally:
        _set(found, before)


def _slice() -> _Attributes | None:
    """What the scheduler knows of the calling thread; None if that is not known, or not for us to change."""
    calls = looked_up(_CALLS, platform.machine())
    if not FREE_THREADED_BUILD or calls is None or sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    found = _Attributes()
    status = _libc().syscall(calls[0], 0, ctypes.byref(found), ctypes.sizeof(found), 0)
    return found if status == 0 and found.policy in (_OTHER, _BATCH) and found.runtime > _SHORTEST else None


def _set(attributes: _Attributes, runtime: int) -> None:
    attributes.size, attributes.runtime = ctypes.sizeof(attributes), runtime
    _libc().syscall(_CALLS[platform.machine()][1], 0, ctypes.byref(attributes), 0)  # if it is refused, all is as it was


def _libc() -> Any:
    return ctypes.CDLL(None)
