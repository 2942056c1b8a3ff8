"""Bounds on the true speedup from a handful of rounds: order statistics with a known chance to be wrong.

The median of rounds is no bound: on a busy machine rounds are biased, all to the same side, and a mean or a t-interval is
confidently wrong (two perfectly parallel threads beside one busy process measure 0.99). So a bound counts only rounds that are
able to speak against it, and asks how many more did than did not.

`outvoted` is Wald's sequential probability ratio test of signs: when a round falls on the wrong side of the truth with
probability at most 0.15, the chance that the wrong side ever leads by 3 is (0.15/0.85)**3, 0.55%. It may be looked at after
every round, which is what lets a check stop early.

Source: A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAD = 3
LEAST = 3
SHARE = 0.6


def low_outvoted(values: Sequence[float], lead: int = LEAD) -> float | None:
    """The largest bound that at least ``lead`` more of the values reach than miss; None with too few values.

    For rounds that can err to either side.
    """
    rank = _winning_rank(len(values), lead)
    return None if rank is None else sorted(values, reverse=True)[rank - 1]


def high_outvoted(values: Sequence[float], lead: int = LEAD) -> float | None:
    """The smallest bound that at least ``lead`` more of the values stay below than exceed; None with too few values."""
    rank = _winning_rank(len(values), lead)
    return None if rank is None else sorted(values)[rank - 1]


def low_one_sided(values: Sequence[float], least: int = LEAST, share: float = SHARE) -> float | None:
    """The largest bound that at least ``least`` and at least ``share`` of the values reach; None with too few values.

    For rounds in which noise can only lower the value: those that are high are to be believed, those that are low say nothing.
    """
    rank = max(least, math.ceil(share * len(values)))
    return sorted(values, reverse=True)[rank - 1] if rank <= len(values) else None


def changed_speed(times: Sequence[float], factor: float) -> float | None:
    """By what factor the later half of the times differs from the earlier, every one of them; None if it does not.

    Args:
        times: how long the same work took, in order, in any unit; at least 4, or nothing is said.
        factor: how much of a change counts, above 1.
    """
    if len(times) < 4:
        return None
    early, late = times[: len(times) // 2], times[-(len(times) // 2) :]
    slower, faster = min(late) / max(early), max(late) / min(early)
    if slower > factor:
        return slower
    return faster if faster < 1 / factor else None


def _winning_rank(n: int, lead: int) -> int | None:
    """How many of n must agree for the others to be outvoted by ``lead``."""
    rank = (n + lead + 1) // 2
    return rank if n >= lead else None
