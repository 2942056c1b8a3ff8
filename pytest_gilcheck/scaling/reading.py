"""What the rounds of a check say, computed once: which rounds count, the ceiling of the machine, and bounds on the speedup.

Two properties of a round decide what it may be used for. Where the kernel counts run-queue time (Linux), they follow from it;
elsewhere from how well the reference kernel scaled in the same round. So it is where other threads or processes do the work, and
the threads wait for them: nobody counts what those wait for a core.

- *Uncontended*: every thread had a core of its own. Only such a round can refute a claim of speedup.
- *Undisturbed*: no other process took core time from the workload. Threads that share too few cores among themselves are
  undisturbed but not uncontended. A claim of no slowdown counts undisturbed rounds only, for and against: while another process
  holds a core, threads that would contend with each other do not run at the same time, and their contention does not show.

For a threshold above 1, other processes can only lower the speedup: a high round proves it, disturbed or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..core.team import Lap
from .sampling import LapPair, Round
from .statistics import changed_speed, high_outvoted, low_one_sided, low_outvoted

ELSEWHERE = 0.08  # share of the threads' time: done or awaited elsewhere, their run-queue time says too little from there
DENIED = 0.08  # share of the threads' time without a core from which a lap counts as disturbed
FULL = 0.92  # share of the usable cores that counts as all of them
REFERENCE_REACHED = 0.85  # share of the cores that the reference kernel must reach where the kernel counts no run-queue time
SPEED_CHANGED = 1.5  # factor


@dataclass(frozen=True)
class Ceiling:
    """Bounds on the speedup that this machine can give, from the reference kernel.

    Attributes:
        low: the machine has given at least this much; None with too few rounds.
        high: it gives at most this much; the number of usable cores unless undisturbed rounds show less.
        typical: the median over all rounds, disturbed ones included.
    """

    low: float | None
    high: float
    typical: float


@dataclass(frozen=True)
class Bounds:
    """Bounds on the speedup of the workload; None where the rounds give none."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class RoundsReading:
    """What the rounds so far say.

    Attributes:
        rounds: all of them, in order; at least one.
        threads, cores: how many threads ran at once, on how many usable cores.
        uncontended: the rounds in which every thread had a core of its own.
        undisturbed: the rounds in which no other process took core time.
        trusted: the rounds that are one or the other; all rounds if there are none.
        speedup: the median speedup of the trusted rounds.
        ceiling: the speedup that the machine can give.
        above_one: bounds to compare with a threshold above 1.
        up_to_one: bounds to compare with a threshold of at most 1.
        ideal: upper bound on the speedup on any machine, because the threads were blocked for the rest of the time.
        reference_ideal: the lower bound of the same figure for the reference kernel.
        changed_speed: the factor by which the sequential time of the workload changed between the first and the second half of the
            rounds; None if it did not change.
        full: whether the threads used all usable cores in every round.
    """

    rounds: tuple[Round, ...]
    threads: int
    cores: int
    uncontended: tuple[Round, ...]
    undisturbed: tuple[Round, ...]
    trusted: tuple[Round, ...]
    speedup: float
    ceiling: Ceiling
    above_one: Bounds
    up_to_one: Bounds
    ideal: float | None
    reference_ideal: float | None
    changed_speed: float | None
    full: bool

    def bounds(self, threshold: float) -> Bounds:
        """The bounds to compare with this threshold."""
        return self.above_one if threshold > 1 else self.up_to_one

    def counted(self, threshold: float) -> tuple[Round, ...]:
        """The rounds that can refute a claim with this threshold."""
        return self.uncontended if threshold > 1 else self.undisturbed


def read_rounds(rounds: Sequence[Round], threads: int, cores: int) -> RoundsReading:
    """Read at least one round of ``threads`` threads on ``cores`` usable cores."""
    uncontended = tuple(r for r in rounds if _uncontended(r, threads))
    undisturbed = tuple(r for r in rounds if _undisturbed(r, threads, cores))
    trusted = tuple(r for r in rounds if _uncontended(r, threads) or _undisturbed(r, threads, cores)) or tuple(rounds)
    # on one core, threads that never run at once hide their contention: only waiting, which needs no core, proves anything
    at_once = [r for r in undisturbed if cores > 1 or _uncontended(r, threads)]
    high = high_outvoted([r.work.high for r in uncontended])
    return RoundsReading(
        rounds=tuple(rounds),
        threads=threads,
        cores=cores,
        uncontended=uncontended,
        undisturbed=undisturbed,
        trusted=trusted,
        speedup=median(r.work.speedup for r in trusted),
        ceiling=_ceiling(rounds, threads, cores),
        above_one=Bounds(low_one_sided([r.work.low for r in rounds]), high),
        up_to_one=Bounds(low_outvoted([r.work.low for r in at_once]), high_outvoted([r.work.high for r in undisturbed])),
        ideal=high_outvoted([r.work.ideal for r in uncontended if not _works_elsewhere(r)]),
        reference_ideal=low_one_sided([r.reference.ideal for r in rounds]),
        changed_speed=_changed_speed(rounds),
        full=all(_full(r.work.threaded, threads, cores) for r in rounds),
    )


def _ceiling(rounds: Sequence[Round], threads: int, cores: int) -> Ceiling:
    pairs = [r.reference for r in rounds]
    most = float(min(threads, cores))
    shown = high_outvoted([pair.high for pair in pairs if _never_denied(pair)])
    return Ceiling(
        low=low_one_sided([pair.low for pair in pairs]),
        high=most if shown is None else min(most, shown),
        typical=median(pair.speedup for pair in pairs),
    )


def _changed_speed(rounds: Sequence[Round]) -> float | None:
    """The factor by which the workload's sequential time changed; None if it did not.

    The change must show in seconds and also in units of the reference kernel's time. If it is the machine that changes speed, a
    workload that computes shows the change in seconds only, and a workload that waits shows it in those units only.
    """
    work = [r.work.sequential.own_wall for r in rounds]
    relative = [r.work.sequential.own_wall / r.reference.sequential.own_wall for r in rounds]
    factors = [changed_speed(times, SPEED_CHANGED) for times in (work, relative)]
    known = [factor for factor in factors if factor is not None]
    return min(known, key=lambda factor: abs(factor - 1)) if len(known) == 2 and (known[0] > 1) == (known[1] > 1) else None


def _uncontended(r: Round, threads: int) -> bool:
    if r.work.threaded.run_queue is None or _works_elsewhere(r):
        return r.reference.speedup >= REFERENCE_REACHED * threads
    return _never_denied(r.work)


def _undisturbed(r: Round, threads: int, cores: int) -> bool:
    if r.work.threaded.run_queue is None or _works_elsewhere(r):
        return r.reference.speedup >= REFERENCE_REACHED * min(threads, cores)
    return _had_cores(r.work.sequential) and (_had_cores(r.work.threaded) or _full(r.work.threaded, threads, cores))


def _works_elsewhere(r: Round) -> bool:
    """Whether other threads or child processes do, or may do, so much of the work that the threads' run-queue time says too little.

    The CPU time of a child that goes on living is not known. But a thread that computes by itself is never blocked while it has the
    machine to itself, in the sequential lap.
    """
    laps = (r.work.sequential, r.work.threaded)
    if any(lap.elsewhere > ELSEWHERE * lap.thread_time for lap in laps):
        return True
    return r.work.sequential.children and r.work.sequential.blocked > ELSEWHERE


def _full(lap: Lap, threads: int, cores: int) -> bool:
    """Whether the threads used all cores that they could use."""
    return lap.cores_used >= FULL * min(threads, cores)


def _had_cores(lap: Lap) -> bool:
    """Whether the threads had a core whenever they were ready to run; False where the kernel does not say."""
    return lap.denied is not None and lap.denied < DENIED


def _never_denied(pair: LapPair) -> bool:
    return _had_cores(pair.sequential) and _had_cores(pair.threaded)
