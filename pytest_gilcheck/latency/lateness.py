"""Lateness, counted from the intended time, and its distribution.

A stalled probe makes fewer observations than it intended, and the missing ones fall into the stall. If each observation counted
once, a stall of 1 s in a run of 2 s would be one late observation among 500 good ones (coordinated omission). So a `Wait` stands
for every moment at which the probe intended to run, each late from its own intended time.

The part of a wait that is attributed to the workload is a lower bound. Time for which a thread was ready to run without a core is
subtracted, whether other processes or the workload's own threads used the cores: the number of cores is a property of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_DRAWN = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)  # the quantiles that a chart draws


@dataclass(frozen=True)
class Wait:
    """One wait of a probe, on the clock ``time.perf_counter``.

    Attributes:
        intended: the time at which the probe intended to run, or to send.
        ended: the time at which it ran, or had its answer.
        every: seconds between two intended times.
        unattributed: seconds of the wait that are not shown to be caused by the workload; None where the platform cannot tell.
    """

    intended: float
    ended: float
    every: float
    unattributed: float | None

    @property
    def late(self) -> float:
        return max(0.0, self.ended - self.intended)

    @property
    def attributed(self) -> float | None:
        """Seconds of the wait that the workload caused, at least; None where the platform cannot tell."""
        return None if self.unattributed is None else max(0.0, self.late - self.unattributed)

    @property
    def moments(self) -> int:
        """The number of intended moments that this wait stands for."""
        return max(1, math.ceil(self.late / self.every))

    def lates(self) -> list[float]:
        """Seconds by which each moment within the wait was late, the longest first."""
        return [self.late - missed * self.every for missed in range(self.moments)]


def lates(waits: Iterable[Wait]) -> list[float]:
    """Seconds by which each intended moment was late."""
    return [late for wait in waits for late in wait.lates()]


@dataclass(frozen=True)
class LatenessSpread:
    """The distribution of the lateness of one probe in one condition, in seconds.

    ``n`` counts intended moments; ``quantiles`` are pairs (share, seconds).
    """

    n: int
    p50: float
    p99: float
    max: float
    quantiles: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, waits: Iterable[Wait]) -> LatenessSpread | None:
        """The distribution of these waits; None without any."""
        ordered = sorted(lates(waits))
        if not ordered:
            return None
        drawn = tuple((share, quantile(ordered, share)) for share in _DRAWN)
        return cls(len(ordered), quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1], drawn)

    def figures(self) -> dict[str, float]:
        return {"n": self.n, "p50": self.p50, "p99": self.p99, "max": self.max}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed; always one of the values."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ms(seconds: float) -> str:
    """Milliseconds with three digits: 0.21 ms, 15.6 ms, 240 ms."""
    milliseconds = seconds * 1e3
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds:.0f} ms"
