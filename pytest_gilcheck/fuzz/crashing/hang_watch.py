"""Notices from another process that a run makes no step any more."""

from __future__ import annotations

from ...core.clocks import monotonic
from ...core.system import HAS_PROC, read
from ..running.journal import Journal, Stage

_PATIENCE = 1.0  # seconds beyond the limit of a run in which the process ends it by itself, if it can
_STARVED = 4.0  # times the limit: so long may a run take that has not got the processor


class HangWatch:
    """Whether a process makes no step in a run for too long. Not even its own watcher thread runs while a call holds the GIL.

    Args:
        limit: seconds, after which the process would end the run by itself if it could.
    """

    def __init__(self, journal: Journal, limit: float) -> None:
        self._journal, self._limit = journal, limit
        self._run, self._since, self._cpu = -1, 0.0, 0.0

    def hangs(self, pid: int) -> bool:
        """Look at the process; to be called again and again."""
        journal, now = self._journal, monotonic()
        if journal.stage is not Stage.THREADS or journal.run != self._run:
            self._run, self._since, self._cpu = journal.run, now, _cpu_seconds(pid)
            return False
        if now - self._since < self._limit + _PATIENCE:
            return False
        return _cpu_seconds(pid) - self._cpu > self._limit / 2 or now - self._since > _STARVED * self._limit + _PATIENCE


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process; of a system that does not tell, 0."""
    if not HAS_PROC:
        return 0.0
    try:
        fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100  # in ticks, which are hundredths of a second wherever Linux runs
    except (OSError, ValueError, IndexError):
        return 0.0
