"""The workload as a load: called over and over in threads of its own, for as long as a window takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..core.team import Team
from ..core.workloads import Workload, is_async


@dataclass(frozen=True)
class Stretch:
    """What the workload did in one window.

    Attributes:
        begin: when the first of its threads was at work, on the clock ``time.perf_counter``. The others may come a stall later,
            where the first one holds the GIL.
        rate: calls in a second, of all threads together.
        cores: CPU time of its threads over wall time.
    """

    begin: float
    rate: float
    cores: float


class Load:
    """The workload in the threads of a team.

    Args:
        work: a callable, or a coroutine function, which is awaited in an event loop of each thread.
        team: its threads.
        timeout: seconds that one call may take.
        setup: called before each run, untimed.
    """

    def __init__(self, work: Workload, team: Team, timeout: float, setup: Callable[[], object] | None = None) -> None:
        self.work, self._team, self._timeout, self._setup = work, team, timeout, setup
        self._failed = False

    def once(self) -> float:
        """One call in one thread; the seconds it took.

        Raises:
            BaseExceptionGroup, TeamHung: as `Team.lap`.
        """
        self._prepare()
        lap = self._team.lap([lambda: self._until(0.0)], limit=self._timeout, label="the first call")
        return lap.wall / 1e9

    def until(self, end: float, label: str) -> Stretch:
        """Run in every thread until that time; each finishes the call it is in.

        Raises:
            BaseExceptionGroup, TeamHung: as `Team.lap`.
        """
        self._prepare()
        counts = [0] * len(self._team)

        def share(index: int) -> Callable[[], None]:
            def run() -> None:
                counts[index] = self._until(end)

            return run

        limit = max(0.0, end - time.perf_counter()) + self._timeout
        try:
            lap = self._team.lap([share(index) for index in range(len(self._team))], limit=limit, label=label)
        except BaseException:  # the user's Ctrl-C among them: the threads need not go on
            self._failed = True
            raise
        rates = [count / max(stint.wall / 1e9, 1e-9) for count, stint in zip(counts, lap.stints, strict=True)]
        return Stretch(min(stint.start for stint in lap.stints) / 1e9, sum(rates), lap.cores_used)

    def stretch(self, seconds: float) -> Callable[[], None]:
        """The same as a call for one thread of somebody else's, which takes about so many seconds."""
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
            self._failed = True  # the others need not go on
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
