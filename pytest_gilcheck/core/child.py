"""A guarded child process: whatever happens in it, including a crash, an exit or a hang, is a result for its parent.

The child is a fork, so it has everything that the parent has in memory: fixtures, closures, open files. It runs in a process group
of its own: a Ctrl-C at the terminal reaches the parent alone, and the parent kills the whole group, including processes that the
child started. If the parent itself is killed, `reaper` kills the group. `fork_safety.can_fork` says whether a fork is safe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings

from . import exit_status, lifecycle
from .child_side import ChildSide
from .fork_safety import NoFork
from .last_status import LastStatus
from .lifecycle import Lifecycle
from .parent_side import Ending, Outcome, ParentSide
from .streams import flush
from .system import scratch_file

__all__ = ["ChildSide", "Ending", "Outcome", "ParentSide", "fork"]

_PR_SET_PDEATHSIG = 1


def fork(limit: float, own_group: bool = True) -> ParentSide | ChildSide:
    """Fork this process.

    Args:
        limit: seconds until the parent kills the child, unless the child sets another deadline.
        own_group: whether the child leads a process group of its own. The child of a guarded child must stay in the group of that
            one, or it would outlive it.

    Returns:
        The `ChildSide` in the child, and the `ParentSide` in the parent.

    Raises:
        NoFork: the system refuses it.
    """
    parent = os.getpid()
    reading, writing = os.pipe()
    stacks, ended = scratch_file(), LastStatus()
    try:
        pid = forked(own_group)
    except NoFork:
        os.close(reading)
        os.close(writing)
        stacks.close()
        ended.close()
        raise
    if pid == 0:
        die_with(parent)
        os.close(reading)
        side = ChildSide(writing, stacks, limit, ended)
        stacks.close()  # it has a duplicate; a file that is dropped unclosed is a warning, in whatever test runs just then
        return side
    os.close(writing)
    return ParentSide(Lifecycle(pid, group=own_group), reading, stacks, limit, ended)


def forked(own_group: bool) -> int:
    """Fork this process, for a `Lifecycle`, and nothing else; returns what `os.fork` does.

    Raises:
        NoFork: the system refuses it.
    """
    lifecycle.prepare(group=own_group)
    flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded": can_fork has checked the threads
        try:
            pid = os.fork()
        except OSError as error:
            exit_status.release()
            raise NoFork(*error.args) from error
    if own_group:
        try:
            os.setpgid(pid, pid)  # in both processes, so that the group exists when either goes on
        except (PermissionError, ProcessLookupError):
            pass
    return pid


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies in any way; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
