"""A process that takes over: a fork of a guarded child that sleeps until the child dies, and then goes on in its place.

What a guarded child does may kill its interpreter. The fork has the memory of the child from before that, so it can find out what
happened, and go on with what the child was to do afterwards. If nothing happens, the child itself goes on, with its memory and its
process id, and the fork is killed. The parent hears of the fork beforehand (`ChildSide.announce`), to follow it if the child dies.

What does not work: a fork that does the dangerous part and sends its result to the waiting process, because what the program left
in memory would be lost, and an assertion on it would pass; a handler for ``SIGSEGV``, which cannot go on after it returns.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO

from . import exit_status
from .child_side import ChildSide
from .clocks import sleep
from .fork_safety import NoFork
from .stack_dumps import StackDumps
from .stat import stat_of
from .streams import flush
from .system import HAS_PIDFD, getpid

_LOOK = 0.1  # seconds between two looks at a process that may hang
_KILLED = 0.005  # seconds between two looks at one that is about to die
_TOLD = 2.0  # seconds that the parent may take to say how the other one ended, on a busy machine


@dataclass(frozen=True)
class Inherited:
    """In the process that has taken over: how the other one ended.

    Attributes:
        trace: the stacks that it wrote; may be empty.
        hung: whether it was ended because it hung.
        status: its exit status, or minus the number of the signal that killed it; None if it is unknown.
    """

    trace: str
    hung: bool
    status: int | None


class Standby:
    """In the process that works: the one that waits. `dismiss` must be called.

    Attributes:
        announced: whether the parent has heard of it; if not, nobody would follow it.
    """

    def __init__(self, side: ChildSide, pid: int) -> None:
        self._side, self._pid, self._owner = side, pid, getpid()
        self.announced = side.announce(pid)

    def lives(self) -> bool:
        """Whether the waiting process is there."""
        try:
            return os.waitpid(self._pid, os.WNOHANG) == (0, 0)
        except OSError:
            return False

    def dismiss(self) -> None:
        """End the waiting process; nothing in a process that the work has forked."""
        if getpid() != self._owner:
            return
        self._side.announce(None)
        with suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(self._pid, 0)
        exit_status.release()


def stand_by(side: ChildSide, hangs: Callable[[int], bool]) -> Standby | Inherited:
    """Fork the process that takes over. `fork_safety.can_fork` must allow it.

    Args:
        side: of this process.
        hangs: called ten times a second in the waiting process with the process id of the working one: whether it hangs. Then it is
            killed. It may also do something for the working process.

    Returns:
        At once in the process that works. In the other one when the first is dead, with all that it had in memory at this call.

    Raises:
        NoFork: the system refuses it.
    """
    exit_status.keep()
    flush()
    worker, parent = getpid(), os.getppid()
    written = os.fstat(side.stacks).st_size
    ends = os.pidfd_open(worker) if HAS_PIDFD else None
    try:
        pid = os.fork()
    except OSError as error:
        exit_status.release()
        raise NoFork(*error.args) from error
    finally:
        if ends is not None and getpid() == worker:
            os.close(ends)
    if pid:
        return Standby(side, pid)
    hung = _await_end(worker, ends, hangs, side.stacks)
    if ends is not None:
        os.close(ends)
    try:
        os.kill(parent, 0)
    except ProcessLookupError:  # nobody needs this process
        os._exit(1)
    side.pid = getpid()
    trace = os.pread(side.stacks, 1 << 20, written).decode(errors="replace").strip()
    return Inherited(trace, hung, None if hung else side.ended.ask(_TOLD))


def _await_end(worker: int, ends: int | None, hangs: Callable[[int], bool], stacks: int) -> bool:
    """Wait until a process is dead; kill it if it hangs, and say whether it did."""
    poll = select.poll()
    if ends is not None:
        poll.register(ends, select.POLLIN)
    while os.getppid() == worker:
        if ends is None:
            sleep(_LOOK)
        elif poll.poll(_LOOK * 1e3):
            break
        if hangs(worker):
            StackDumps(FileIO(stacks, closefd=False)).request(worker, lambda: False)
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
            while os.getppid() == worker and not _is_zombie(worker):
                sleep(_KILLED)
            return True
    return False


def _is_zombie(pid: int) -> bool:
    try:
        return stat_of(f"/proc/{pid}").state == "Z"
    except OSError:
        return False
