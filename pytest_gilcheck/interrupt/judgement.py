"""From shots to a verdict: which troubles prove something, and how often each must be seen.

A claim about every moment is refuted by one moment. What stands against a false alarm is that the proof must be clean: lateness
is counted without the time the machine is to blame for, and lateness near the limit must be seen twice. So must a lost signal: the
interpreter itself loses one, rarely, that lands between its last look and the system call that waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.verdict import Verdict
from .claim import InterruptClaim
from .shot import UNDECIDED, Shot, Trouble, clearly_late

TO_BE_SEEN_TWICE = frozenset({Trouble.LATE, Trouble.LOST})


@dataclass(frozen=True)
class Judgement:
    """A verdict with the shot that decided it; reason is for inconclusive ones, and empty otherwise."""

    verdict: Verdict
    decided_by: Shot | None = None
    reason: str = ""


def proven(shots: Sequence[Shot], claim: InterruptClaim) -> Shot | None:
    """The shot that refutes the claim; None while there is none."""
    troubled = [shot for shot in shots if shot.trouble is not None and shot.trouble not in UNDECIDED]
    for shot in troubled:
        if shot.trouble not in TO_BE_SEEN_TWICE or sum(other.trouble is shot.trouble for other in troubled) > 1:
            return shot
        if shot.trouble is Trouble.LATE and clearly_late(shot, claim):
            return shot
    return None


def judge(shots: Sequence[Shot], claim: InterruptClaim, wanted: int) -> Judgement:
    """The verdict over all shots.

    Args:
        wanted: how many signals had to find the workload running.
    """
    if (shot := proven(shots, claim)) is not None:
        return Judgement(Verdict.VIOLATED, shot)
    landed = [shot for shot in shots if shot.trouble is None]
    lost = any(shot.trouble is Trouble.LOST for shot in shots)  # no number of good ones makes that one good
    if len(landed) >= wanted and not lost:
        return Judgement(Verdict.HOLDS)
    for trouble, reason in (
        (Trouble.ENDED, "the workload ends its process by itself: {words}"),
        (Trouble.LATE, "one signal of {n} was seen {late:.2g} s late, and not a second one: run it again, or with more repeats"),
        (
            Trouble.LOST,
            "one signal of {n} was lost, and not a second one: {words}; the interpreter itself can lose one that lands just before "
            "a wait: run it again, or with more repeats",
        ),
        (Trouble.BUSY, "this machine kept the process from its cores, so nothing can be said of {count} of {n} signals"),
        (Trouble.UNTOLD, "{count} of {n} signals cannot be judged: {words}"),
        (Trouble.MISSED, "the workload is too short: {count} of {n} signals came after its end; give it more to do"),
    ):
        found = [shot for shot in shots if shot.trouble is trouble]
        if found:
            late = found[0].lateness or 0.0
            return Judgement(
                Verdict.INCONCLUSIVE, found[0], reason.format(words=found[0].words, n=len(shots), count=len(found), late=late)
            )
    return Judgement(Verdict.INCONCLUSIVE, reason=f"only {len(landed)} of {wanted} signals were sent in the time given")
