"""Processes that a target started and that outlive it: they are reported, and killed.

Those that stayed in its process group are found by the group's number. Those that left it become children of ours, because this
process is their subreaper (``adoption``), and are known by their `lineage`; a child that some thread of ours started in the
meantime is left alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..core.clocks import time
from ..core.lineage import available, descends
from ..core.stat import stat_of
from ..core.system import HAS_PROC, entries, read

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_POLL = 0.02  # seconds
_TIMES_DENIED = 2.0  # times the seconds that processes get, at most, for those in which they had no core


@contextmanager
def adoption() -> Iterator[None]:
    """In the block, orphaned descendants of this process become its children, where their lineage can be told."""
    if not available():  # nobody could tell the adopted from the children of the user's own threads
        yield
        return
    libc, before = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value)


class Survivors(NamedTuple):
    """Processes of a target that outlive it.

    Attributes:
        names: each as ``"name (pid 4711)"``.
        denied: whether one of them had no core for most of the time, so that it might have ended.
    """

    names: tuple[str, ...] = ()
    denied: bool = False


def survivors(target: int, seconds: float) -> Survivors:
    """Processes of a target that still run after ``seconds``.

    Time in which a busy machine denied one of them a core is not its own: such a process gets that in addition. The kernel counts a
    wait for a core only when it is over, so it is looked at from outside: the process is ready, and its CPU time stands still.

    Args:
        target: number of a process that led its own group, called `core.lineage.mark`, and is gone.
    """
    began = before = time.monotonic()
    denied: dict[int, float] = {}
    used: dict[int, float] = {}
    while found := _members(target) | {pid: _named(pid) for pid in _adopted(target)}:
        now = time.monotonic()
        for pid in found:
            ready, cpu = _ready(pid)
            if ready and pid in used:
                denied[pid] = denied.get(pid, 0.0) + max(0.0, now - before - (cpu - used[pid]))
            used[pid] = cpu
        before = now
        most = max(denied.get(pid, 0.0) for pid in found)
        if now - began > seconds + min(most, _TIMES_DENIED * seconds):
            return Survivors(tuple(found.values()), most > (now - began) / 2)
        time.sleep(_POLL)
    return Survivors()


def _ready(pid: int) -> tuple[bool, float]:
    """Whether the main thread of a process runs or waits for a core, and the CPU seconds that it has used."""
    try:
        return stat_of(f"/proc/{pid}").state == "R", int(read(f"/proc/{pid}/schedstat").split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return False, 0.0


def kill_adopted(target: int) -> None:
    """Kill the orphaned descendants of a target, with those that become orphans by that; the target must be gone."""
    while adopted := _adopted(target):
        for pid in adopted:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def children(pid: int) -> list[str]:
    """All descendants of a running process, each as ``"name (pid 4711)"``."""
    import psutil  # slow to import, and needed only when something is wrong

    try:
        return [f"{child.name()} (pid {child.pid})" for child in psutil.Process(pid).children(recursive=True)]
    except (psutil.Error, OSError):
        return []


def _adopted(target: int) -> list[int]:
    """Running children of ours that descend from the target; those that have exited are waited for."""
    alive = []
    for pid in _own_children():
        if not descends(pid, target):
            continue
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                alive.append(pid)
        except ChildProcessError:
            continue
    return alive


def _own_children() -> frozenset[int]:
    found: set[int] = set()
    for task in entries("/proc/self/task"):
        try:
            found |= {int(pid) for pid in read(f"/proc/self/task/{task}/children").split()}
        except OSError:  # a thread that has ended, or a kernel without such lists
            continue
    return frozenset(found)


def _named(pid: int) -> str:
    try:
        return f"{read(f'/proc/{pid}/comm').strip()} (pid {pid})"
    except OSError:
        return f"pid {pid}"


def _members(group: int) -> dict[int, str]:
    """Running processes of a process group, by number."""
    try:
        os.killpg(group, 0)
    except OSError:
        return {}
    if HAS_PROC:
        return {int(pid): _named(int(pid)) for pid in entries("/proc") if pid.isdigit() and _runs_in(int(pid), group)}
    import psutil

    found = {}
    for process in psutil.process_iter(["pid", "name", "status"]):
        try:
            if os.getpgid(process.info["pid"]) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found[process.info["pid"]] = f"{process.info['name']} (pid {process.info['pid']})"
        except OSError:
            continue
    return found


def _runs_in(pid: int, group: int) -> bool:
    """Whether a process runs in a process group."""
    try:
        process = stat_of(f"/proc/{pid}")
    except OSError:
        return False
    return process.group == group and process.state != "Z"
