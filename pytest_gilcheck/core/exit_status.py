"""Exit statuses of child processes: how they are described, and what keeps the system from discarding them.

While ``SIGCHLD`` is ignored, the system discards the status of every child process: ``waitpid`` raises ``ChildProcessError``, and
``subprocess`` then reports status 0 for a child that crashed. So this process gets the default action for ``SIGCHLD``, which
does not notify anybody either, as long as it has children of ours. In a fork, ``SIGCHLD`` is ignored again.

A status can be lost all the same: to another thread of this process that waits for any child, or where ``SIGCHLD`` was set by C
code or cannot be set because this is not the main thread. Then it is unknown, and nobody may take it for a success.
"""

from __future__ import annotations

import os
import signal
import threading

from .child_protocol import PIPE_LOST
from .signal_names import signal_name
from .system import OWN_FAILURE

_kept = 0  # child processes whose status is to be kept
_was_ignored = False


_ENDS = tuple(f"SIG{name}" for name in ("INT", "TERM", "HUP", "QUIT", "KILL", "ALRM", "VTALRM", "PROF", "PIPE", "USR1", "USR2"))


def is_crash(status: int | None) -> bool:
    """Whether a process was killed by a signal that is none of those which end processes on purpose.

    A program that has handled a signal is expected to die by it: it restores the default
    action and sends the signal to itself. A timer ends one by SIGALRM, a pipe that nobody reads by SIGPIPE.
    """
    return status is not None and status < 0 and signal_name(-status) not in _ENDS


def describe_exit(status: int | None) -> str:
    """How a process ended, to follow "the process": ``"exited with status 3"``, ``"was killed by SIGSEGV"``.

    Args:
        status: its exit status, or minus the number of the signal that killed it; None if unknown.
    """
    if status is None:
        return "ended with an unknown exit status (another thread waited for it, or SIGCHLD is ignored)"
    return f"was killed by {signal_name(-status)}" if status < 0 else f"exited with status {status}"


def not_of_the_workload(status: int | None) -> str:
    """Why the end of a child with this exit status says nothing about the workload, to follow "the process"; empty if it does."""
    if status == PIPE_LOST:
        return "could not report: it closed descriptors that it did not open (os.closerange?)"
    if status == OWN_FAILURE:
        what = "a built-in name, the recursion limit, the limit of memory?"
        return f"could not report: it changed what pytest-gilcheck needs there ({what})"
    return ""


def statuses_are_discarded() -> bool:
    """Whether the system discards the exit statuses of this process's children now, as far as Python knows."""
    return hasattr(signal, "SIGCHLD") and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN


def keep() -> None:
    """Have the system keep the exit status of a child process that is started after this call, until `release`."""
    global _kept, _was_ignored
    if _kept == 0 and threading.current_thread() is threading.main_thread() and statuses_are_discarded():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _was_ignored = True
    _kept += 1


def release() -> None:
    """End what one call of `keep` began; after the last one, ``SIGCHLD`` is ignored again if it was before."""
    global _kept, _was_ignored
    _kept -= 1
    if _kept == 0 and _was_ignored and threading.current_thread() is threading.main_thread():
        _was_ignored = False
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _restore_in_fork() -> None:
    global _kept, _was_ignored
    if _was_ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _kept, _was_ignored = 0, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_in_fork)
