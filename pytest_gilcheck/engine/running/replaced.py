"""What is replaced while a program is explored, and by what: the primitives of threads, time and chance."""

from __future__ import annotations

import _queue
import _thread
import sys
import threading
import types
from typing import Any

from ...core.clocks import PUBLIC
from ...core.lookup import looked_up
from . import clocks, dates, primitives, repeatable, threads, undermined
from .controlling import current

UNDERMINING = undermined.replacements(current)
_REPLACEMENTS: dict[Any, Any] = {
    **{getattr(module, name): replacement for module, name, replacement in UNDERMINING},
    _thread.allocate_lock: primitives.Lock,
    threading.Lock: primitives.Lock,
    threading.RLock: primitives.RLock,
    primitives._RLock: primitives.RLock,
    _queue.SimpleQueue: primitives.SimpleQueue,
    _thread._local: threads.Local,
    PUBLIC["sleep"]: clocks.sleep,
    PUBLIC["monotonic"]: clocks.monotonic,
    PUBLIC["monotonic_ns"]: clocks.monotonic_ns,
    PUBLIC["time"]: clocks.wall_clock,
    PUBLIC["time_ns"]: clocks.wall_clock_ns,
    PUBLIC["perf_counter"]: clocks.perf_counter,
    PUBLIC["perf_counter_ns"]: clocks.perf_counter_ns,
    PUBLIC["process_time"]: clocks.process_time,
    PUBLIC["process_time_ns"]: clocks.process_time_ns,
    PUBLIC["thread_time"]: clocks.process_time,
    PUBLIC["thread_time_ns"]: clocks.process_time_ns,
    dates.REAL["datetime"]: dates.VirtualDatetime,
    dates.REAL["date"]: dates.VirtualDate,
    _thread.start_new_thread: threads.start_new_thread,
}
if "clock_gettime" in PUBLIC:
    _REPLACEMENTS[PUBLIC["clock_gettime"]] = clocks.clock_gettime
    _REPLACEMENTS[PUBLIC["clock_gettime_ns"]] = clocks.clock_gettime_ns
if "clock_settime" in PUBLIC:
    _REPLACEMENTS[PUBLIC["clock_settime"]] = clocks.clock_settime
    _REPLACEMENTS[PUBLIC["clock_settime_ns"]] = clocks.clock_settime_ns
if threads._start_joinable is not None:
    _REPLACEMENTS[threads._start_joinable] = threads.start_joinable_thread
KINDS = frozenset(id(type(primitive)) for primitive in _REPLACEMENTS)
_HOMES = (_thread, threading, _queue, *map(sys.modules.get, ("time", "datetime", "os", "sys")))
_EQUAL = [  # built-in functions that have a second name there, such as `_thread.allocate`, are equal and not identical
    value for home in _HOMES for value in vars(home).values() if type(value) is types.BuiltinFunctionType and value in _REPLACEMENTS
]
REPLACED = frozenset(map(id, (*_REPLACEMENTS, *_EQUAL, repeatable.REAL_URANDOM)))


def replacement_of(value: Any) -> Any:
    """The replacement of this primitive; None if it is not a primitive.

    Nothing else is hashed, which would run the user's code: a ``MagicMock`` records each such call, in lists that are searched too.
    """
    return looked_up(_REPLACEMENTS, value) if id(type(value)) in KINDS else None
