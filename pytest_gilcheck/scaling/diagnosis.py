"""What limits the speedup: one cause, with its figures.

The identity  S = (U_threaded / U_sequential) / (CPU_threaded / CPU_sequential),  with U the CPU time divided by the wall time, is
exact for every pair of laps. It separates "no parallelism" (U stays at 1: one thread runs at a time) from "parallel but wasteful"
(U grows, but so does the CPU time for the same work: the threads contend for a cache line, a reference count or a lock).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from ..core.held_fraction import Held
from ..core.neighbours import busiest
from ..core.verdict import Verdict
from .reading import RoundsReading
from .sampling import Round
from .watch import WatchSummary

_QUEUED = 0.3  # share of samples in which a thread waits for one lock, from which that lock is the cause
_BLOCKED = 0.15  # share of the threads' time in the timed laps, below which no queue at a lock is believed
_HELD = 0.5  # h from which the GIL is the cause
_MOSTLY_BLOCKED = 0.5  # share from which threads do not run at once, so that they cannot contend for memory
_WASTE = 1.25  # factor on the CPU time for the same work, from which contention is the cause
_PARALLEL = 1.25  # factor on the cores used, from which the threads run in parallel
_NEAR_CEILING = 0.85


class Cause(StrEnum):
    """What limits the speedup."""

    SCALES = "scales"
    GIL = "gil"
    LOCK = "lock"
    CONTENTION = "contention"
    WAITING = "waiting"
    MACHINE = "machine"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Identity:
    """The terms of the identity, as medians over the rounds.

    Attributes:
        cores_sequential, cores_threaded: CPU time divided by wall time, U.
        cpu_inflation: CPU time of the threaded lap divided by that of the sequential lap, for the same work.
        blocked: share of the threads' time in which they neither ran nor waited for a core: they waited for each other, for the
            GIL, or for I/O.
        denied: share of the threads' time in which they were ready to run without a core; None where the kernel does not count it.
        voluntary, involuntary: context switches of the process in a threaded lap; None where not counted.
        voluntary_sequential: the same in a sequential lap.
    """

    cores_sequential: float
    cores_threaded: float
    cpu_inflation: float
    blocked: float
    denied: float | None
    voluntary: float | None
    involuntary: float | None
    voluntary_sequential: float | None


@dataclass(frozen=True)
class Diagnosis:
    """The cause of a speedup, with its figures.

    Attributes:
        cause: the cause.
        text: one line with the figures.
        details: further lines: stacks, the speedup with processes, other busy processes.
    """

    cause: Cause
    text: str
    details: tuple[str, ...] = ()


def identity(rounds: Sequence[Round]) -> Identity:
    """The terms of the identity over at least one round."""
    work = [r.work for r in rounds]
    denied = [pair.threaded.denied for pair in work]
    threaded = [pair.threaded.switches for pair in work]
    sequential = [pair.sequential.switches for pair in work]
    return Identity(
        cores_sequential=median(pair.sequential.cores_used for pair in work),
        cores_threaded=median(pair.threaded.cores_used for pair in work),
        cpu_inflation=median(pair.threaded.cpu / max(1, pair.sequential.cpu) for pair in work),
        blocked=median(r.work.threaded.blocked for r in rounds),
        denied=_median(denied),
        voluntary=_median([None if s is None else s[0] for s in threaded]),
        involuntary=_median([None if s is None else s[1] for s in threaded]),
        voluntary_sequential=_median([None if s is None else s[0] for s in sequential]),
    )


def scales(reading: RoundsReading) -> bool:
    """Whether the speedup is near the ceiling, or near the number of threads, so that there is no cause to find."""
    speedup, ceiling = reading.speedup, reading.ceiling.typical
    return speedup >= _NEAR_CEILING * reading.threads or (speedup >= _NEAR_CEILING * ceiling and ceiling > _PARALLEL)


def diagnose(
    verdict: Verdict,
    reading: RoundsReading,
    terms: Identity,
    held: Held | None,
    seen: WatchSummary | None,
) -> Diagnosis:
    """Name the cause.

    Args:
        verdict: the verdict on the claim.
        reading: of the rounds.
        terms: of the identity, over the trusted rounds.
        held: the GIL-held fraction; None where it was not measured.
        seen: the sampled stacks of the threads; None where they were not sampled.
    """
    queue = _queue(seen, terms)
    details = _details(held, seen, queue)
    speedup, ceiling = reading.speedup, reading.ceiling.typical
    by_gil = held is not None and not held.unusable and held.fraction >= _HELD
    if scales(reading) and not (verdict is Verdict.VIOLATED and by_gil):  # the held fraction is less noisy than the speedup
        return Diagnosis(Cause.SCALES, f"scales: {speedup:.2f}x; the reference kernel reached {ceiling:.2f}x", details)
    if queue is not None:
        share = f"a thread waited there in {queue.lock_share:.0%} of the samples"
        text = f"serialised by the lock {queue.lock_name!r} at {queue.lock_line}: {share}"
        if held is not None and by_gil:  # both keep the threads from running at once
            text += f"; without that lock, the GIL limits it here, held {held.fraction:.0%} of the time"
        return Diagnosis(Cause.LOCK, text, details)
    if held is not None and by_gil:
        where = f" of the time, mostly at {held.holder}" if held.holder else " of the time"
        text = f"serialised by the GIL, held {held.fraction:.0%}{where}; without a GIL it scales unless something else limits it"
        return Diagnosis(Cause.GIL, text, details)
    if verdict is not Verdict.VIOLATED and (terms.denied or 0) > 0.05:
        text = f"machine too busy: the threads were ready to run without a core for {terms.denied:.0%} of their time"
        if neighbours := busiest():
            details = (f"other busy processes: {', '.join(map(str, neighbours))}", *details)
        return Diagnosis(Cause.MACHINE, text, details)
    waits = terms.blocked >= _MOSTLY_BLOCKED
    if terms.cpu_inflation >= _WASTE and not waits:
        text = (
            f"memory, cache or shared-object bound: {terms.cores_threaded:.2f} cores busy, but the same work takes "
            f"{terms.cpu_inflation:.2f}x the CPU time"
        )
        return Diagnosis(Cause.CONTENTION, text, details)
    if (waits or terms.cores_threaded < _PARALLEL * terms.cores_sequential) and speedup < _NEAR_CEILING * ceiling:
        text = f"the threads wait for each other or for I/O: blocked {terms.blocked:.0%} of their time"
        return Diagnosis(Cause.WAITING, text, details)
    return Diagnosis(Cause.UNKNOWN, f"{terms.cores_threaded:.2f} cores busy; no single cause found", details)


def _queue(seen: WatchSummary | None, terms: Identity) -> WatchSummary | None:
    """The samples, if they find a queue at a lock; None otherwise.

    On a free-threaded build the threads are traced while they are sampled. That makes a short critical section a long one, and
    threads queue that did not. So the timed laps must have seen them wait.
    """
    queues = seen is not None and seen.lock_line is not None and seen.lock_share >= _QUEUED and terms.blocked >= _BLOCKED
    return seen if queues else None


def _details(held: Held | None, seen: WatchSummary | None, queue: WatchSummary | None) -> tuple[str, ...]:
    lines = []
    if held is not None and held.unusable:
        lines.append(f"the GIL-held fraction could not be measured: {held.unusable}")
    if held is not None and held.holders:
        shares = ", ".join(f"{line} {share:.0%}" for line, share in held.holders.items())
        lines.append(f"GIL held by: {shares}; longest wait {held.longest * 1e3:.1f} ms")
    if queue is not None and queue.holder:
        lines.append(f"the lock is held by a thread at: {' <- '.join(queue.holder)}")
    elif seen is not None and seen.running:
        lines.append(f"most often running: {' <- '.join(seen.running)}")
    return tuple(lines)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
