"""Names of signals, for any number: the standard library's ``signal.Signals`` has none for most real-time signals."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """The name of a signal, such as ``"SIGSEGV"``, ``"SIGRTMIN+3"`` or, if it has none, ``"signal 70"``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        pass
    first, last = getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", 0)
    return f"SIGRTMIN+{number - first}" if first < number < last else f"signal {number}"
