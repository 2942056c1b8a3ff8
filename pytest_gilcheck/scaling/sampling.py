"""Paired, interleaved rounds: sequential against threaded, the workload beside a kernel known to scale.

A round is four laps: N units one after the other and N units at once, for the workload and for the reference kernel. Both arms
run in the same threads behind a barrier, in ABBA order, so that a drift of the machine's speed hits both alike. Blocks (all
sequential laps first) do not work: the speed of a shared machine moves by tens of percent between them.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..core.errors import BadValue
from ..core.team import Lap, Team
from ..core.workloads import Workload, is_async
from .workload import repeated

SHORTEST_UNIT = 0.02  # seconds for one thread's part; at 5 ms the first thread is done before the second gets the GIL
REFERENCE_UNIT = 0.006
SWITCH_INTERVALS = 4  # units are at least this many of them, or threads hardly meet under the GIL
_MOST_CALLS = 10_000_000
_HARDLY_WORK = 3.0  # a call must take this many times as long as the loop around it
_SHORTEST_CALL = 1e-6  # seconds; below, what wraps a call (a test's arguments, say) is a good part of it
_TRUSTED = 0.002  # seconds from which one timing is taken for a measurement


@dataclass(frozen=True)
class Pair:
    """A sequential and a threaded lap of the same work.

    The speedup has two bounds, because the kernel says for how long a thread was runnable but had no core: ``low`` takes such
    time off the sequential lap, ``high`` off the threaded one. ``ideal`` also takes off what CPU time the threads used beyond
    the sequential lap's: no machine gives more, because what is left they spent blocked.
    """

    sequential: Lap
    threaded: Lap

    @property
    def speedup(self) -> float:
        return self.sequential.wall / self.threaded.wall

    @property
    def low(self) -> float:
        return self.sequential.own_wall / self.threaded.wall

    @property
    def high(self) -> float:
        return self.sequential.wall / max(1, self.threaded.wall - self._denied)

    @property
    def ideal(self) -> float:
        needed = min(stint.cpu for stint in self.sequential.stints)
        excess = max(0, max(stint.cpu for stint in self.threaded.stints) - needed)
        return self.sequential.wall / max(1, self.threaded.wall - self._denied - excess)

    @property
    def _denied(self) -> int:
        return max((stint.run_queue or 0) for stint in self.threaded.stints)


@dataclass(frozen=True)
class Round:
    """One round: the workload's pair and the reference kernel's."""

    index: int
    work: Pair
    reference: Pair


@dataclass(frozen=True)
class Calibration:
    """How the workload is repeated to be long enough to time.

    Attributes:
        calls: how often one thread calls the workload in a lap.
        seconds: for one call, alone.
        overhead: seconds of the calling loop itself, for each call.
        reference_calls: the same for the reference kernel.
        unit: seconds that one thread's part should take at least.
    """

    calls: int
    seconds: float
    overhead: float
    reference_calls: int
    unit: float

    @property
    def too_short(self) -> str | None:
        """Why the workload cannot be timed; None if it can."""
        if self.seconds < max(_SHORTEST_CALL, _HARDLY_WORK * self.overhead):
            return f"one call takes {self.seconds * 1e9:.0f} ns, of which the loop around it {self.overhead * 1e9:.0f} ns"
        if self.calls * self.seconds < self.unit / 4:
            return f"one thread's part of a round takes {self.calls * self.seconds * 1e3:.2g} ms, too little for threads to meet"
        return None


class Sampler:
    """Runs laps of one workload on one team.

    Args:
        work: the workload.
        reference: the kernel for the ceiling.
        team: the threads; all of them take part in a threaded lap.
        limit: seconds that one lap may take.
        progress: told what comes before each lap.
        setup: called before each lap, in the calling thread and outside the time. With it, each thread calls the workload just
            once in a threaded lap, and a sequential lap makes as many calls, so that both arms use up what was set up alike.
    """

    def __init__(
        self,
        work: Workload,
        reference: Callable[[], None],
        team: Team,
        limit: float,
        progress: Callable[[str], None],
        setup: Callable[[], object] | None = None,
    ) -> None:
        self.work, self.reference, self.team, self.limit = work, reference, team, limit
        self.progress, self.setup = progress, setup

    def warm_up(self, calls: int) -> None:
        """Call the workload in one thread, untimed."""
        for call in range(calls):
            first = repeated(self.work, 1) if is_async(self.work) else lambda: _ran(self.work())
            self._lap([first], f"warm-up call {call + 1}", self.setup)

    @cached_property
    def calibration(self) -> Calibration:
        """Double the calls until a lap is long enough to be measured."""
        unit = shortest_unit()
        reference_calls, _ = self._calibrate(self.reference, REFERENCE_UNIT)
        if self.setup is not None:
            lap = self._lap([repeated(self.work, 1)], "calibration", self.setup)
            return Calibration(1, lap.wall / 1e9, 0.0, reference_calls, unit)
        calls, seconds = self._calibrate(self.work, unit)
        return Calibration(calls, seconds, self._loop_overhead(min(calls, 100_000)), reference_calls, unit)

    def rounds(self) -> Iterator[Round]:
        """Endless rounds; the caller stops."""
        size, index = len(self.team), 0
        calibration = self.calibration
        while True:
            index += 1
            work = self._pair(self.work, calibration.calls, size, index, "", self.setup)
            reference = self._pair(self.reference, calibration.reference_calls, size, index, "reference, ", None)
            yield Round(index, work, reference)

    def sequential(self, label: str) -> Lap:
        """One more sequential lap: every thread's part, one after the other."""
        return self._in_turn(self.work, self.calibration.calls, label, self.setup)

    def threaded(self, label: str, around: Callable[[Callable[[], None]], Callable[[], None]] = lambda call: call) -> Lap:
        """One more threaded lap, each thread's call wrapped by ``around``."""
        part = around(repeated(self.work, self.calibration.calls))
        return self._lap([part] * len(self.team), label, self.setup)

    def _pair(self, work: Workload, calls: int, size: int, index: int, kind: str, setup: Callable[[], object] | None) -> Pair:
        def sequential() -> Lap:
            return self._in_turn(work, calls, f"round {index}, {kind}sequential", setup)

        def threaded() -> Lap:
            return self._lap([repeated(work, calls)] * size, f"round {index}, {kind}threaded", setup)

        if index % 2:
            first = sequential()
            return Pair(first, threaded())
        second = threaded()
        return Pair(sequential(), second)

    def _in_turn(self, work: Workload, calls: int, label: str, setup: Callable[[], object] | None) -> Lap:
        self._prepare(label, setup)
        return self.team.in_turn(repeated(work, calls), limit=self.limit, label=label)

    def _lap(self, calls: list[Callable[[], None]], label: str, setup: Callable[[], object] | None) -> Lap:
        self._prepare(label, setup)
        return self.team.lap(calls, limit=self.limit, label=label)

    def _prepare(self, label: str, setup: Callable[[], object] | None) -> None:
        self.progress(label)
        if setup is not None:
            setup()

    def _calibrate(self, work: Workload, unit: float) -> tuple[int, float]:
        calls = 1
        while True:
            lap = self._lap([repeated(work, calls)], "calibration", None)
            seconds = lap.own_wall / 1e9
            if seconds >= min(unit, max(_TRUSTED, unit / 4)) or calls >= _MOST_CALLS:
                return max(1, min(_MOST_CALLS, round(unit * calls / seconds))), seconds / calls
            calls = min(_MOST_CALLS, calls * max(2, min(10, int(unit / 2 / seconds))))

    def _loop_overhead(self, calls: int) -> float:
        start = time.perf_counter()
        repeated(_nothing, calls)()
        return (time.perf_counter() - start) / calls


def shortest_unit() -> float:
    """Seconds that one thread's part of a lap takes at least."""
    return max(SHORTEST_UNIT, SWITCH_INTERVALS * sys.getswitchinterval())


def _ran(result: object) -> None:
    """Refuse work that only looks done: a coroutine or generator that nobody ran."""
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        raise BadValue("work", result, "work that is done when the call returns; it returned something nobody awaits or runs")


def _nothing() -> None:
    """The least a call can be."""
