"""What the kernel knows of a process, read from outside: a thread of a stalled process would be stalled too. Linux only."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..core.interpreter import GIL, build

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
        blocked, ignored: signal numbers that the main thread blocks, and that the process ignores.
    """

    running: bool
    switches: int
    main_cpu: float
    others_cpu: float
    denied: float
    blocked: frozenset[int]
    ignored: frozenset[int]

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
    """Processes that are still in a process group after ``seconds``, as ``"name (pid 4711)"``; the dead do not count."""
    until = time.monotonic() + seconds
    while found := _members(group):
        if time.monotonic() > until:
            return found
        time.sleep(0.02)
    return []


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
