"""What the kernel knows of a process, read from outside: a thread of a stalled process would be stalled too. Linux only."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core.interpreter import GIL, build

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_children_before: frozenset[int] | None = None
_HERTZ = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Look:
    """One look at a process.

    Attributes:
        running: whether the main thread was on a core, or ready to be; otherwise it slept.
        switches: how often the main thread has gone to sleep by itself so far. It stands still while a thread sleeps through;
            one that waits for the GIL wakes every switch interval.
        main_cpu, others_cpu: CPU seconds so far, of the main thread and of all others; in scheduler ticks, some 10 ms.
        denied: seconds that a core was denied to its threads so far. With a GIL they are summed: whoever has the GIL keeps all
            others waiting. Without one the main thread's own count.
        blocked, ignored, pending: signal numbers that the main thread blocks, that the process ignores, and that wait for either.
    """

    running: bool
    switches: int
    main_cpu: float
    others_cpu: float
    denied: float
    blocked: frozenset[int]
    ignored: frozenset[int]
    pending: frozenset[int]

    def asleep_since(self, before: Look) -> bool:
        """Whether the main thread slept through from one look to the other."""
        return not self.running and not before.running and self.switches == before.switches


def look(pid: int) -> Look | None:
    """Look at a process now; None where there is no such thing to read, or the process is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        main = Path(f"/proc/{pid}/task/{pid}")
        state, main_cpu = _stat(main)
        facts = dict(line.split(":\t", 1) for line in (main / "status").read_text().splitlines() if ":\t" in line)
        others, denied = 0.0, 0.0
        for task in tasks:
            path = Path(f"/proc/{pid}/task/{task}")
            try:
                if task == str(pid) or build() == GIL:
                    denied += int((path / "schedstat").read_text().split()[1]) / 1e9
                others += _stat(path)[1] if task != str(pid) else 0.0
            except (OSError, IndexError, ValueError):  # a thread that ended meanwhile, or a kernel that keeps no such record
                continue
        return Look(
            running=state == "R",
            switches=int(facts["voluntary_ctxt_switches"]),
            main_cpu=main_cpu,
            others_cpu=others,
            denied=denied,
            blocked=_numbers(facts["SigBlk"]),
            ignored=_numbers(facts["SigIgn"]),
            pending=_numbers(facts["SigPnd"]) | _numbers(facts["ShdPnd"]),
        )
    except (OSError, KeyError, ValueError):
        return None


def children(pid: int) -> list[str]:
    """Child processes of a process, and theirs, as ``"name (pid 4711)"``."""
    import psutil  # slow to import, and needed only when something is wrong

    try:
        return [f"{child.name()} (pid {child.pid})" for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def survivors(group: int, seconds: float) -> list[str]:
    """Processes that are still there after ``seconds``, as ``"name (pid 4711)"``: those of a process group, and those that
    `adoption` brought us. The dead do not count; the adopted are ended."""
    until = time.monotonic() + seconds
    while found := _members(group) + [_named(pid) for pid in _adopted()]:
        if time.monotonic() > until:
            for pid in _adopted():
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            return found
        time.sleep(0.02)
    return []


@contextmanager
def adoption() -> Iterator[None]:
    """Have processes that lose their parent in the block become ours, instead of nobody's: those that left their group too.

    Linux only. They are known by not having been our children before.
    """
    global _children_before
    if sys.platform != "linux":
        yield
        return
    libc, before = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _children_before = _own_children()
    try:
        yield
    finally:
        for pid in _adopted():  # of what went wrong before anybody asked
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        _children_before = None
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value)


def _adopted() -> list[int]:
    """Processes that became ours in an `adoption` and live; those that died are reaped."""
    if _children_before is None:
        return []
    alive = []
    for pid in _own_children() - _children_before:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                alive.append(pid)
        except ChildProcessError:
            continue
    return alive


def _own_children() -> frozenset[int]:
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        try:
            found |= {int(pid) for pid in Path(f"/proc/self/task/{task}/children").read_text().split()}
        except OSError:  # a thread that ended meanwhile, or a kernel without such lists
            continue
    return frozenset(found)


def _named(pid: int) -> str:
    try:
        return f"{Path(f'/proc/{pid}/comm').read_text().strip()} (pid {pid})"
    except OSError:
        return f"pid {pid}"


def _members(group: int) -> list[str]:
    try:
        os.killpg(group, 0)
    except OSError:
        return []
    import psutil

    found = []
    for process in psutil.process_iter(["pid", "name", "status"]):
        try:
            if os.getpgid(process.info["pid"]) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{process.info['name']} (pid {process.info['pid']})")
        except OSError:
            continue
    return found


def _stat(task: Path) -> tuple[str, float]:
    """State and CPU seconds of a thread. Its name, in brackets, may hold spaces and brackets."""
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / _HERTZ


def _numbers(mask: str) -> frozenset[int]:
    bits = int(mask, 16)
    return frozenset(number + 1 for number in range(64) if bits >> number & 1)
