"""The C call that each thread is in, and since when, readable from outside the process while the call lasts.

A stack dump ends at the innermost Python line; it does not contain the C function that this line called. So in a run made for this,
every C call is written to memory that parent and target share when it begins, and erased when it ends. The entry that is left when
the target is stuck is the call that does not check for signals.

``sys.monitoring`` reports all C callables; before Python 3.12 there is only the profile function, which reports built-in functions
and methods. Neither reports operators (``in``, ``+``).
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from ..core.clocks import monotonic_ns
from ..core.monitoring import take_over
from .target import Instrument

_SLOTS = 64
_SIZE = 512
_HEAD = struct.Struct("qqH")  # native thread id, since when, length of the name
_TOOL_ID = 4


@dataclass(frozen=True)
class CCall:
    """A C call that had not returned.

    Attributes:
        thread: native id of its thread.
        since: when it began, by ``time.monotonic_ns``.
        name: name of the callable, such as ``"sum"`` or ``"_json.Encoder"``.
    """

    thread: int
    since: int
    name: str


class CCalls(Instrument):
    """Created in the parent, and active in the target, which is a fork."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SLOTS * _SIZE)
        self._slots: dict[int, int] = {}
        self._stacks: dict[int, list[tuple[int, str]]] = {}
        self._seen: list[CCall] | None = None
        self._read_at = 0

    def when_stuck(self) -> list[CCall] | None:
        """The calls that were running when the target was found stuck; None if it never was."""
        return self._seen

    def long_calls(self, main: int, seconds: float) -> list[CCall]:
        """The calls of threads other than ``main`` that had been running for more than ``seconds`` by then."""
        return [call for call in self._seen or [] if call.thread != main and self._read_at - call.since > seconds * 1e9]

    def stuck(self) -> None:
        self._seen, self._read_at = self._read(), monotonic_ns()

    def begin(self, send_note: Callable[..., None]) -> None:
        self._pid = os.getpid()
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)

    def _monitor(self) -> None:
        monitoring = take_over(_TOOL_ID, "gilcheck-ccalls")
        events = monitoring.events
        monitoring.register_callback(_TOOL_ID, events.CALL, self._called)
        monitoring.register_callback(_TOOL_ID, events.C_RETURN, self._returned)
        monitoring.register_callback(_TOOL_ID, events.C_RAISE, self._returned)
        monitoring.set_events(_TOOL_ID, events.CALL)

    def _called(self, code: CodeType, offset: int, called: object, first: object) -> None:
        if not isinstance(called, (FunctionType, MethodType)):
            self._push(_name(called))

    def _returned(self, code: CodeType, offset: int, called: object, first: object) -> None:
        if not isinstance(called, (FunctionType, MethodType)):
            self._pop()

    def _profile(self, frame: object, event: str, argument: Any) -> None:
        if event == "c_call":
            self._push(_name(argument))
        elif event in ("c_return", "c_exception"):
            self._pop()

    def _push(self, name: str) -> None:
        if os.getpid() != self._pid:  # a fork of the workload shares the memory
            return
        thread = threading.get_native_id()
        stack = self._stacks.setdefault(thread, [])
        stack.append((monotonic_ns(), name))
        self._write(thread, *stack[-1])

    def _pop(self) -> None:
        if os.getpid() != self._pid:
            return
        thread = threading.get_native_id()
        stack = self._stacks.get(thread)
        if stack:
            stack.pop()
            self._write(thread, *(stack[-1] if stack else (0, "")))

    def _write(self, thread: int, since: int, name: str) -> None:
        slot = self._slots.setdefault(thread, len(self._slots))
        if slot < _SLOTS:
            text = name.encode()[: _SIZE - _HEAD.size]
            self._memory[slot * _SIZE : slot * _SIZE + _HEAD.size + len(text)] = _HEAD.pack(thread, since, len(text)) + text

    def _read(self) -> list[CCall]:
        calls = []
        for slot in range(_SLOTS):
            thread, since, length = _HEAD.unpack_from(self._memory, slot * _SIZE)
            if since:
                start = slot * _SIZE + _HEAD.size
                calls.append(CCall(thread, since, self._memory[start : start + length].decode(errors="replace")))
        return calls


def _name(called: object) -> str:
    """The qualified name of a callable, with its module unless that is builtins."""
    if isinstance(called, BuiltinFunctionType) and not isinstance(called.__self__, (type(os), type(None))):
        return f"{type(called.__self__).__qualname__}.{called.__name__}"
    own = getattr(called, "__name__", None)  # of a function of ctypes, or a ufunc, whose class is one for all of them
    if not hasattr(called, "__qualname__") and isinstance(own, str):
        return own
    named = called if hasattr(called, "__qualname__") else type(called)
    module = getattr(named, "__module__", None)
    prefix = "" if module in (None, "builtins") else f"{module}."
    return f"{prefix}{getattr(named, '__qualname__', named)}"
