"""Notices from another process that a run makes no step any more, because a call in it holds the GIL and does not return.

On a busy machine, what makes no progress has to compute, or all of its threads have to sleep: a thread that waits for a core does
neither.
"""

from __future__ import annotations

from math import inf

from ..core.clocks import monotonic
from ..core.stat import stat_of
from ..core.system import HAS_PROC, entries
from ..engine.running.journal import Journal, Stage

_PATIENCE = 1.0  # seconds beyond the limit of a run
_OWN_WATCH = 0.5  # seconds of CPU time in which the process would have ended the run by itself, if it could
_LOOKS_ASLEEP = 10  # consecutive looks at which all threads sleep
_UNKNOWN = 4.0  # times the limit, where the system does not tell what a process does


class HangWatch:
    """Whether a process makes no step in a run for too long. Not even its own watcher thread runs while a call holds the GIL.

    Args:
        limit: seconds, after which the process would end the run by itself if it could.
        longest: the same for a run that goes on without reports of its steps.
    """

    def __init__(self, journal: Journal, limit: float, longest: float = inf) -> None:
        self._journal, self._limit, self._longest = journal, limit, longest
        self._run, self._since, self._cpu, self._asleep = -1, 0.0, 0.0, 0

    def hangs(self, pid: int) -> bool:
        """Look at the process; to be called again and again."""
        journal, now = self._journal, monotonic()
        if journal.stage is not Stage.THREADS or journal.run != self._run:
            self._run, self._since, self._cpu, self._asleep = journal.run, now, _cpu_seconds(pid), 0
            return False
        limit = self._longest if journal.unreported else self._limit
        if now - self._since < limit + _PATIENCE:
            return False
        if not HAS_PROC:
            return now - self._since > _UNKNOWN * limit + _PATIENCE
        self._asleep = self._asleep + 1 if _all_sleep(pid) else 0
        return self._asleep >= _LOOKS_ASLEEP or _cpu_seconds(pid) - self._cpu > limit / 2 + _OWN_WATCH


def _cpu_seconds(pid: int) -> float:
    """Of a process; 0 if it is gone."""
    try:
        return stat_of(f"/proc/{pid}").cpu_seconds
    except OSError:
        return 0.0


def _all_sleep(pid: int) -> bool:
    folder = f"/proc/{pid}/task"
    try:
        states = [stat_of(f"{folder}/{thread}").state for thread in entries(folder)]
    except OSError:  # a thread has just ended
        return False
    return bool(states) and all(state == "S" for state in states)
