"""Whether a sample shows that a quantile is within a limit, or beyond it; either answer is wrong at most one time in twenty.

Within: the number of late moments among n is binomial. The bound assumes nothing about the distribution of the latencies, only that
the moments measured are like those not measured. With 299 moments, none of them late, the p99 is within the limit.

Beyond: late moments come in stalls, and the moments of one stall are one event. So stalls are counted (Poisson), each with its late
moments. A binomial bound over moments would call a claim violated after a single long stall, which anything in the system may have
caused.
"""

from __future__ import annotations

import math

ERROR = 0.05
LEAST_STALLS = 2  # one stall, however long, may have any cause


def shows_within(n: int, late: int, share: float) -> bool:
    """Whether ``late`` late moments among n show that at most ``share`` of all moments are late."""
    return n > 0 and _binomial_at_most(late, n, share) <= ERROR


def shows_beyond(n: int, late: int, stalls: int, share: float) -> bool:
    """Whether ``late`` late moments among n, in that many stalls, show that more than ``share`` of all moments are late."""
    return stalls >= LEAST_STALLS and late / n * fewest_events(stalls) / stalls > share


def least_moments(late: int, share: float) -> int:
    """The smallest n for which `shows_within` is true with ``late`` late moments."""
    n = max(late + 1, 1)
    while not shows_within(n, late, share):
        n += max(1, n // 200)
    return n


def fewest_events(seen: int) -> float:
    """The lower bound of the expected number of events after ``seen`` of them, at least 1."""
    low, high = 0.0, float(seen)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _poisson_at_least(seen, middle) <= ERROR else (low, middle)
    return low


def _binomial_at_most(k: int, n: int, share: float) -> float:
    if k >= n:
        return 1.0
    if k > n * share + 20 * math.sqrt(n * share):
        return 1.0  # to the precision of a float
    logs = (math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(share) + (n - i) * math.log1p(-share)
            for i in range(k + 1))  # fmt: skip
    return math.fsum(math.exp(log) for log in logs)


def _poisson_at_least(k: int, expected: float) -> float:
    if expected <= 0:
        return 0.0
    return 1 - math.fsum(math.exp(i * math.log(expected) - expected - math.lgamma(i + 1)) for i in range(k))
