"""From rounds to a verdict.

The claim is a threshold on the speedup, and what is held against it is an interval:

- it *holds* when the lower bound reaches the threshold;
- it is *violated* when the upper bound stays 7% below it (the dead zone keeps a workload whose truth lies at the threshold from
  flipping), and the machine showed that it had more to give;
- otherwise it is undecided, and once the budget is spent, inconclusive.

Which rounds may speak depends on the side that noise is on. Neighbours only take parallelism away, so for a threshold above 1
high rounds prove, disturbed or not, and only roomy rounds refute. For a threshold of at most 1 only fair rounds count, both
ways; and threads that share one core never run at the same time and hide their contention, so they prove nothing. On a GIL
build the held fraction refutes without any of this: speedup is at most 1/h.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.held import Held
from ..core.verdict import Verdict
from .claim import ScalingClaim
from .reading import Bounds, Ceiling, RoundsReading

DEAD_ZONE = 0.93  # of the threshold: violated only below
HELD_MARGIN = 1.05  # on 1/h, for the error of h
NEAR_CEILING = 0.8  # a speedup from this share of the ceiling up may be the machine's limit, and does not condemn the workload
WHOLE_CORES = 0.85  # of the usable cores, that the reference kernel reaches only if each is a core of its own
HYPERTHREADS = 0.5  # of the ceiling; where cores may be hyperthreads, only a speedup below it condemns
SERIAL = 1.1  # a threshold up to here would be met by serial code, and is no test of efficiency


@dataclass(frozen=True)
class ScalingJudgement:
    """What the rounds so far say about the claim.

    Attributes:
        verdict: inconclusive while undecided.
        reason: what decided, or what is missing, in one line.
        low, high: bounds of the speedup; None where nothing bounds it.
        threshold: the speedup that was asked for.
        hopeless: undecided, and more rounds like these will not change that.
    """

    verdict: Verdict
    reason: str
    low: float | None
    high: float | None
    threshold: float
    hopeless: bool = False


def judge(claim: ScalingClaim, reading: RoundsReading, held: Held | None) -> ScalingJudgement:
    """Judge the claim by what the rounds say.

    Args:
        claim: the threshold, absolute or as a share of the ceiling.
        reading: of all rounds so far.
        held: the GIL-held fraction where it was measured and can be trusted.
    """
    threads, cores, ceiling = reading.threads, reading.cores, reading.ceiling
    proves, refutes = _thresholds(claim, ceiling)
    limit = _by_held(held)
    low, high = (bounds := _limited(reading.bounds(proves), limit)).low, bounds.high

    def conclude(verdict: Verdict, reason: str, hopeless: bool = False) -> ScalingJudgement:
        return ScalingJudgement(verdict, reason, low, high, proves, hopeless)

    if (changed := reading.changed_speed) is not None:
        return conclude(
            Verdict.INCONCLUSIVE,
            f"the workload changed speed while it was measured: it takes {changed:.2g}x as long as at first; "
            "give it the same work each time (see setup), or more warmup",
            hopeless=True,
        )
    if claim.efficiency is not None:
        if low is not None and low >= claim.efficiency * threads:
            return conclude(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}")
        if proves < SERIAL:
            return conclude(
                Verdict.INCONCLUSIVE,
                f"this machine can give {ceiling.high:.2f}x at most, and {claim.efficiency:.0%} of that any serial code would "
                "reach; more cores would help",
                hopeless=cores < 2,
            )
    if low is not None and low >= proves:
        return conclude(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}{_meaning(claim, proves)}")
    if held is not None and limit is not None and limit < refutes:
        return conclude(
            Verdict.VIOLATED,
            f"it holds the GIL {held.fraction:.0%} of its time, so no machine gives more than {limit:.2f}x; "
            f"asked for {claim}{_meaning(claim, proves)}",
        )
    if (
        high is not None
        and high < refutes * DEAD_ZONE
        and (proves <= 1 or _machine_had_more(high, reading) or _blocked(reading, refutes))
    ):
        return conclude(Verdict.VIOLATED, f"at most {high:.2f}x with {threads} threads; asked for {claim}{_meaning(claim, proves)}")
    return conclude(Verdict.INCONCLUSIVE, *_missing(reading, bounds, proves))


def refuted_by_held(claim: ScalingClaim, held: Held | None) -> bool:
    """Whether the held fraction alone refutes an absolute claim, on any machine: then no round need be run."""
    limit = _by_held(held)
    return claim.min_speedup is not None and limit is not None and limit < claim.min_speedup


def _thresholds(claim: ScalingClaim, ceiling: Ceiling) -> tuple[float, float]:
    """The speedup from which the claim is proved, and the one below which it is refuted.

    They differ for a share of the ceiling: the ceiling itself is an interval.
    """
    if claim.min_speedup is not None:
        return claim.min_speedup, claim.min_speedup
    assert claim.efficiency is not None
    return claim.efficiency * ceiling.high, claim.efficiency * (ceiling.low or 0.0)


def _limited(bounds: Bounds, limit: float | None) -> Bounds:
    """The bounds, with the limit as a further upper bound."""
    return Bounds(bounds.low, min((high for high in (bounds.high, limit) if high is not None), default=None))


def _by_held(held: Held | None) -> float | None:
    """The upper bound on the speedup by the held fraction; None where it gives none."""
    if held is None or held.unusable or held.fraction <= 0:
        return None
    return HELD_MARGIN / held.fraction


def _machine_had_more(high: float, reading: RoundsReading) -> bool:
    """Whether the reference kernel showed, in these rounds, clearly more than the workload can have.

    To have a core each is not enough: two virtual cores that the host has put on one physical core give a hashing kernel
    1.3x and ``json.dumps`` 1.1x, with no run-queue time at all, and for minutes. So unless the kernel reached nearly all that
    the cores should give, the workload must stay below half of it: hyperthreads cost no workload as much.
    """
    shown = reading.ceiling.low
    if shown is None:
        return False
    return high < shown * (NEAR_CEILING if shown >= WHOLE_CORES * min(reading.threads, reading.cores) else HYPERTHREADS)


def _blocked(reading: RoundsReading, refutes: float) -> bool:
    """Whether the threads spent so much of their time blocked that no faster and no idler machine would do.

    The reference kernel, looked at in the same way, must be able to do what was asked: time that a hypervisor steals would
    look like blocking, and in the kernel too.
    """
    ideal, reference = reading.ideal, reading.reference_ideal
    return ideal is not None and ideal < refutes * DEAD_ZONE and reference is not None and reference >= refutes


def _meaning(claim: ScalingClaim, threshold: float) -> str:
    return "" if claim.efficiency is None else f", here {threshold:.2f}x"


def _missing(reading: RoundsReading, bounds: Bounds, threshold: float) -> tuple[str, bool]:
    """Why these rounds do not decide and what would help, and whether more of them would not."""
    count, threads, cores = len(reading.rounds), reading.threads, reading.cores
    speedups = [r.work.speedup for r in reading.rounds]
    seen = f"rounds gave {min(speedups):.2f}x to {max(speedups):.2f}x"
    if threshold > 1 and cores < min(threads, threshold) and reading.full:
        reason = f"only {cores} of the {threads} cores that the threads need can be used here (affinity or container quota)"
        return f"{reason}; {seen}; more cores would help", count >= 3
    if threshold <= 1 and cores < 2 and reading.full:
        reason = "on one core threads never run at the same time, so contention between them cannot show"
        return f"{reason}; {seen}; more cores would help", count > 3
    usable = len(reading.counted(threshold))
    if usable < count / 2 or (threshold > 1 and reading.ceiling.typical < threshold):
        reason = f"the machine itself could give only {reading.ceiling.typical:.2f}x, with {usable} of {count} rounds undisturbed"
        return f"{reason}; {seen}; a quieter machine or a longer budget would help", False
    low, high = bounds.low, bounds.high
    if low is not None and high is not None and high >= threshold * DEAD_ZONE:
        reason = f"the speedup lies between {low:.2f}x and {high:.2f}x, too close to the {threshold:.2f}x asked for to call"
        return f"{reason}; a longer budget or a clearer threshold would help", False
    return f"{count} rounds did not decide: {seen}; a longer budget would help", False
