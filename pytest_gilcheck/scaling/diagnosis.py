"""Why it scales or does not: one cause, with the figures that name it.

The identity  S = (U_threaded / U_sequential) / (CPU_threaded / CPU_sequential),  with U the CPU time over the wall time, holds
exactly for every pair. It splits "no parallelism" (U stays at 1: the threads take turns) from "parallel but wasteful" (U grows,
and so does the CPU time for the same work: they fight over a cache line, a reference count, a lock).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from ..core.held import Held
from ..core.neighbours import busiest
from ..core.verdict import Verdict
from .reading import RoundsReading
from .sampling import Round
from .watch import Seen

_QUEUED = 0.3  # share of samples at one lock's line from which that lock is the cause
_HELD = 0.5  # h from which the GIL is
_WASTE = 1.25  # times the CPU for the same work
_PARALLEL = 1.25  # times the cores used
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
    """Medians over the rounds.

    Attributes:
        cores_sequential, cores_threaded: CPU time over wall time, U.
        cpu_inflation: CPU time of the threaded lap over the sequential one's, for the same work.
        blocked: share of the threads' time in which they neither ran nor were denied a core: they waited for each other, for
            the GIL, or for something outside.
        denied: share in which the machine denied them a core; None where the kernel does not say.
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
    """The cause, in one line and in full.

    Attributes:
        cause: which it is.
        text: one line with the figures.
        details: further lines: stacks, what processes gave, who else was busy.
    """

    cause: Cause
    text: str
    details: tuple[str, ...] = ()


def identity(rounds: Sequence[Round]) -> Identity:
    """The identity's terms over these rounds; at least one round."""
    work = [r.work for r in rounds]
    denied = [pair.threaded.denied for pair in work]
    threaded = [pair.threaded.switches for pair in work]
    sequential = [pair.sequential.switches for pair in work]
    return Identity(
        cores_sequential=median(pair.sequential.cores_used for pair in work),
        cores_threaded=median(pair.threaded.cores_used for pair in work),
        cpu_inflation=median(pair.threaded.cpu / max(1, pair.sequential.cpu) for pair in work),
        blocked=median(_blocked(r) for r in rounds),
        denied=_median(denied),
        voluntary=_median([None if s is None else s[0] for s in threaded]),
        involuntary=_median([None if s is None else s[1] for s in threaded]),
        voluntary_sequential=_median([None if s is None else s[0] for s in sequential]),
    )


def scales(reading: RoundsReading) -> bool:
    """Whether nothing is left to explain: it reaches what the machine gives, or what no machine exceeds."""
    speedup, ceiling = reading.speedup, reading.ceiling.typical
    return speedup >= _NEAR_CEILING * reading.threads or (speedup >= _NEAR_CEILING * ceiling and ceiling > _PARALLEL)


def diagnose(
    verdict: Verdict,
    reading: RoundsReading,
    terms: Identity,
    held: Held | None,
    seen: Seen | None,
) -> Diagnosis:
    """Name the cause.

    Args:
        verdict: what was decided.
        reading: of the rounds; the distance of the speedup from the ceiling tells whether anything is wrong.
        terms: the identity.
        held: the GIL-held fraction, if measured.
        seen: what a look at the threads showed, if one was taken.
    """
    details = _details(held, seen)
    speedup, ceiling = reading.speedup, reading.ceiling.typical
    by_gil = held is not None and not held.unusable and held.fraction >= _HELD
    if scales(reading) and not (verdict is Verdict.VIOLATED and by_gil):  # a noisy speedup does not outweigh that
        return Diagnosis(Cause.SCALES, f"scales: {speedup:.2f}x, beside {ceiling:.2f}x by a kernel that does", details)
    if seen is not None and seen.lock_line is not None and seen.lock_share >= _QUEUED:
        share = f"{seen.lock_share:.0%} of looks found a thread there"
        text = f"serialised by your own lock {seen.lock_name!r}, at {seen.lock_line}: {share}"
        return Diagnosis(Cause.LOCK, text, details)
    if held is not None and by_gil:
        where = f" of the time, mostly at {held.holder}" if held.holder else " of the time"
        text = f"serialised by the GIL: would scale without it, unless something else serialises; held {held.fraction:.0%}{where}"
        return Diagnosis(Cause.GIL, text, details)
    if verdict is Verdict.INCONCLUSIVE and (terms.denied or 0) > 0.05:
        text = f"this machine has no spare core now: the threads were denied one {terms.denied:.0%} of their time"
        if neighbours := busiest():
            details = (f"busy meanwhile: {', '.join(neighbours)}", *details)
        return Diagnosis(Cause.MACHINE, text, details)
    if terms.cpu_inflation >= _WASTE:
        text = (
            f"memory, cache or shared-object bound: {terms.cores_threaded:.2f} cores busy, but the same work takes "
            f"{terms.cpu_inflation:.2f}x the CPU time"
        )
        return Diagnosis(Cause.CONTENTION, text, details)
    if terms.cores_threaded < _PARALLEL * terms.cores_sequential and speedup < _NEAR_CEILING * ceiling:
        text = f"the threads wait for each other or for something outside: blocked {terms.blocked:.0%} of their time"
        return Diagnosis(Cause.WAITING, text, details)
    return Diagnosis(Cause.UNKNOWN, f"{terms.cores_threaded:.2f} cores busy; nothing single explains the rest", details)


def _details(held: Held | None, seen: Seen | None) -> tuple[str, ...]:
    lines = []
    if held is not None and held.unusable:
        lines.append(f"the GIL-held fraction could not be measured: {held.unusable}")
    if held is not None and held.holders:
        shares = ", ".join(f"{line} {share:.0%}" for line, share in held.holders.items())
        lines.append(f"GIL held by: {shares}; longest wait {held.longest * 1e3:.1f} ms")
    if seen is not None and seen.lock_line is not None and seen.lock_share >= _QUEUED and seen.holder:
        lines.append(f"held meanwhile by a thread at: {' <- '.join(seen.holder)}")
    elif seen is not None and seen.running:
        lines.append(f"running most: {' <- '.join(seen.running)}")
    return tuple(lines)


def _blocked(r: Round) -> float:
    lap = r.work.threaded
    wall = sum(stint.wall for stint in lap.stints)
    return max(0.0, wall - lap.cpu - (lap.run_queue or 0)) / max(1, wall)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
