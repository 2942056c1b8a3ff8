"""Bounds on the true speedup from a few rounds: order statistics with a known probability of error.

The median of the rounds is not a bound. On a busy machine all rounds are biased to the same side, and a mean or a t-interval is
precise and wrong: two perfectly parallel threads beside one busy process measure 0.99. So a bound counts only rounds that are
able to contradict it, and compares how many do with how many do not.

`low_outvoted` and `high_outvoted` are Wald's sequential probability ratio test of signs. If a round falls on the wrong side of
the truth with probability at most 0.15, the probability that the wrong side ever leads by 3 is (0.15/0.85)**3, or 0.55%. The test
is valid after every round, so a check can stop early.

Source: A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16 (1945).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAD = 3  # by how many rounds a bound must win
LEAST = 3  # rounds that must reach a one-sided bound
SHARE = 0.6  # of the rounds, that must reach a one-sided bound


def low_outvoted(values: Sequence[float], lead: int = LEAD) -> float | None:
    """The largest bound that at least ``lead`` more values reach than miss; None with too few values.

    For rounds with noise to either side.
    """
    rank = _winning_rank(len(values), lead)
    return None if rank is None else sorted(values, reverse=True)[rank - 1]


def high_outvoted(values: Sequence[float], lead: int = LEAD) -> float | None:
    """The smallest bound that at least ``lead`` more values stay below than exceed; None with too few values."""
    rank = _winning_rank(len(values), lead)
    return None if rank is None else sorted(values)[rank - 1]


def low_one_sided(values: Sequence[float], least: int = LEAST, share: float = SHARE) -> float | None:
    """The largest bound that at least ``least`` values, and ``share`` of all values, reach; None with too few values.

    For rounds in which noise can only lower the value: a high value counts, and a low one says nothing.
    """
    rank = max(least, math.ceil(share * len(values)))
    return sorted(values, reverse=True)[rank - 1] if rank <= len(values) else None


def changed_speed(times: Sequence[float], factor: float) -> float | None:
    """The factor by which every time of the later half differs from every time of the earlier half; None if not all do.

    Args:
        times: of the same work, in order, in any unit; with fewer than 4 the result is None.
        factor: above 1; a smaller change does not count.
    """
    if len(times) < 4:
        return None
    early, late = times[: len(times) // 2], times[-(len(times) // 2) :]
    slower, faster = min(late) / max(early), max(late) / min(early)
    if slower > factor:
        return slower
    return faster if faster < 1 / factor else None


def _winning_rank(n: int, lead: int) -> int | None:
    """The number of n values that must agree so that they outvote the others by ``lead``."""
    rank = (n + lead + 1) // 2
    return rank if n >= lead else None
