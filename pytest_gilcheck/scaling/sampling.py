"""Paired, interleaved rounds: sequential and threaded laps of the workload, and of a reference kernel known to scale.

A round is four laps: N units one after the other and N units at once, for the workload and for the reference kernel. Both arms
run in the same threads behind a barrier, in ABBA order, so that a drift of the machine's speed affects both equally. Blocks (all
sequential laps first) do not work: the speed of a shared machine changes by tens of percent between them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CoroutineType
from weakref import WeakKeyDictionary

from ..core.classes import is_unfinished
from ..core.clocks import time
from ..core.errors import BadValue
from ..core.team import Lap, Team
from ..core.workloads import Workload, is_async
from .workload import repeated

SHORTEST_UNIT = 0.02  # seconds of one thread's part; with 5 ms the first thread ends before the second gets the GIL
REFERENCE_UNIT = 0.006
SWITCH_INTERVALS = 4  # a unit is at least this many switch intervals; in shorter ones threads hardly overlap with a GIL
_MOST_CALLS = 10_000_000
_HARDLY_WORK = 3.0  # a call must take at least this many times the time of the loop around it
_SHORTEST_CALL = (
    1e-6  # seconds; in a shorter call, the wrapper (the arguments of a test, for instance) takes a large part of the time
)
_TRUSTED = 0.002  # seconds; a shorter timing is not used for calibration


_reference_calls: WeakKeyDictionary[Callable[[], None], int] = WeakKeyDictionary()  # by kernel


@dataclass(frozen=True)
class LapPair:
    """A sequential and a threaded lap of the same work.

    The speedup has two bounds, because the kernel counts the time for which a thread was ready to run without a core. ``low``
    subtracts that time from the sequential lap, ``high`` from the threaded lap. ``ideal`` also subtracts the CPU time that the
    threads used in excess of the sequential lap. No machine gives more than ``ideal``, because the threads were blocked for the
    rest.
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
        needed = min(timing.cpu for timing in self.sequential.timings)
        excess = max(0, max(timing.cpu for timing in self.threaded.timings) - needed)
        return self.sequential.wall / max(1, self.threaded.wall - self._denied - excess)

    @property
    def _denied(self) -> int:
        return max((timing.run_queue or 0) for timing in self.threaded.timings)


@dataclass(frozen=True)
class Round:
    """One round: a pair of laps of the workload, and one of the reference kernel."""

    index: int
    work: LapPair
    reference: LapPair


@dataclass(frozen=True)
class Calibration:
    """How often the workload is repeated in a lap, so that the lap is long enough to time.

    Attributes:
        calls: calls of the workload by each thread in a lap.
        seconds: time of one call in one thread.
        overhead: seconds for each call that the calling loop itself takes.
        reference_calls: calls of the reference kernel by each thread in a lap.
        unit: the shortest time of one thread's part, in seconds.
    """

    calls: int
    seconds: float
    overhead: float
    reference_calls: int
    unit: float

    @property
    def too_short(self) -> str | None:
        """Why the workload is too short to be timed; None if it is not."""
        if self.seconds < max(_SHORTEST_CALL, _HARDLY_WORK * self.overhead):
            return f"one call takes {self.seconds * 1e9:.0f} ns, and the loop around it {self.overhead * 1e9:.0f} ns of that"
        if self.calls * self.seconds < self.unit / 4:
            return f"one thread's part of a round takes {self.calls * self.seconds * 1e3:.2g} ms, too short for threads to overlap"
        return None


class Sampler:
    """Runs laps of one workload on one team.

    Args:
        work: the workload.
        reference: the reference kernel.
        team: the threads; all of them take part in every lap of a round.
        limit: seconds that one lap may take.
        progress: called with a label before each lap.
        setup: called before each lap, in the calling thread, untimed. With a setup, each thread calls the workload once in a lap,
            so that both arms use up the same part of what was set up.
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
            first = repeated(self.work, 1) if is_async(self.work) else lambda: _refuse_unfinished(self.work())
            self._lap([first], f"warm-up call {call + 1}", self.setup)

    @cached_property
    def calibration(self) -> Calibration:
        """How often each thread calls the workload in a lap; measured at the first use."""
        unit = shortest_unit()
        reference_calls = self._reference_calls()
        if self.setup is not None:
            lap = self._lap([repeated(self.work, 1)], "calibration", self.setup)
            return Calibration(1, lap.wall / 1e9, 0.0, reference_calls, unit)
        calls, seconds = self._calibrate(self.work, unit)
        return Calibration(calls, seconds, self._loop_overhead(min(calls, 100_000)), reference_calls, unit)

    def rounds(self) -> Iterator[Round]:
        """Run rounds without end; the caller stops the iteration."""
        size, index = len(self.team), 0
        calibration = self.calibration
        while True:
            index += 1
            work = self._pair(self.work, calibration.calls, size, index, "", self.setup)
            reference = self._pair(self.reference, calibration.reference_calls, size, index, "reference, ", None)
            if not 0.5 < reference.sequential.own_wall / 1e9 / size / REFERENCE_UNIT < 2:
                _reference_calls.pop(self.reference, None)  # the next check calibrates again
            yield Round(index, work, reference)

    def sequential(self, label: str) -> Lap:
        """Run one more sequential lap: the parts of all threads, one after the other."""
        return self._sequential_lap(self.work, self.calibration.calls, label, self.setup)

    def threaded(self, label: str, around: Callable[[Callable[[], None]], Callable[[], None]] = lambda call: call) -> Lap:
        """Run one more threaded lap; ``around`` wraps the part of each thread."""
        part = around(repeated(self.work, self.calibration.calls))
        return self._lap([part] * len(self.team), label, self.setup)

    def _pair(self, work: Workload, calls: int, size: int, index: int, kind: str, setup: Callable[[], object] | None) -> LapPair:
        def sequential() -> Lap:
            return self._sequential_lap(work, calls, f"round {index}, {kind}sequential", setup)

        def threaded() -> Lap:
            return self._lap([repeated(work, calls)] * size, f"round {index}, {kind}threaded", setup)

        if index % 2:
            first = sequential()
            return LapPair(first, threaded())
        second = threaded()
        return LapPair(sequential(), second)

    def _sequential_lap(self, work: Workload, calls: int, label: str, setup: Callable[[], object] | None) -> Lap:
        self._prepare(label, setup)
        return self.team.run_sequentially(repeated(work, calls), limit=self.limit, label=label)

    def _lap(self, calls: list[Callable[[], None]], label: str, setup: Callable[[], object] | None) -> Lap:
        self._prepare(label, setup)
        return self.team.lap(calls, limit=self.limit, label=label)

    def _prepare(self, label: str, setup: Callable[[], object] | None) -> None:
        self.progress(label)
        if setup is not None:
            setup()

    def _reference_calls(self) -> int:
        """Calls of the reference kernel in a lap, calibrated once in this process.

        This is sound, because the figure describes the machine and not the workload, and sets only the length of the laps. The
        ceiling is the ratio of two laps with the same calls, both measured in this check. A machine that has changed its speed
        since then makes both laps longer or shorter. Beside 23 busy processes on two cores, 12 calibrations gave 40 to 42 calls.
        `rounds` discards a figure that turns out to be wrong by a factor of 2.
        """
        if (calls := _reference_calls.get(self.reference)) is None:
            calls, _ = self._calibrate(self.reference, REFERENCE_UNIT)
            _reference_calls[self.reference] = calls
        return calls

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
    """The shortest time of one thread's part of a lap, in seconds."""
    return max(SHORTEST_UNIT, SWITCH_INTERVALS * sys.getswitchinterval())


def _refuse_unfinished(result: object) -> None:
    """Raise a BadValue for a result that shows that no work was done: a coroutine or generator that nothing has run."""
    if is_unfinished(result):
        if type(result) is CoroutineType:
            result.close()
        raise BadValue(
            "work",
            result,
            "a call that has done its work when it returns; it returned a coroutine or generator, which nothing awaits or runs",
        )


def _nothing() -> None:
    """A call without work, to time the loop around it."""
