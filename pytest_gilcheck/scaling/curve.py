"""Throughput over the number of workers for several modes, with fitted scaling laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from ..core.advice import LONGER
from ..core.clocks import time
from ..core.cores import usable_cores
from ..core.errors import BadValue
from ..core.interpreter import Interpreter, watcher
from ..core.neighbours import busiest
from ..core.values import THREADS
from ..core.workloads import Workload, name_of
from . import modes as m
from .models import Fit, amdahl, universal_scalability
from .plan import DEFAULT_TIMEOUT
from .sampling import SHORTEST_UNIT
from .workload import Latencies

DEFAULT_BUDGET = 5.0
_ROUNDS = 5
_BAR = 40  # columns
_ENOUGH_FOR_USL = 5  # numbers of workers from which its three terms are well determined


@dataclass(frozen=True)
class Point:
    """The figures of one number of workers in one mode, as medians over the rounds.

    Attributes:
        mode: sequential, threads, processes, interpreters or asyncio.
        workers: the number of workers that ran at once.
        throughput: calls per second of all workers together.
        speedup: throughput divided by the sequential throughput.
        efficiency: speedup divided by workers.
        p50, p99: quantiles of the seconds of one call; for processes, both are the mean.
        low, high: the lowest and the highest speedup of a round, over the median sequential throughput.
    """

    mode: str
    workers: int
    throughput: float
    speedup: float
    efficiency: float
    p50: float
    p99: float
    low: float
    high: float


@dataclass(frozen=True)
class CurveResult:
    """A measured curve.

    Attributes:
        workload, interpreter: the name of the workload, and the interpreter that ran it.
        points: in the order of the arguments.
        usl, amdahl: the fitted laws by mode, for modes with enough points.
        notes: what was skipped and why, and what makes the figures unreliable.
        rounds: the number of rounds that the medians are taken over.
    """

    workload: str
    interpreter: Interpreter
    points: tuple[Point, ...]
    usl: Mapping[str, Fit]
    amdahl: Mapping[str, Fit]
    notes: tuple[str, ...]
    rounds: int

    def figures(self) -> dict[str, Any]:
        """The best throughput of each mode, and the number of rounds."""
        modes = dict.fromkeys(point.mode for point in self.points)
        best = {mode: max(point.throughput for point in self.points if point.mode == mode) for mode in modes}
        return {"rounds": self.rounds, **{f"{mode}_calls": throughput for mode, throughput in best.items()}}

    def details(self) -> dict[str, Any]:
        """All points, and the parameters of the fitted laws (see `models.Fit`)."""
        laws = {"usl": self.usl, "amdahl": self.amdahl}
        return {
            "points": self.points,
            **{
                law: {
                    mode: {"scale": fit.single, "contention": fit.contention, "coherence": fit.coherence}
                    | {"peak": fit.peak, "residual": fit.residual}
                    for mode, fit in fits.items()
                }
                for law, fits in laws.items()
            },
            "notes": self.notes,
        }

    def __str__(self) -> str:
        best = max(point.throughput for point in self.points)
        lines = [f"{self.workload}: throughput by number of workers ({self.rounds} rounds; {self.interpreter})"]
        lines.append(f"{'mode':12} {'n':>3} {'calls/s':>9} {'speedup':>8} {'eff.':>5} {'p50 ms':>8} {'p99 ms':>8}")
        for p in self.points:
            bar = "\u2588" * max(1, round(_BAR * p.throughput / best))
            lines.append(
                f"{p.mode:12} {p.workers:3} {p.throughput:9.4g} {p.speedup:7.2f}x {p.efficiency:5.0%} "
                f"{p.p50 * 1e3:8.3g} {p.p99 * 1e3:8.3g} {bar}"
            )
        for mode, fit in self.usl.items():
            peak = "no peak" if fit.peak is None else f"peak at {fit.peak:.1f} workers"
            lines.append(
                f"{mode}: Universal Scalability Law: contention {fit.contention:.3f}, coherence {fit.coherence:.4f}, {peak} "
                f"({fit.points} points, residual {fit.residual:.1%})"
            )
        for mode, fit in self.amdahl.items():
            limit = f"at most {1 / fit.contention:.2f}x" if fit.contention > 0.001 else "no limit in sight"
            lines.append(f"{mode}: Amdahl's law: serial share {fit.contention:.1%}, {limit} (residual {fit.residual:.1%})")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def curve(
    work: Workload,
    *,
    workers: Sequence[int] | None = None,
    modes: Sequence[str] | None = None,
    budget: float = DEFAULT_BUDGET,
    timeout: float = DEFAULT_TIMEOUT,
    name: str | None = None,
    progress: Callable[[str], None] = lambda label: None,
) -> CurveResult:
    """Measure the curve. Each round runs every mode and number of workers once, so that drift affects all equally.

    Raises:
        BadValue: an argument is invalid.
        ChildProcessError: the workload failed in a forked process.
        BaseException, BaseExceptionGroup, TeamHung: as the scaling check.
    """
    counts = _counts(workers)
    chosen = tuple(m.MODES if modes is None else modes)
    if unknown := [mode for mode in chosen if mode not in m.MODES]:
        raise BadValue("modes", unknown[0], f"some of {', '.join(m.MODES)}")
    notes = [f"{mode}: skipped: {why}" for mode in chosen if (why := m.unavailable(mode, work)) is not None]
    if (watched := watcher()) is not None:
        notes.append(f"{watched} is active and distorts all figures; run without it")
    running = [mode for mode in chosen if m.unavailable(mode, work) is None and mode != m.SEQUENTIAL]
    wanted = [(m.SEQUENTIAL, 1)] + [(mode, count) for mode in running for count in counts]
    measured: dict[tuple[str, int], list[tuple[float, Latencies]]] = {key: [] for key in wanted}
    calls = _calibrated(work, timeout, progress)
    start, rounds = time.monotonic(), 0
    while rounds < _ROUNDS and (rounds < 1 or (time.monotonic() - start) * (rounds + 1) / rounds <= budget):
        rounds += 1
        for mode, count in list(wanted):
            if (mode, count) not in wanted:  # the mode failed with an earlier number of workers
                continue
            label = f"curve, round {rounds}, {mode} with {count}"
            progress(label)
            try:
                with m.open_mode(mode, work, count, timeout) as lap:  # opened for each lap: no fork while threads are alive
                    measured[mode, count].append(lap(calls, label))
            except m.ModeFailed as error:
                notes.append(str(error))
                running.remove(mode)
                wanted = [key for key in wanted if key[0] != mode]
    base = _throughput(measured[m.SEQUENTIAL, 1], calls, 1)
    points = tuple(_point(mode, count, measured[mode, count], calls, base) for mode, count in wanted)
    by_mode = {mode: {p.workers: p.throughput for p in points if p.mode == mode} for mode in running}
    if rounds < _ROUNDS:
        notes.append(f"budget={budget:g} s was enough for {rounds} of {_ROUNDS} rounds; {LONGER}")
    if (cores := usable_cores()) < max(counts, default=1):
        notes.append(
            f"{cores} cores are usable here: with more than {cores} workers, a fit describes the machine and not the workload"
        )
    if neighbours := busiest():
        notes.append(f"other busy processes: {', '.join(map(str, neighbours))}; they lower every figure with more than one worker")
    usl = {mode: fit for mode in running if (fit := universal_scalability(by_mode[mode])) is not None}
    if usl and len(counts) < _ENOUGH_FOR_USL:
        notes.append(f"{len(counts)} numbers of workers are few for the Universal Scalability Law; pass {_ENOUGH_FOR_USL} or more")
    laws = {mode: fit for mode in running if (fit := amdahl(by_mode[mode])) is not None}
    return CurveResult(name or name_of(work), Interpreter.current(), points, usl, laws, tuple(notes), rounds)


def _calibrated(work: Workload, limit: float, progress: Callable[[str], None]) -> int:
    progress("curve, calibration")
    with m.open_mode(m.SEQUENTIAL, work, 1, limit) as lap:
        lap(1, "warm-up call")
        calls = 1
        while True:
            wall, _ = lap(calls, "calibration")
            if wall >= SHORTEST_UNIT / 2 or calls >= 1_000_000:
                return max(1, math.ceil(calls * SHORTEST_UNIT / wall))
            calls *= max(2, min(10, int(SHORTEST_UNIT / wall)))


def _point(mode: str, count: int, laps: list[tuple[float, Latencies]], calls: int, base: float) -> Point:
    latencies = sorted(latency for _, lap in laps for latency in lap)
    cuts = quantiles(latencies, n=100, method="inclusive") if len(latencies) > 1 else latencies * 99
    throughput = _throughput(laps, calls, count)
    rounds = [calls * count / wall / base for wall, _ in laps]
    speedup = throughput / base
    return Point(mode, count, throughput, speedup, speedup / count, cuts[49], cuts[98], min(rounds), max(rounds))


def _throughput(laps: list[tuple[float, Latencies]], calls: int, workers: int) -> float:
    return median(calls * workers / wall for wall, _ in laps)


def _counts(workers: Sequence[int] | None) -> tuple[int, ...]:
    if workers is None:
        most = 2 * usable_cores()
        return tuple(1 << power for power in range(most.bit_length()) if 1 << power <= most)
    try:
        counts = tuple(dict.fromkeys(workers))
    except TypeError:
        counts = ()
    if not counts or any(isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= THREADS for n in counts):
        raise BadValue("threads", workers, f"numbers of workers, each at least 1, at most {THREADS:,}")
    return counts
