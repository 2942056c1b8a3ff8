"""From trials to a verdict: which outcomes refute the claim, and how often each must be seen.

A claim about every moment is refuted by one moment. What prevents a false alarm: lateness is counted without the time for which the
machine is to blame, and lateness near the limit must be seen twice. So must a lost signal: on rare occasions the interpreter itself
loses one that arrives between its last check and the system call that waits. And so must one that was not handled at all, where the
machine denied the process a core in other trials: the main thread may have waited for a GIL whose holder had no core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.verdict import Verdict
from .claim import InterruptClaim
from .trial import UNDECIDED, SignalOutcome, Trial, clearly_late

TO_BE_SEEN_TWICE = frozenset({SignalOutcome.LATE, SignalOutcome.LOST})
_UNDECIDED_REASONS = (  # the first that applies is reported
    (SignalOutcome.ENDED, "the workload exits the process by itself: {detail}"),
    (
        SignalOutcome.LATE,
        "one signal of {n} was handled {late:.2g} s late, and no second one: run the check again, or with more repeats",
    ),
    (
        SignalOutcome.LOST,
        "one signal of {n} was lost, and no second one: {detail}; the interpreter itself can lose one that arrives just before a "
        "wait: run the check again, or with more repeats",
    ),
    (
        SignalOutcome.BUSY,
        "machine too busy: it denied the process a core during {count} of {n} signals, which therefore decide nothing; retry on an "
        "idle machine",
    ),
    (SignalOutcome.UNREPORTED, "{count} of {n} signals cannot be judged: {detail}"),
    (SignalOutcome.MISSED, "the workload is too short: {count} of {n} signals came after its end; give it more to do"),
)


@dataclass(frozen=True)
class InterruptJudgement:
    """A verdict.

    Attributes:
        verdict: holds, violated or inconclusive.
        decided_by: the trial that decided it; None if all did.
        reason: of an inconclusive verdict; empty otherwise.
    """

    verdict: Verdict
    decided_by: Trial | None = None
    reason: str = ""


def to_be_seen_again(outcome: SignalOutcome | None, trials: Sequence[Trial]) -> bool:
    """Whether this outcome was seen once, and refutes nothing until it is seen twice."""
    busy = any(trial.outcome is SignalOutcome.BUSY for trial in trials)
    twice = outcome in TO_BE_SEEN_TWICE or (outcome is SignalOutcome.DEAF and busy)
    return twice and sum(trial.outcome is outcome for trial in trials) == 1


def refuting(trials: Sequence[Trial], claim: InterruptClaim) -> Trial | None:
    """The trial that refutes the claim; None while there is none."""
    bad = [trial for trial in trials if trial.outcome is not None and trial.outcome not in UNDECIDED]
    for trial in bad:
        if not to_be_seen_again(trial.outcome, trials):
            return trial
        if trial.outcome is SignalOutcome.LATE and clearly_late(trial, claim):
            return trial
    return None


def judge(trials: Sequence[Trial], claim: InterruptClaim, wanted: int) -> InterruptJudgement:
    """The verdict over all trials.

    Args:
        wanted: how many signals had to arrive in the running workload.
    """
    if (trial := refuting(trials, claim)) is not None:
        return InterruptJudgement(Verdict.VIOLATED, trial)
    good = [trial for trial in trials if trial.outcome is None]
    unhandled = any(trial.outcome in (SignalOutcome.LOST, SignalOutcome.DEAF) for trial in trials)  # no good ones outweigh it
    if len(good) >= wanted and not unhandled:
        return InterruptJudgement(Verdict.HOLDS)
    for outcome, reason in _UNDECIDED_REASONS:
        found = [trial for trial in trials if trial.outcome is outcome]
        if found:
            late = found[0].lateness or 0.0
            text = reason.format(detail=found[0].detail, n=len(trials), count=len(found), late=late)
            return InterruptJudgement(Verdict.INCONCLUSIVE, found[0], text)
    text = f"only {len(good)} of {wanted} signals could be sent in the time given; raise the budget or lower repeats"
    return InterruptJudgement(Verdict.INCONCLUSIVE, reason=text)
