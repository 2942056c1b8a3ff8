"""The busiest other processes, to be named in the message that the machine was too busy."""

from __future__ import annotations

import os
from typing import NamedTuple

from .clocks import time

_WORTH_NAMING = 0.15  # cores


class Neighbour(NamedTuple):
    """Another process, and how many cores it used."""

    cores: float
    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid}) {self.cores:.2f} of a core"


def busiest(seconds: float = 0.15, most: int = 2) -> list[Neighbour]:
    """Measure for ``seconds`` and return the ``most`` busiest other processes that used more than 0.15 cores, busiest first.

    Processes of other users are included if the system shows them.
    """
    import psutil  # slow to import, and needed only if the machine was too busy

    own = {os.getpid(), os.getppid()}
    try:
        before = _cpu_times(psutil)
        start = time.monotonic()
        time.sleep(seconds)
        after, elapsed = _cpu_times(psutil), time.monotonic() - start
    except (psutil.Error, OSError):  # a system without /proc, or a test with a fake file system
        return []
    used = [((cpu - before.get((pid, name), cpu)) / elapsed, pid, name) for (pid, name), cpu in after.items() if pid not in own]
    busy = sorted(Neighbour(*each) for each in used if each[0] > _WORTH_NAMING)
    return busy[-most:][::-1]


def _cpu_times(psutil: object) -> dict[tuple[int, str], float]:
    times = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):  # type: ignore[attr-defined]
        if (cpu := process.info["cpu_times"]) is not None:
            times[process.info["pid"], process.info["name"]] = cpu.user + cpu.system
    return times
