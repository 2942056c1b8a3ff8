"""The workload as a load: threads of their own call it repeatedly for the length of a window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ..core.clocks import time
from ..core.team import Team
from ..core.workloads import Workload, is_async
from .slowest_line import SlowestLine, slowest_line


@dataclass(frozen=True)
class LoadRun:
    """The calls of the workload in one window.

    Attributes:
        begin: the time at which the first thread began, by ``time.perf_counter``. Where that thread holds the GIL, the others begin
            one stall later.
        rate: calls per second of all threads together.
        cores: CPU time of the threads divided by wall time.
    """

    begin: float
    rate: float
    cores: float


class Load:
    """Calls the workload in the threads of a team.

    Args:
        work: a callable, or a coroutine function, which is awaited in an event loop of each thread.
        team: the threads.
        timeout: seconds that one call may take.
        setup: called before each run, untimed.
    """

    def __init__(self, work: Workload, team: Team, timeout: float, setup: Callable[[], object] | None = None) -> None:
        self.work, self._team, self._timeout, self._setup = work, team, timeout, setup
        self._failed = False

    def once(self) -> float:
        """Make one call in one thread and return the seconds it took.

        Raises:
            BaseExceptionGroup, TeamHung: as `Team.lap`.
        """
        self._prepare()
        lap = self._team.lap([lambda: self._until(0.0)], limit=self._timeout, label="the first call")
        return lap.wall / 1e9

    def slowest_line(self) -> SlowestLine | None:
        """The line of the workload with the longest operation, from one more call; None for a coroutine function.

        Raises:
            BaseExceptionGroup, TeamHung: as `Team.lap`.
        """
        if is_async(self.work):
            return None
        found: list[SlowestLine | None] = []
        self._prepare()
        self._team.lap([lambda: found.append(slowest_line(self.work))], limit=self._timeout, label="the slowest line")
        return found[0]

    def until(self, end: float, label: str, threads: int | None = None) -> LoadRun:
        """Call the workload in every thread until ``end``; each thread finishes its current call.

        Args:
            threads: how many threads; None for all.

        Raises:
            BaseExceptionGroup, TeamHung: as `Team.lap`.
        """
        self._prepare()
        counts = [0] * (threads or len(self._team))

        def share(index: int) -> Callable[[], None]:
            def run() -> None:
                counts[index] = self._until(end)

            return run

        limit = max(0.0, end - time.perf_counter()) + self._timeout
        try:
            lap = self._team.lap([share(index) for index in range(len(counts))], limit=limit, label=label)
        except BaseException:  # also the user's Ctrl-C: the threads must stop
            self._failed = True
            raise
        rates = [count / max(timing.wall / 1e9, 1e-9) for count, timing in zip(counts, lap.timings, strict=True)]
        return LoadRun(min(timing.start for timing in lap.timings) / 1e9, sum(rates), lap.cores_used)

    def for_seconds(self, seconds: float) -> Callable[[], None]:
        """A callable that calls the workload for about this many seconds, for a thread of another team."""
        self._prepare()

        def run() -> None:
            self._until(time.perf_counter() + seconds)

        return run

    def _prepare(self) -> None:
        self._failed = False
        if self._setup is not None:
            self._setup()

    def _until(self, end: float) -> int:
        try:
            return asyncio.run(self._awaited(end)) if is_async(self.work) else self._called(end)
        except BaseException:
            self._failed = True  # the other threads must stop
            raise

    def _called(self, end: float) -> int:
        calls, work = 0, self.work
        while True:
            work()
            calls += 1
            if self._failed or time.perf_counter() >= end:
                return calls

    async def _awaited(self, end: float) -> int:
        calls, work = 0, self.work
        while True:
            await work()
            calls += 1
            if self._failed or time.perf_counter() >= end:
                return calls
