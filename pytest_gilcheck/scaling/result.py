"""The result of a scaling check: named figures, and a report of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..core.codes import code_of
from ..core.held_fraction import Held
from ..core.interpreter import Interpreter
from ..core.team import Lap
from ..core.verdict import Judged, Verdict
from .claim import ScalingClaim
from .diagnosis import Cause, Diagnosis, Identity
from .sampling import Round


@dataclass(frozen=True, kw_only=True)
class ScalingResult(Judged):
    """The outcome of one scaling check. Ratios are plain numbers, times are seconds; what was not measured is None.

    Attributes:
        workload: the name of the workload.
        speedup: sequential time divided by threaded time, the median of the trusted rounds. The verdict does not follow from this
            point, but from `interval`.
        interval: (low, high) bounds of the speedup; 0.0 and infinity where there is no bound.
        ceiling: the speedup of the reference kernel in the same rounds, a median.
        efficiency: speedup divided by ceiling.
        threads: the number of threads that ran at once.
        cores_used: CPU time divided by wall time in threaded laps.
        cause: what limits the speedup; ``str(cause)`` is one of scales, gil, lock, contention, waiting, machine, unknown.
        rounds: the number of rounds.
        seconds: duration of the whole check.
        threshold: the speedup that the claim asks for on this machine.
        claim, interpreter, held, identity, diagnosis: what these figures are based on.
        call_seconds, calls: time of one call in one thread, and calls by each thread in a lap.
        pairs: the laps of all rounds.
        extra: further sequential laps, for `one_thread`.
        yardstick_before, yardstick_after: seconds of `core.machine.yardstick` before and after the measurement.
    """

    workload: str
    claim: ScalingClaim
    interpreter: Interpreter
    threads: int
    speedup: float | None = None
    interval: tuple[float, float] = (0.0, math.inf)
    ceiling: float | None = None
    threshold: float | None = None
    rounds: int = 0
    seconds: float = 0.0
    call_seconds: float | None = None
    calls: int | None = None
    yardstick_before: float | None = None
    yardstick_after: float | None = None
    held: Held | None = None
    identity: Identity | None = None
    diagnosis: Diagnosis = field(default_factory=lambda: Diagnosis(Cause.UNKNOWN, "nothing was measured"))
    pairs: tuple[Round, ...] = field(default=(), repr=False)
    extra: tuple[Lap, ...] = field(default=(), repr=False)

    @property
    def one_thread(self) -> list[float]:
        """Seconds of one call in one thread, without the time for which it had no core.

        One figure for each thread's part of each sequential lap.
        """
        laps = [r.work.sequential for r in self.pairs] + list(self.extra)
        return [max(1, timing.wall - (timing.run_queue or 0)) / (self.calls or 1) / 1e9 for lap in laps for timing in lap.timings]

    @property
    def efficiency(self) -> float | None:
        return None if self.speedup is None or not self.ceiling else self.speedup / self.ceiling

    @property
    def cores_used(self) -> float | None:
        return None if self.identity is None else self.identity.cores_threaded

    @property
    def cause(self) -> Cause:
        return self.diagnosis.cause

    def finding(self) -> str:
        """The code of the cause; of an undecided check only if the machine is to blame."""
        return code_of("scaling", self.cause) if self.conclusion is Verdict.VIOLATED or self.cause is Cause.MACHINE else ""

    def figures(self) -> dict[str, Any]:
        """The figures by name, as values that JSON can represent; a missing bound is None."""
        low, high = self.interval
        figures: dict[str, Any] = {
            "speedup": self.speedup,
            "low": low or None,
            "high": high if math.isfinite(high) else None,
            "ceiling": self.ceiling,
            "efficiency": self.efficiency,
            "threshold": self.threshold,
            "threads": self.threads,
            "cores_used": self.cores_used,
            "cause": str(self.cause),
            "rounds": self.rounds,
            "seconds": self.seconds,
            "call_seconds": self.call_seconds,
            "calls": self.calls,
            "yardstick_before": self.yardstick_before,
            "yardstick_after": self.yardstick_after,
            "held": None if self.held is None or self.held.unusable else self.held.fraction,
            "diagnosis": self.diagnosis.text,
        }
        if self.identity is not None:
            figures |= {
                "cpu_inflation": self.identity.cpu_inflation,
                "blocked": self.identity.blocked,
                "denied": self.identity.denied,
                "voluntary_switches": self.identity.voluntary,
                "involuntary_switches": self.identity.involuntary,
            }
        return figures

    def details(self) -> dict[str, Any]:
        """`one_thread`, and for each round the speedup with its bounds, the ceiling, and the seconds of a call in each arm."""
        each = (self.calls or 1) * self.threads * 1e9
        return {
            "one_thread": self.one_thread,
            "rounds": [
                {
                    "speedup": r.work.speedup,
                    "low": r.work.low,
                    "high": r.work.high,
                    "ceiling": r.reference.speedup,
                    "sequential": r.work.sequential.own_wall / each,
                    "threaded": r.work.threaded.wall / each,
                }
                for r in self.pairs
            ],
        }

    def headline(self) -> str:
        return f"{self.workload}: {self.conclusion}: {self.reason}\n  cause: {self.diagnosis.text}"

    def __str__(self) -> str:
        lines = [self.headline()]
        lines += [f"  {line}" for line in self.table()]
        lines += [f"  {detail}" for detail in self.diagnosis.details]
        return "\n".join(lines)

    def table(self) -> list[str]:
        """The measured figures, one line each."""
        rows = [("interpreter", str(self.interpreter))]
        if self.speedup is not None:
            low, high = self.interval
            bounds = f"{low:.2f} to {high:.2f}" if math.isfinite(high) else f"at least {low:.2f}" if low else "unbounded"
            rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
            rows.append(("speedup", f"{self.speedup:.2f}x with {self.threads} threads (interval {bounds}; {rounds})"))
        if self.ceiling is not None:
            rows.append(("ceiling", f"{self.ceiling:.2f}x by the reference kernel, in the same rounds"))
        if (terms := self.identity) is not None:
            rows.append(
                (
                    "cores used",
                    f"{terms.cores_sequential:.2f} sequential, {terms.cores_threaded:.2f} threaded; "
                    f"CPU time for the same work {terms.cpu_inflation:.2f}x",
                )
            )
            denied = "" if terms.denied is None else f", without a core {terms.denied:.0%}"
            rows.append(("threads' time", f"blocked {terms.blocked:.0%}{denied}"))
            if terms.voluntary is not None:
                rows.append(
                    (
                        "switches",
                        f"{terms.voluntary:.0f} voluntary, {terms.involuntary:.0f} involuntary in a threaded lap; "
                        f"{terms.voluntary_sequential:.0f} voluntary in a sequential one",
                    )
                )
        if self.held is not None and not self.held.unusable:
            rows.append(("GIL held", f"{self.held.fraction:.0%} of the time by one thread alone ({self.held.samples} samples)"))
        if self.call_seconds is not None and self.calls is not None:
            rows.append(("one call", f"{_time(self.call_seconds)}, {self.calls} by each thread in a lap"))
        width = max(len(name) for name, _ in rows)
        return [f"{name:<{width}}  {value}" for name, value in rows]


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
