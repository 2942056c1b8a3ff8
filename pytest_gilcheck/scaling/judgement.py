"""From the reading of the rounds to a verdict.

The claim is a threshold on the speedup. It is compared with an interval:

- it *holds* if the lower bound reaches the threshold;
- it is *violated* if the upper bound is at least 7% below the threshold and the machine has shown that it could give more (without
  the 7%, a workload exactly at the threshold would change its verdict from run to run);
- otherwise it is undecided, and inconclusive once the budget is spent.

`reading` explains which rounds count. On a GIL build the held fraction h refutes a claim without any round: the speedup is at
most 1/h.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.advice import LONGER, RETRY
from ..core.held_fraction import Held
from ..core.verdict import Verdict
from .claim import ScalingClaim
from .reading import Bounds, Ceiling, RoundsReading

DEAD_ZONE = 0.93  # of the threshold: violated only below
HELD_MARGIN = 1.05  # factor on 1/h, for the error of h
NEAR_CEILING = 0.8  # share of the ceiling from which the machine may be what limits the speedup
WHOLE_CORES = 0.85  # share of the usable cores that the reference kernel reaches only if each of them is a physical core
HYPERTHREADS = 0.5  # share of the ceiling; where cores may be hyperthreads, only a lower speedup violates
SERIAL = 1.1  # serial code would meet a threshold up to here, so it does not test efficiency


@dataclass(frozen=True)
class ScalingJudgement:
    """What the rounds so far say about the claim.

    Attributes:
        verdict: inconclusive while undecided.
        reason: one line: what decided, or what is missing and what to do.
        low, high: bounds of the speedup; None where there is no bound.
        threshold: the speedup that the claim asks for on this machine.
        hopeless: undecided, and more rounds like these will not change that.
    """

    verdict: Verdict
    reason: str
    low: float | None
    high: float | None
    threshold: float
    hopeless: bool = False


def judge(claim: ScalingClaim, reading: RoundsReading, held: Held | None) -> ScalingJudgement:
    """Judge the claim by the rounds so far.

    Args:
        claim: the threshold, absolute or as a share of the ceiling.
        reading: of all rounds so far.
        held: the GIL-held fraction; None where it was not measured.
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
            f"the workload changed speed during the measurement: it takes {changed:.2g}x as long as at first; "
            "give every call the same work (see setup=), or raise warmup=",
            hopeless=True,
        )
    if claim.efficiency is not None:
        if low is not None and low >= claim.efficiency * threads:
            return conclude(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}")
        if proves < SERIAL:
            return conclude(
                Verdict.INCONCLUSIVE,
                f"this machine gives at most {ceiling.high:.2f}x, and serial code would reach {claim.efficiency:.0%} of that; "
                "retry on a machine with more cores",
                hopeless=cores < 2,
            )
    if low is not None and low >= proves:
        return conclude(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}{_meaning(claim, proves)}")
    if held is not None and limit is not None and limit < refutes:
        return conclude(
            Verdict.VIOLATED,
            f"the workload holds the GIL {held.fraction:.0%} of its time, so no machine gives more than {limit:.2f}x; "
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
    """Whether the held fraction alone refutes an absolute claim on any machine, so that no further round is needed."""
    limit = _by_held(held)
    return claim.min_speedup is not None and limit is not None and limit < claim.min_speedup


def _thresholds(claim: ScalingClaim, ceiling: Ceiling) -> tuple[float, float]:
    """The speedup that proves the claim, and the speedup below which it is refuted.

    They differ for a claim on efficiency, because the ceiling is an interval.
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
    """Whether the reference kernel reached clearly more in these rounds than the upper bound of the workload.

    It is not enough that every thread has a core: two virtual cores that the host runs on one physical core give a hashing kernel
    1.3x and ``json.dumps`` 1.1x, for minutes and without any run-queue time. So if the reference kernel reached less than nearly
    all cores, the workload must stay below half of what the kernel reached; no workload loses that much to hyperthreads.
    """
    shown = reading.ceiling.low
    if shown is None:
        return False
    return high < shown * (NEAR_CEILING if shown >= WHOLE_CORES * min(reading.threads, reading.cores) else HYPERTHREADS)


def _blocked(reading: RoundsReading, refutes: float) -> bool:
    """Whether the threads were blocked for so long that no faster and no idler machine would reach the threshold.

    By the same figure, the reference kernel must reach the threshold. Time that a hypervisor steals looks like blocking, but it
    does so in the reference kernel too.
    """
    ideal, reference = reading.ideal, reading.reference_ideal
    return ideal is not None and ideal < refutes * DEAD_ZONE and reference is not None and reference >= refutes


def _meaning(claim: ScalingClaim, threshold: float) -> str:
    return "" if claim.efficiency is None else f", here {threshold:.2f}x"


def _missing(reading: RoundsReading, bounds: Bounds, threshold: float) -> tuple[str, bool]:
    """Why these rounds do not decide and what to do; and whether more rounds cannot help."""
    count, threads, cores = len(reading.rounds), reading.threads, reading.cores
    speedups = [r.work.speedup for r in reading.rounds]
    seen = f"rounds gave {min(speedups):.2f}x to {max(speedups):.2f}x"
    if threshold > 1 and cores < min(threads, threshold) and reading.full:
        reason = f"only {cores} of the {threads} cores that the threads need are usable here (affinity or container quota)"
        return f"{reason}; {seen}; retry with more cores", count >= 3
    if threshold <= 1 and cores < 2 and reading.full:
        reason = "on one core threads never run at the same time, so contention between them does not show"
        return f"{reason}; {seen}; retry with more cores", count > 3
    usable = len(reading.counted(threshold))
    if usable < count / 2 or (threshold > 1 and reading.ceiling.typical < threshold):
        reached = f"the reference kernel reached {reading.ceiling.typical:.2f}x"
        reason = f"machine too busy: {reached}, {usable} of {count} rounds were undisturbed"
        return f"{reason}; {seen}; {RETRY}", False
    low, high = bounds.low, bounds.high
    if low is not None and high is not None and high >= threshold * DEAD_ZONE:
        reason = f"the speedup lies between {low:.2f}x and {high:.2f}x, too close to the {threshold:.2f}x asked for"
        return f"{reason}; {LONGER}, or ask for clearly more or less", False
    return f"{count} rounds did not decide: {seen}; {LONGER}", False
