"""Lateness counted from the intended time, and the figures of many.

A probe that is stalled makes fewer observations than it intended, and exactly during the stall: counted one for one, a stall of
a second in a run of two is one bad observation among five hundred good ones (coordinated omission). So a `Wait` stands for every
moment at which the probe intended to run and could not, each late from its own intended time.

How much of a wait the workload answers for is a lower bound: the time that a thread was ready to run and denied a core, by
neighbours or by the workload's own threads, is taken off. How many cores there are is the machine's doing, not the workload's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_DRAWN = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)  # shares of a distribution that a report draws


@dataclass(frozen=True)
class Wait:
    """One wait of a probe, on the clock ``time.perf_counter``.

    Attributes:
        intended: when it was to run, or to send.
        ended: when it ran, or had its answer.
        every: seconds from one intended time to the next, had it not been held up.
        unexplained: seconds of the wait that nothing proves to be the workload's; None where the platform cannot tell.
    """

    intended: float
    ended: float
    every: float
    unexplained: float | None

    @property
    def late(self) -> float:
        return max(0.0, self.ended - self.intended)

    @property
    def blamed(self) -> float | None:
        """Seconds of the wait for which the workload answers, at least; None where the platform cannot tell."""
        return None if self.unexplained is None else max(0.0, self.late - self.unexplained)

    @property
    def moments(self) -> int:
        """How many intended moments this wait stands for."""
        return max(1, math.ceil(self.late / self.every))

    def lates(self) -> list[float]:
        """Seconds by which each moment intended within the wait was late; the first is the wait itself."""
        return [self.late - missed * self.every for missed in range(self.moments)]


def lates(waits: Iterable[Wait]) -> list[float]:
    """Seconds of lateness of every intended moment."""
    return [late for wait in waits for late in wait.lates()]


@dataclass(frozen=True)
class Spread:
    """The figures of one probe in one condition, in seconds; n counts intended moments; quantiles are (share, seconds)."""

    n: int
    p50: float
    p99: float
    max: float
    quantiles: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, waits: Iterable[Wait]) -> Spread | None:
        """None of no waits."""
        ordered = sorted(lates(waits))
        if not ordered:
            return None
        drawn = tuple((share, quantile(ordered, share)) for share in _DRAWN)
        return cls(len(ordered), quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1], drawn)

    def figures(self) -> dict[str, float]:
        return {"n": self.n, "p50": self.p50, "p99": self.p99, "max": self.max}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest of these that at least this share of them do not exceed; no interpolation between what was seen."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ms(seconds: float) -> str:
    """Milliseconds as people read them: 0.21 ms, 15.6 ms, 240 ms."""
    milliseconds = seconds * 1e3
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds:.0f} ms"
