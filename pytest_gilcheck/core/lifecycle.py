"""One child process from its start to its end: when it exits and how, and the end of its whole process group.

Every check that starts a process uses this: a fork (`child`), or a program that ``subprocess`` started.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from . import exit_status, reaper
from .clocks import monotonic, monotonic_ns, sleep
from .system import HAS_PIDFD

_POSIX = os.name == "posix"
_POLL = 0.05  # seconds between two looks for a stopped process, which a pidfd does not report
_POLL_WITHOUT_PIDFD = 0.002  # seconds


def start_program(command_line: Sequence[str], *, group: bool, **options: Any) -> Lifecycle:
    """Start a program.

    Args:
        group: whether the options make it lead a process group of its own, which is to be killed with it.
        options: for ``subprocess.Popen``.

    Raises:
        OSError: the system cannot start it.
    """
    prepare(group=group)
    try:
        program = subprocess.Popen(command_line, **options)
    except BaseException:
        if _POSIX:
            exit_status.release()
        raise
    return Lifecycle(program.pid, group=group, program=program)


def prepare(*, group: bool) -> None:
    """Call before a fork whose child gets a `Lifecycle`.

    Args:
        group: whether it will lead a process group of its own.
    """
    if _POSIX:
        exit_status.keep()
        if group:
            reaper.start()


class Lifecycle:
    """A child process: a fork that was made after `prepare`, or a program from `start_program`. `end` must be called.

    Args:
        pid: its process id.
        group: whether it leads a process group of its own. `end` kills that group, and `reaper` does if this process is killed.
        program: the process as ``subprocess`` knows it, if that started it.

    Attributes:
        program: see above.
        gone_at: when its exit was noticed, by ``time.monotonic_ns``; None while it runs.
        status: its exit status, or minus the number of the signal that killed it; None while it runs, and if unknown.
        stopped: number of the signal that stopped it; 0 if it is not stopped.
        pidfd: a descriptor that is readable once the process is gone; None where the system has none.
    """

    def __init__(self, pid: int, *, group: bool, program: subprocess.Popen[bytes] | None = None) -> None:
        self.pid, self._group, self.program = pid, group and _POSIX, program
        self._leader = pid
        self._foreign = False  # whether it is a process that another one forked
        self._tree, self._ended = group and not _POSIX, False
        self.gone_at: int | None = None
        self.status: int | None = None
        self.stopped = 0
        self.pidfd = _open_pidfd(pid)
        self._exits = select.poll() if self.pidfd is not None else None
        if self._exits is not None and self.pidfd is not None:
            self._exits.register(self.pidfd, select.POLLIN)
        if self._group:
            reaper.watch(pid)

    def continue_as(self, pid: int) -> None:
        """Take another process, which is in the group and no child of this one, for the process: that one has died."""
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pid, self._foreign = pid, True
        self.gone_at = self.status = None
        self.pidfd = _open_pidfd(pid)
        self._exits = select.poll() if self.pidfd is not None else None
        if self._exits is not None and self.pidfd is not None:
            self._exits.register(self.pidfd, select.POLLIN)

    def gone(self) -> bool:
        """Look whether the process has exited, without waiting."""
        if self.gone_at is not None:
            return True
        if self._foreign:
            if self._foreign_is_gone():
                self._noticed(None)
            return self.gone_at is not None
        if not _POSIX:
            assert self.program is not None, "without fork, subprocess started it"
            if (code := self.program.poll()) is not None:
                self.gone_at, self.status = monotonic_ns(), code
            return self.gone_at is not None
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:  # somebody else has waited for it, or its status was discarded: unknown, not 0
            self._noticed(None)
            return True
        if pid and os.WIFSTOPPED(status):
            self.stopped = os.WSTOPSIG(status)
        elif pid:
            self._noticed(os.waitstatus_to_exitcode(status))
        return self.gone_at is not None

    def wait(self, seconds: float) -> bool:
        """Wait until the process has exited or is stopped, or the time is over; returns whether it has exited."""
        until = monotonic() + seconds
        while not self.gone() and not self.stopped and (left := until - monotonic()) > 0:
            if self._exits is not None:
                self._exits.poll(min(left, _POLL) * 1e3)
            else:
                sleep(min(left, _POLL_WITHOUT_PIDFD))
        return self.gone_at is not None

    def end(self) -> None:
        """Kill the process and its group, and wait for it; a second call does nothing."""
        if self._ended:
            return
        self._ended = True
        if not _POSIX:
            self._end_on_windows()
            return
        if self._group:
            _kill_group(self._leader)
        if self.gone_at is None:  # it may have left its group
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                self._noticed(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]))
            except ChildProcessError:
                self._noticed(None)
        self._release_group()
        exit_status.release()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def _foreign_is_gone(self) -> bool:
        if self._exits is not None:
            return bool(self._exits.poll(0))
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _noticed(self, status: int | None) -> None:
        self.gone_at, self.status = monotonic_ns(), status
        if self.program is not None:  # or it would try to wait for it
            self.program.returncode = -signal.SIGKILL if status is None else status
        if self._group and not _group_exists(self._leader):  # from now on the number may be given to another process
            self._release_group()

    def _release_group(self) -> None:
        if self._group:
            self._group = False
            reaper.release(self._leader)

    def _end_on_windows(self) -> None:
        """Windows has no process groups that can be killed, so the descendants of the process are."""
        assert self.program is not None, "without fork, subprocess started it"
        if self._tree:
            import psutil

            try:
                for process in [*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)]:
                    process.kill()
            except (psutil.Error, OSError):
                pass
        self.program.kill()
        self.status = self.program.wait()
        self.gone_at = self.gone_at or monotonic_ns()


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # macOS raises the latter for a group of zombies
        pass


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _open_pidfd(pid: int) -> int | None:
    if not HAS_PIDFD:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
