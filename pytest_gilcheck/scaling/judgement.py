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

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.held import Held
from ..core.verdict import Verdict
from .ceiling import Ceiling, ceiling, fair, filled, roomy
from .claim import ScalingClaim
from .sampling import Round
from .statistics import changed_speed, high_outvoted, low_one_sided, low_outvoted

DEAD_ZONE = 0.93  # of the threshold: violated only below
HELD_MARGIN = 1.05  # on 1/h, for the error of h
NEAR_CEILING = 0.8  # a speedup from this share of the ceiling up may be the machine's limit, and does not condemn the workload
WHOLE_CORES = 0.85  # of the usable cores, that the reference kernel reaches only if each is a core of its own
HYPERTHREADS = 0.5  # of the ceiling; where cores may be hyperthreads, only a speedup below it condemns
SERIAL = 1.1  # a threshold up to here would be met by serial code, and is no test of efficiency
SPEED_CHANGED = 1.5


@dataclass(frozen=True)
class Judgement:
    """What the rounds so far say.

    Attributes:
        verdict: inconclusive while undecided.
        reason: what decided, or what is missing, in one line.
        low, high: bounds of the speedup; None where nothing bounds it.
        threshold: the speedup that was asked for.
        ceiling: what the machine could give.
        hopeless: undecided, and more rounds like these will not change that.
    """

    verdict: Verdict
    reason: str
    low: float | None
    high: float | None
    threshold: float
    ceiling: Ceiling
    hopeless: bool = False


def judge(claim: ScalingClaim, rounds: Sequence[Round], held: Held | None, threads: int, cores: int) -> Judgement:
    """Judge the claim by these rounds; at least one round.

    Args:
        claim: the threshold, absolute or as a share of the ceiling.
        rounds: all rounds so far, in order.
        held: the GIL-held fraction where it was measured and can be trusted.
        threads, cores: how many threads ran at once, on how many usable cores.
    """
    top = ceiling(rounds, threads, cores)
    proves, refutes = _thresholds(claim, top)
    low, high = _bounds(rounds, held, proves, threads, cores)

    def so(verdict: Verdict, reason: str, hopeless: bool = False) -> Judgement:
        return Judgement(verdict, reason, low, high, proves, top, hopeless)

    if (changed := _changed_speed(rounds)) is not None:
        return so(
            Verdict.INCONCLUSIVE,
            f"the workload changed speed while it was measured: it takes {changed:.2g}x as long as at first; "
            "give it the same work each time (see setup), or more warmup",
            hopeless=True,
        )
    if claim.efficiency is not None:
        if low is not None and low >= claim.efficiency * threads:
            return so(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}")
        if proves < SERIAL:
            return so(
                Verdict.INCONCLUSIVE,
                f"this machine can give {top.high:.2f}x at most, and {claim.efficiency:.0%} of that any serial code would reach; "
                "more cores would help",
                hopeless=cores < 2,
            )
    if low is not None and low >= proves:
        return so(Verdict.HOLDS, f"at least {low:.2f}x with {threads} threads; asked for {claim}{_meaning(claim, proves)}")
    if (limit := _by_held(held)) is not None and limit < refutes:
        assert held is not None
        return so(
            Verdict.VIOLATED,
            f"it holds the GIL {held.fraction:.0%} of its time, so no machine gives more than {limit:.2f}x; "
            f"asked for {claim}{_meaning(claim, proves)}",
        )
    refuted = high is not None and high < refutes * DEAD_ZONE
    if (
        refuted
        and high is not None
        and (proves <= 1 or _machine_had_more(high, top, min(threads, cores)) or _blocked(rounds, refutes, threads))
    ):
        return so(Verdict.VIOLATED, f"at most {high:.2f}x with {threads} threads; asked for {claim}{_meaning(claim, proves)}")
    reason, hopeless = _missing(rounds, (low, high), top, proves, threads, cores)
    return so(Verdict.INCONCLUSIVE, reason, hopeless)


def refuted_by_held(claim: ScalingClaim, held: Held | None) -> bool:
    """Whether the held fraction alone refutes an absolute claim, on any machine: then no round need be run."""
    limit = _by_held(held)
    return claim.min_speedup is not None and limit is not None and limit < claim.min_speedup


def _thresholds(claim: ScalingClaim, top: Ceiling) -> tuple[float, float]:
    """The speedup from which the claim is proved, and the one below which it is refuted.

    They differ for a share of the ceiling: the ceiling itself is an interval.
    """
    if claim.min_speedup is not None:
        return claim.min_speedup, claim.min_speedup
    assert claim.efficiency is not None
    return claim.efficiency * top.high, claim.efficiency * (top.low or 0.0)


def _bounds(
    rounds: Sequence[Round], held: Held | None, threshold: float, threads: int, cores: int
) -> tuple[float | None, float | None]:
    if threshold > 1:
        low = low_one_sided([r.work.low for r in rounds])
        high = high_outvoted([r.work.high for r in rounds if roomy(r, threads)])
    else:
        left_alone = [r for r in rounds if fair(r, threads, cores)]
        low = low_outvoted([r.work.low for r in left_alone if cores > 1 or roomy(r, threads)])
        high = high_outvoted([r.work.high for r in left_alone])
    limits = [bound for bound in (high, _by_held(held)) if bound is not None]
    return low, min(limits, default=None)


def _by_held(held: Held | None) -> float | None:
    if held is None or held.unusable or held.fraction <= 0:
        return None
    return HELD_MARGIN / held.fraction


def _machine_had_more(high: float, top: Ceiling, most: int) -> bool:
    """Whether the reference kernel showed, in these rounds, clearly more than the workload can have.

    To have a core each is not enough: two virtual cores that the host has put on one physical core give a hashing kernel
    1.3x and ``json.dumps`` 1.1x, with no run-queue time at all, and for minutes. So unless the kernel reached nearly all that
    the cores should give, the workload must stay below half of it: hyperthreads cost no workload as much.
    """
    if top.low is None:
        return False
    return high < top.low * (NEAR_CEILING if top.low >= WHOLE_CORES * most else HYPERTHREADS)


def _blocked(rounds: Sequence[Round], refutes: float, threads: int) -> bool:
    """Whether the threads spent so much of their time blocked that no faster and no idler machine would do.

    The reference kernel, looked at in the same way, must be able to do what was asked: time that a hypervisor steals would
    look like blocking, and in the kernel too.
    """
    ideal = high_outvoted([r.work.ideal for r in rounds if roomy(r, threads)])
    reference = low_one_sided([r.reference.ideal for r in rounds])
    return ideal is not None and ideal < refutes * DEAD_ZONE and reference is not None and reference >= refutes


def _changed_speed(rounds: Sequence[Round]) -> float | None:
    """By what factor the workload's sequential time changed; None if it did not.

    It must show in seconds and in units of the reference kernel's time as well: the machine may change speed, which a workload
    that computes shows in seconds, and one that waits shows in those units.
    """
    work = [r.work.sequential.own_wall for r in rounds]
    relative = [r.work.sequential.own_wall / r.reference.sequential.own_wall for r in rounds]
    factors = [changed_speed(times, SPEED_CHANGED) for times in (work, relative)]
    known = [factor for factor in factors if factor is not None]
    return min(known, key=lambda factor: abs(factor - 1)) if len(known) == 2 and (known[0] > 1) == (known[1] > 1) else None


def _meaning(claim: ScalingClaim, threshold: float) -> str:
    return "" if claim.efficiency is None else f", here {threshold:.2f}x"


def _missing(
    rounds: Sequence[Round], bounds: tuple[float | None, float | None], top: Ceiling, threshold: float, threads: int, cores: int
) -> tuple[str, bool]:
    """Why these rounds do not decide and what would help, and whether more of them would not."""
    speedups = sorted(r.work.speedup for r in rounds)
    seen = f"rounds gave {speedups[0]:.2f}x to {speedups[-1]:.2f}x"
    if threshold > 1 and cores < min(threads, threshold) and all(filled(r.work.threaded, threads, cores) for r in rounds):
        reason = f"only {cores} of the {threads} cores that the threads need can be used here (affinity or container quota)"
        return f"{reason}; {seen}; more cores would help", len(rounds) >= 3
    if threshold <= 1 and cores < 2 and all(filled(r.work.threaded, threads, cores) for r in rounds):
        reason = "on one core threads never run at the same time, so contention between them cannot show"
        return f"{reason}; {seen}; more cores would help", len(rounds) > 3
    usable = sum(roomy(r, threads) if threshold > 1 else fair(r, threads, cores) for r in rounds)
    if usable < len(rounds) / 2 or (threshold > 1 and top.typical < threshold):
        reason = f"the machine itself could give only {top.typical:.2f}x, with {usable} of {len(rounds)} rounds undisturbed"
        return f"{reason}; {seen}; a quieter machine or a longer budget would help", False
    low, high = bounds
    if low is not None and high is not None and high >= threshold * DEAD_ZONE:
        reason = f"the speedup lies between {low:.2f}x and {high:.2f}x, too close to the {threshold:.2f}x asked for to call"
        return f"{reason}; a longer budget or a clearer threshold would help", False
    return f"{len(rounds)} rounds did not decide: {seen}; a longer budget would help", False
