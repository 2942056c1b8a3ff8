"""Sending a signal as it happens in life: a terminal's Ctrl-C goes to the whole foreground group, ``kill`` to one process.

On Windows a Ctrl-C belongs to a console, and goes to all that share it: the target gets a console of its own, and a helper
joins that console to press the keys there. What does not work there: ``os.kill(pid, CTRL_C_EVENT)`` with a process group (the
event never arrives; only CTRL_BREAK does), and joining the console ourselves (our own would be gone).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

_BY_TERMINALS = {signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)}
WINDOWS = os.name == "nt"
PROBE = 0 if WINDOWS else signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR1  # asks: are you there?

_PRESS_CTRL_C = """
import ctypes, sys, time
kernel = ctypes.windll.kernel32
kernel.FreeConsole()
if not kernel.AttachConsole(int(sys.argv[1])) or not kernel.SetConsoleCtrlHandler(None, True):
    sys.exit(f"no console: error {kernel.GetLastError()}")
with open(sys.argv[2], "w") as file:
    file.write(str(time.monotonic_ns()))
    file.flush()
    kernel.GenerateConsoleCtrlEvent(0, 0)
"""


def send(pid: int, number: int) -> int:
    """Send it.

    Returns:
        When, as ``time.monotonic_ns``: right before, by the sender's clock.
    """
    if WINDOWS:
        return _press(pid, number)
    now = time.monotonic_ns()
    if number in _BY_TERMINALS:
        try:
            os.killpg(pid, number)
            return now
        except ProcessLookupError:  # it has left its group
            pass
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    return now


def probe(pid: int) -> None:
    """Ask the main thread for a sign of life; Windows has no signal left for that."""
    if not WINDOWS:
        send(pid, PROBE)


def _press(pid: int, number: int) -> int:
    """Not run so far: there was no Windows machine."""
    if number != signal.SIGINT:
        now = time.monotonic_ns()
        os.kill(pid, number)  # SIGTERM is TerminateProcess there, and no handler ever sees it
        return now
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        stamp = os.path.join(folder, "sent")
        subprocess.run([sys.executable, "-I", "-S", "-c", _PRESS_CTRL_C, str(pid), stamp], check=True)
        with open(stamp) as file:
            return int(file.read())
