"""The current handler of a signal, in Python and in C.

A C library may call ``sigaction`` itself: then ``signal.getsignal`` still returns Python's handler, but Ctrl-C goes to the library.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.signal_names import signal_name

_mask = getattr(signal, "pthread_sigmask", None)  # the workload may replace it


class _Library(ctypes.Structure):
    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p))


@dataclass(frozen=True)
class HandlerFacts:
    """The handler of one signal.

    Attributes:
        name: name of the signal.
        address: address of the C handler; None where the system cannot be asked.
        python: name of the Python handler.
        blocked: whether the calling thread blocks the signal.
    """

    name: str
    address: int | None
    python: str
    blocked: bool

    def changes_since(self, before: HandlerFacts, replaced: bool) -> str:
        """Describe what has changed since ``before``; empty if nothing has.

        Args:
            replaced: whether the Python handler is another one.
        """
        if self.blocked:
            return f"{self.name} is blocked in the main thread (pthread_sigmask)"
        if self.address != before.address:
            return f"{self.name} is handled by {_owner(self.address)}, which replaced Python's handler"
        if replaced:
            return f"{self.name} has the handler {self.python}, which was not set by signal.signal"
        return ""


def inspect_handler(number: int, getsignal: Callable[[int], Any]) -> HandlerFacts:
    """The facts about the handler of a signal now.

    Args:
        getsignal: returns the Python handler, as ``signal.getsignal`` does.
    """
    handler = getsignal(number)
    blocked = _mask is not None and number in _mask(signal.SIG_BLOCK, [])
    return HandlerFacts(signal_name(number), _address(number), _name(handler), blocked)


def restarts_can_be_told(number: int) -> bool:
    """Whether `restarts_calls` is right on this system: it must see what is set for this signal, which interrupts calls after that.

    Where the flags are in the structure of ``sigaction`` is known of most systems, and not of every one.
    """
    seen = []
    for interrupts in (True, False, True):
        signal.siginterrupt(number, interrupts)
        seen.append(restarts_calls(number))
    return seen == [False, True, False]


def restarts_calls(number: int) -> bool:
    """Whether the system restarts its calls after this signal now (SA_RESTART); False where it cannot be asked."""
    if (current := _action(number)) is None:
        return False
    flags, restart = (128, 0x10000000) if sys.platform == "linux" else (4, 0x2)  # bytes of the mask, which comes before the flags
    return bool(ctypes.c_int.from_buffer(current, ctypes.sizeof(ctypes.c_void_p) + flags).value & restart)


def _name(handler: Any) -> str:
    if handler is None:
        return "of C code"
    if isinstance(handler, int):
        return signal.Handlers(handler).name
    return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', handler)}"


def _address(number: int) -> int | None:
    """Address of the C handler: on Linux and macOS the first field of the structure that ``sigaction`` fills in."""
    current = _action(number)
    return None if current is None else ctypes.c_void_p.from_buffer(current).value or 0


def _action(number: int) -> ctypes.Array[ctypes.c_char] | None:
    """The structure that ``sigaction`` fills in; None where the system cannot be asked."""
    if sys.platform not in ("linux", "darwin"):
        return None
    current = (ctypes.c_char * 512)()
    return current if ctypes.CDLL(None).sigaction(number, None, current) == 0 else None


def _owner(address: int | None) -> str:
    """File name of the library that an address belongs to, with the nearest symbol."""
    if address in (0, 1):
        return ("SIG_DFL", "SIG_IGN")[address]
    library = _Library()
    if address is None or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(library)):
        return "C code"
    symbol = f" ({library.symbol.decode()})" if library.symbol else ""
    return f"{os.path.basename(library.file.decode())}{symbol}"
