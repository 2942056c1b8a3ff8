"""The result of a latency check: named figures, and a report of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.codes import code_of
from ..core.held_fraction import Held
from ..core.interpreter import FREE_THREADED, Interpreter
from ..core.verdict import Judged, Verdict
from .claim import LatencyClaim
from .culprit import Culprit
from .lateness import LatenessSpread, ms


@dataclass(frozen=True)
class Lateness:
    """The lateness of one probe without and beside the workload, in the same run; None where it was not measured."""

    alone: LatenessSpread | None
    beside: LatenessSpread | None


@dataclass(frozen=True)
class SweepRow:
    """One switch interval in seconds, with the lateness beside the workload and the throughput of both sides per second."""

    interval: float
    heartbeat: LatenessSpread | None
    echo: LatenessSpread | None
    requests: float
    calls: float

    def figures(self) -> dict[str, Any]:
        return {
            "interval": self.interval,
            "heartbeat": self.heartbeat and self.heartbeat.figures(),
            "echo": self.echo and self.echo.figures(),
            "requests": self.requests,
            "calls": self.calls,
        }


@dataclass(frozen=True, kw_only=True)
class LatencyResult(Judged):
    """The outcome of one latency check. Times are seconds, rates are per second; what was not measured is None.

    Attributes:
        workload: the name of the workload.
        workers: the number of threads that ran it.
        heartbeat, echo, loop: lateness of each probe, counted from the intended time.
        requests_alone, requests_beside: requests per second that the echo answered.
        calls_alone, calls_beside: calls of the workload per second, without the probes and beside them.
        stall: the longest time that another process waited for an answer beside the workload.
        oversleep: the most by which that process, which shares no interpreter with the workload, woke late.
        held: the share of the workload's time in which the GIL was held; None on a free-threaded build.
        holders: what held the GIL while the heartbeat waited for it, longest first.
        sweep: the figures at other switch intervals.
        switch_interval: the switch interval that the verdict is for, in seconds.
        cores_used: CPU time of the workload's threads divided by wall time.
        rounds: the number of rounds; each has a window beside the workload and one without it.
        seconds: duration of the whole check.
    """

    workload: str
    claim: LatencyClaim
    interpreter: Interpreter
    workers: int
    switch_interval: float
    heartbeat: Lateness | None = None
    echo: Lateness | None = None
    loop: Lateness | None = None
    requests_alone: float | None = None
    requests_beside: float | None = None
    calls_alone: float | None = None
    calls_beside: float | None = None
    stall: float | None = None
    oversleep: float | None = None
    held: Held | None = None
    holders: tuple[Culprit, ...] = ()
    sweep: tuple[SweepRow, ...] = ()
    cores_used: float | None = None
    rounds: int = 0
    seconds: float = 0.0

    @property
    def convoy(self) -> float | None:
        """Requests per second beside the workload over those without it; 1 means no convoy effect."""
        if self.requests_alone is None or self.requests_beside is None or self.requests_alone <= 0:
            return None
        return self.requests_beside / self.requests_alone

    def finding(self) -> str:
        """Whether a C call or bytecode held the GIL for most of the time that others waited."""
        if self.conclusion is not Verdict.VIOLATED:
            return ""
        return code_of("latency", self.holders[0].kind if self.holders else "other")

    def figures(self) -> dict[str, Any]:
        """The figures by name; values that JSON can represent."""
        figures: dict[str, Any] = {
            "workers": self.workers,
            "switch_interval": self.switch_interval,
            "p99_limit": self.claim.p99,
            "max_limit": self.claim.max,
            "requests_alone": self.requests_alone,
            "requests_beside": self.requests_beside,
            "convoy": self.convoy,
            "calls_alone": self.calls_alone,
            "calls_beside": self.calls_beside,
            "stall": self.stall,
            "oversleep": self.oversleep,
            "held": None if self.held is None or self.held.unusable else self.held.fraction,
            "cores_used": self.cores_used,
            "rounds": self.rounds,
            "seconds": self.seconds,
        }
        for name, probe in self._probes():
            for condition, spread in (("alone", probe.alone), ("beside", probe.beside)):
                if spread is not None:
                    figures |= {f"{name}_{condition}_{figure}": value for figure, value in spread.figures().items()}
        return figures

    def details(self) -> dict[str, Any]:
        """The quantiles of each probe as (share, seconds), what held the GIL, and the other switch intervals."""
        return {
            "lateness": {
                name: {
                    condition: spread.quantiles
                    for condition, spread in (("alone", probe.alone), ("beside", probe.beside))
                    if spread is not None
                }
                for name, probe in self._probes()
            },
            "holders": [holder.figures() for holder in self.holders],
            "sweep": [row.figures() for row in self.sweep],
        }

    def headline(self) -> str:
        return f"{self.workload}: {self.conclusion}: {self.reason}"

    def __str__(self) -> str:
        return "\n".join([self.headline(), *(f"  {line}" for line in self.table()), *(f"  {line}" for line in self.sweep_table())])

    def table(self) -> list[str]:
        """The measured figures, one line each."""
        rows = [("interpreter", str(self.interpreter)), ("claim", str(self.claim))]
        for name, probe in self._probes():
            rows.append((name, _both(probe)))
        if self.requests_alone is not None and self.requests_beside is not None:
            convoy = "" if self.convoy is None else f" ({self.convoy:.2f}x)"
            rows.append(
                ("requests", f"{self.requests_alone:.0f}/s alone, {self.requests_beside:.0f}/s beside the workload{convoy}")
            )
        if self.stall is not None:
            slept = "" if self.oversleep is None else f"; its own sleeps were up to {ms(self.oversleep)} too long"
            rows.append(("from outside", f"another process waited up to {ms(self.stall)} for an answer{slept}"))
        if self.calls_beside is not None:
            alone = "" if self.calls_alone is None else f"{self.calls_alone:.3g} calls/s without the probes, "
            cores = "" if self.cores_used is None else f", {self.cores_used:.2f} cores used"
            rows.append(("workload", f"{alone}{self.calls_beside:.3g} calls/s beside them{cores}"))
        rows += self._held_rows()
        width = max(len(name) for name, _ in rows)
        return [f"{name:<{width}}  {value}" for name, value in rows]

    def sweep_table(self) -> list[str]:
        """The figures of each switch interval as aligned lines; empty without a sweep."""
        if not self.sweep:
            return []
        head = ("switch interval", "heartbeat p50", "p99", "echo p50", "p99", "requests/s", "calls/s")
        rows = [head, *(_row(row) for row in self.sweep)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        if self.interpreter.build == FREE_THREADED:
            lines.append("a free-threaded build accepts a switch interval, but does not use it")
        return lines

    def _probes(self) -> list[tuple[str, Lateness]]:
        probes = (("heartbeat", self.heartbeat), ("echo", self.echo), ("loop", self.loop))
        return [(name, probe) for name, probe in probes if probe is not None]

    def _held_rows(self) -> list[tuple[str, str]]:
        rows = []
        if self.held is not None:
            share = f"{self.held.fraction:.0%} of the time ({self.held.samples} samples, longest wait {ms(self.held.longest)})"
            rows.append(("GIL held", self.held.unusable or share))
        elif self.interpreter.build == FREE_THREADED and self.heartbeat is not None:
            rows.append(
                ("GIL held", "no GIL; remaining causes: stop-the-world pauses, locks inside the interpreter, missing cores")
            )
        for index, holder in enumerate(self.holders[:3]):
            rows.append(("held by" if index == 0 else "", f"{holder.share:.0%} {holder}"))
        return rows


def _both(probe: Lateness) -> str:
    return f"{_spread(probe.beside)} beside the workload; {_spread(probe.alone)} alone"


def _spread(spread: LatenessSpread | None) -> str:
    if spread is None:
        return "not measured"
    return f"p50 {ms(spread.p50)}, p99 {ms(spread.p99)}, max {ms(spread.max)} (n={spread.n})"


def _row(row: SweepRow) -> Sequence[str]:
    def two(spread: LatenessSpread | None) -> tuple[str, str]:
        return ("-", "-") if spread is None else (ms(spread.p50), ms(spread.p99))

    return (f"{row.interval * 1e3:g} ms", *two(row.heartbeat), *two(row.echo), f"{row.requests:.0f}", f"{row.calls:.3g}")
