"""What the system says of one process or one thread, and of its cores, in files named ``stat``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from .system import read

_HERTZ = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Stat(NamedTuple):
    """One look at a process or a thread.

    Attributes:
        name: of its command, or of the thread, as far as the kernel keeps it.
        state: one letter: ``R`` runs, ``S`` sleeps, ``Z`` has ended and was not waited for, ...
        group: the number of its process group.
        cpu_seconds: that it has used, in user mode and in the kernel.
        core: on which it ran last.
    """

    name: str
    state: str
    group: int
    cpu_seconds: float
    core: int


def stat_of(folder: str) -> Stat:
    """What is known of a process (``/proc/PID``) or a thread (``/proc/PID/task/TID``).

    Raises:
        OSError: it is gone, or this system does not have such files.
    """
    # The name is in parentheses, and may contain spaces and parentheses.
    name, _, rest = read(f"{folder}/stat").partition("(")[2].rpartition(")")
    fields = rest.split()
    if len(fields) < 37:  # it is going just now
        raise ProcessLookupError(f"{folder}/stat is not complete")
    return Stat(name, fields[0], int(fields[2]), (int(fields[11]) + int(fields[12])) / _HERTZ, int(fields[36]))


class CoreTimes(NamedTuple):
    """What became of the time of one core, or of all of them together, since the system started, in seconds.

    Attributes:
        idle: that nobody used.
        stolen: that the hypervisor took away.
        total: all of it.
    """

    idle: float
    stolen: float
    total: float


def core_times() -> dict[int | None, CoreTimes]:
    """The times of each core by its number, and under None those of all cores; empty where the system does not tell."""
    found: dict[int | None, CoreTimes] = {}
    with suppress(OSError, ValueError, IndexError):
        for line in read("/proc/stat").splitlines():
            name, _, fields = line.partition(" ")
            if name.startswith("cpu"):
                ticks = [int(field) for field in fields.split()[:8]]  # user, nice, system, idle, iowait, irq, softirq, steal
                idle, stolen, total = (seconds / _HERTZ for seconds in (ticks[3] + ticks[4], ticks[7], sum(ticks)))
                found[int(name[3:]) if name != "cpu" else None] = CoreTimes(idle, stolen, total)
    return found


def stolen() -> float:
    """Seconds that the hypervisor has taken from all cores of this machine so far; 0 where the kernel does not count them.

    The run-queue time of a thread does not contain them: a thread on a core that was taken away looks as if it ran.
    """
    times = core_times().get(None)
    return times.stolen if times is not None else 0.0
