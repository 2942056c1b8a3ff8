"""What a signal's handler is right now, in Python and below it.

A C library may call ``sigaction`` itself: ``signal.getsignal`` knows nothing of that, and Ctrl-C goes to the library.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class _Library(ctypes.Structure):
    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p))


@dataclass(frozen=True)
class HandlerFacts:
    """One signal: its name, the address of its C handler (None where we cannot ask), its Python handler in words, and whether
    this thread blocks it."""

    name: str
    address: int | None
    python: str
    blocked: bool

    def since(self, before: HandlerFacts, replaced: bool) -> str:
        """What has changed since ``before``, in words; empty if nothing."""
        if self.blocked:
            return f"{self.name} is blocked in the main thread (pthread_sigmask)"
        if self.address != before.address:
            return f"{self.name} is handled by {_owner(self.address)}, which replaced Python's handler"
        if replaced:
            return f"{self.name} has the handler {self.python}, set past signal.signal"
        return ""


def look(number: int, getsignal: Callable[[int], Any]) -> HandlerFacts:
    """The facts of this signal, for the calling thread."""
    handler = getsignal(number)
    blocked = hasattr(signal, "pthread_sigmask") and number in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return HandlerFacts(signal.Signals(number).name, _address(number), _words(handler), blocked)


def _words(handler: Any) -> str:
    if handler is None:
        return "of a C library"
    if isinstance(handler, int):
        return signal.Handlers(handler).name
    return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', handler)}"


def _address(number: int) -> int | None:
    """The C handler's address: the first word of what ``sigaction`` gives on Linux and macOS."""
    if sys.platform not in ("linux", "darwin"):
        return None
    current = (ctypes.c_char * 512)()
    if ctypes.CDLL(None).sigaction(number, None, current) != 0:
        return None
    return ctypes.c_void_p.from_buffer(current).value or 0


def _owner(address: int | None) -> str:
    """The library that an address belongs to, and its nearest symbol."""
    if address in (0, 1):
        return ("SIG_DFL", "SIG_IGN")[address]
    library = _Library()
    if address is None or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(library)):
        return "C code"
    symbol = f" ({library.symbol.decode()})" if library.symbol else ""
    return f"{os.path.basename(library.file.decode())}{symbol}"
