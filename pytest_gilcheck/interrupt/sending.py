"""Sends a signal to the processes that would get it outside of tests: Ctrl-C at a terminal signals the whole foreground process
group, ``kill`` one process.

On Windows a Ctrl-C belongs to a console, and all processes that share the console get it. So the target gets a console of its
own, and a helper process attaches to that console and generates the event. What does not work there: ``os.kill(pid,
CTRL_C_EVENT)`` with a process group (the event never arrives; only CTRL_BREAK does), and attaching to the console ourselves (we
would lose our own).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from ..core.clocks import time
from ..core.stack_dumps import has_handler

_SENT_BY_TERMINALS = {signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)}
WINDOWS = os.name == "nt"
PROBE = (
    0 if WINDOWS else signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR1
)  # its handler reports that the main thread checks for signals

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
    """Send a signal to a target; nothing happens if that is gone.

    Args:
        pid: the target, which leads its own process group unless it has left that.
        number: SIGINT and SIGQUIT go to the group, other signals to the process.

    Returns:
        The time right before the signal was sent, by ``time.monotonic_ns``.
    """
    if WINDOWS:
        return _press(pid, number)
    now = time.monotonic_ns()
    if number in _SENT_BY_TERMINALS:
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
    """Ask the main thread to report; Windows has no signal that could be used for that.

    It would kill a process that has become another program.
    """
    if not WINDOWS and has_handler(pid, PROBE):
        send(pid, PROBE)


def _press(pid: int, number: int) -> int:
    """Generate a Ctrl-C event on Windows. Nobody has run this yet: there was no Windows machine."""
    if number != signal.SIGINT:
        now = time.monotonic_ns()
        os.kill(pid, number)  # SIGTERM calls TerminateProcess there, and no handler runs
        return now
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        stamp = os.path.join(folder, "sent")
        subprocess.run([sys.executable, "-I", "-S", "-c", _PRESS_CTRL_C, str(pid), stamp], check=True)
        with open(stamp) as file:
            return int(file.read())
