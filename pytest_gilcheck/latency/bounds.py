"""Whether a sample shows a quantile to be within a limit, or beyond it; each is wrong at most one time in twenty.

Within: the number of late moments of n is binomial. The bound needs no assumption on the distribution of latencies, only that
the moments measured are like those not measured: 299 moments, none of them late, show that p99 is within the limit.

Beyond: late moments come in stalls, and those of one stall are one event. So what is counted is stalls (Poisson), each with the
late moments it brought. A binomial bound over moments would condemn a workload for a single long stall, which anything in the
system may have caused.
"""

from __future__ import annotations

import math

ERROR = 0.05
LEAST_STALLS = 2  # whatever their length: one is an anecdote


def shows_within(n: int, late: int, share: float) -> bool:
    """Whether ``late`` of n show that at most ``share`` of all are late."""
    return n > 0 and _binomial_at_most(late, n, share) <= ERROR


def shows_beyond(n: int, late: int, stalls: int, share: float) -> bool:
    """Whether ``late`` of n, in so many stalls, show that more than ``share`` of all are late."""
    return stalls >= LEAST_STALLS and late / n * fewest_events(stalls) / stalls > share


def least_moments(late: int, share: float) -> int:
    """The smallest n of which ``late`` late ones show what `shows_within` asks."""
    n = max(late + 1, 1)
    while not shows_within(n, late, share):
        n += max(1, n // 200)
    return n


def fewest_events(seen: int) -> float:
    """The lower bound of the expected number of events, of which ``seen`` (at least 1) were seen."""
    low, high = 0.0, float(seen)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _poisson_at_least(seen, middle) <= ERROR else (low, middle)
    return low


def _binomial_at_most(k: int, n: int, share: float) -> float:
    if k >= n:
        return 1.0
    if k > n * share + 20 * math.sqrt(n * share):
        return 1.0  # to all the digits a float has
    logs = (math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(share) + (n - i) * math.log1p(-share)
            for i in range(k + 1))  # fmt: skip
    return math.fsum(math.exp(log) for log in logs)


def _poisson_at_least(k: int, expected: float) -> float:
    if expected <= 0:
        return 0.0
    return 1 - math.fsum(math.exp(i * math.log(expected) - expected - math.lgamma(i + 1)) for i in range(k))
