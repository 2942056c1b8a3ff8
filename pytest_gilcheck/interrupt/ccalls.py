"""The C call that each thread is in, where it is, and since when, readable from outside the process while the call lasts.

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
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ..core.classes import computes_its_class, in_class, is_a, module_of_class, qualified_name_of_class
from ..core.clocks import monotonic_ns
from ..core.monitoring import take_over
from ..core.source import Position, code_position
from ..core.system import getpid
from .target import Instrument

_SLOTS = 64
_SIZE = 1024
_HEAD = struct.Struct("qqiiiiHH")  # native thread id, since when, the position, lengths of the name and of the file's
_UNKNOWN = -1  # part of a position
_NOWHERE = Position()
_TOOL_ID = 4


@dataclass(frozen=True)
class CCall:
    """A C call that had not returned.

    Attributes:
        thread: native id of its thread.
        since: when it began, by ``time.monotonic_ns``.
        name: name of the callable, such as ``"sum"`` or ``"_json.Encoder"``.
        file, position: where it is called.
    """

    thread: int
    since: int
    name: str
    file: str = ""
    position: Position = _NOWHERE


class CCalls(Instrument):
    """Created in the parent, and active in the target, which is a fork."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SLOTS * _SIZE)
        self._slots: dict[int, int] = {}
        self._stacks: dict[int, list[CCall]] = {}
        self._positions: dict[tuple[int, int], tuple[CodeType, Position]] = {}
        self._first: list[CCall] | None = None
        self._last: list[CCall] = []
        self._read_at = 0

    def when_stuck(self) -> list[CCall] | None:
        """The calls that were running when the target was first found stuck; None if it never was."""
        return self._first

    def long_calls(self, main: int, seconds: float) -> list[CCall]:
        """The calls of threads other than ``main`` that had been running for more than ``seconds`` when it was last found stuck."""
        return [call for call in self._last if call.thread != main and self._read_at - call.since > seconds * 1e9]

    def stuck(self) -> None:
        self._last, self._read_at = self._read(), monotonic_ns()
        if self._first is None:  # a signal that was not handled in time may be swallowed in addition, somewhere else
            self._first = self._last

    def begin(self, send_note: Callable[..., None]) -> None:
        self._pid = getpid()
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
        if not is_a(called, (FunctionType, MethodType)):
            self._push(_name(called), code, offset)

    def _returned(self, code: CodeType, offset: int, called: object, first: object) -> None:
        if not is_a(called, (FunctionType, MethodType)):
            self._pop()

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            self._push(_name(argument), frame.f_code, frame.f_lasti)
        elif event in ("c_return", "c_exception"):
            self._pop()

    def _push(self, name: str, code: CodeType, offset: int) -> None:
        if getpid() != self._pid:  # a fork of the workload shares the memory
            return
        thread = threading.get_native_id()
        stack = self._stacks.setdefault(thread, [])
        stack.append(CCall(thread, monotonic_ns(), name, code.co_filename, self._position(code, offset)))
        self._write(thread, stack[-1])

    def _pop(self) -> None:
        if getpid() != self._pid:
            return
        thread = threading.get_native_id()
        stack = self._stacks.get(thread)
        if stack:
            stack.pop()
            self._write(thread, stack[-1] if stack else CCall(thread, 0, ""))

    def _position(self, code: CodeType, offset: int) -> Position:
        """The position of a call, looked up once for each; a code object that is kept has a number of its own."""
        known = self._positions.get((id(code), offset))
        if known is None:
            known = self._positions[id(code), offset] = code, code_position(code, offset)
        return known[1]

    def _write(self, thread: int, call: CCall) -> None:
        slot = self._slots.setdefault(thread, len(self._slots))
        if slot < _SLOTS:
            name = call.name.encode(errors="replace")[: _SIZE // 4]
            file = call.file.encode(errors="surrogateescape")[: _SIZE - _HEAD.size - len(name)]
            position = (_UNKNOWN if part is None else part for part in call.position)
            head = _HEAD.pack(thread, call.since, *position, len(name), len(file))
            self._memory[slot * _SIZE : slot * _SIZE + _HEAD.size + len(name) + len(file)] = head + name + file

    def _read(self) -> list[CCall]:
        calls = []
        for slot in range(_SLOTS):
            thread, since, *parts, length, of_file = _HEAD.unpack_from(self._memory, slot * _SIZE)
            if since:
                start = slot * _SIZE + _HEAD.size
                name = self._memory[start : start + length].decode(errors="replace")
                file = self._memory[start + length : start + length + of_file].decode(errors="surrogateescape")
                position = Position(*(None if part == _UNKNOWN else part for part in parts))
                calls.append(CCall(thread, since, name, file, position))
        return calls


def _name(called: object) -> str:
    """The qualified name of a callable, with its module unless that is builtins.

    The workload calls it now, so none of its own code may run for a name.
    """
    if type(called) is BuiltinFunctionType and not is_a(called.__self__, (type(os), type(None))):
        return f"{qualified_name_of_class(type(called.__self__))}.{called.__name__}"
    named, module, qualified = (_attribute(called, name) for name in ("__name__", "__module__", "__qualname__"))
    if qualified is None and named is not None:  # a function of ctypes, or a ufunc, whose class is one for all of them
        return named
    if qualified is None:
        kind: Any = called if is_a(called, type) else type(called)
        module, qualified = module_of_class(kind), qualified_name_of_class(kind)
    return qualified if module in (None, "builtins") else f"{module}.{qualified}"


def _attribute(called: object, name: str) -> str | None:
    """A text among the attributes of a callable; None if it may be computed by code that is no part of the interpreter's."""
    kind = type(called)
    asked = (in_class(kind, "__getattr__"), in_class(kind, "__getattribute__"))
    if FunctionType in map(type, asked) or computes_its_class(kind) or type(in_class(kind, name)) is property:
        return None
    found = getattr(called, name, None)
    return found if type(found) is str else None
