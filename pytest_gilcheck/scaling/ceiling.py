"""What this machine can give right now, and which rounds may be believed about the workload.

Two questions about a round, answered by the kernel where it counts run-queue time (Linux), elsewhere by how well the reference
kernel scaled beside it:

- *roomy*: had every thread a core of its own? Only such a round can condemn a claim of speedup.
- *fair*: did nobody else take core time? Threads that share the few cores we were given are fair but not roomy. A claim of no
  slowdown needs fair rounds in both directions: threads that take turns because a neighbour holds the other core never meet,
  and hide their contention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..core.team import Lap
from .sampling import Pair, Round
from .statistics import high_outvoted, low_one_sided

DENIED = 0.08  # share of the threads' time without a core from which a lap counts as disturbed
FULL = 0.92  # share of the usable cores that counts as all of them
REFERENCE_REACHED = 0.85  # of what the cores allow; the reference kernel's word where the kernel gives none


@dataclass(frozen=True)
class Ceiling:
    """The speedup of the reference kernel, as bounds.

    Attributes:
        low: the machine showed that it can give this much; None with too few rounds.
        high: it cannot give more; the number of usable cores unless undisturbed rounds say less.
        typical: the median of what the rounds gave, disturbed ones included.
    """

    low: float | None
    high: float
    typical: float


def ceiling(rounds: Sequence[Round], threads: int, cores: int) -> Ceiling:
    """The ceiling as these rounds show it; at least one round."""
    pairs = [r.reference for r in rounds]
    roomy = [pair.high for pair in pairs if undisturbed(pair)]
    most = float(min(threads, cores))
    shown = high_outvoted(roomy)
    return Ceiling(
        low=low_one_sided([pair.low for pair in pairs]),
        high=most if shown is None else min(most, shown),
        typical=median(pair.speedup for pair in pairs),
    )


def roomy(r: Round, threads: int) -> bool:
    """Whether every thread of the round's workload had a core of its own."""
    if r.work.threaded.run_queue is None:
        return r.reference.speedup >= REFERENCE_REACHED * threads
    return undisturbed(r.work)


def fair(r: Round, threads: int, cores: int) -> bool:
    """Whether nobody but the workload's own threads used the cores it could have used."""
    if r.work.threaded.run_queue is None:
        return r.reference.speedup >= REFERENCE_REACHED * min(threads, cores)
    return undenied(r.work.sequential) and (undenied(r.work.threaded) or filled(r.work.threaded, threads, cores))


def filled(lap: Lap, threads: int, cores: int) -> bool:
    """Whether the lap's threads used all that the cores allow."""
    return lap.cores_used >= FULL * min(threads, cores)


def undenied(lap: Lap) -> bool:
    """Whether the threads of the lap had a core whenever they could use one."""
    return lap.denied is not None and lap.denied < DENIED


def undisturbed(pair: Pair) -> bool:
    """Whether both laps were left alone."""
    return undenied(pair.sequential) and undenied(pair.threaded)
