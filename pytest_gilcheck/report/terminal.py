"""Evidence on a terminal: a line for each check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.evidence import Record


def summary_title(verdicts: Mapping[str, int]) -> str:
    """``gilcheck: 3 holds, 1 inconclusive``."""
    counted = [f"{verdicts[verdict]} {verdict}" for verdict in ("violated", "inconclusive", "holds") if verdicts.get(verdict)]
    return f"gilcheck: {', '.join(counted)}"


def summary_line(record: Record, verbose: bool = False) -> str:
    """One check: verdict, its first figure, subject, and the cause or the reason."""
    figures = record["figures"]
    words = record["reason"] if record["verdict"] == "inconclusive" or verbose else figures.get("diagnosis", record["reason"])
    return f"{record['verdict']:12} {_first_figure(record['check'], figures):>8}  {record['subject']}: {words}"


def _first_figure(check: str, figures: Mapping[str, Any]) -> str:
    """The figure that the check is about, short; ``-`` if there is none."""
    match check:
        case "interrupt":
            return _ms(figures.get("delivery_max"))
        case "latency":
            measured = [figures.get(f"{probe}_beside_p99") for probe in ("heartbeat", "echo", "loop")]
            return _ms(max((value for value in measured if value is not None), default=None))
        case "injection":
            return f"{figures['steps']} st" if figures.get("steps") else "-"
        case "fuzz":
            return str(figures.get("kind") or f"{figures.get('schedules', 0):,}")
        case _:
            speedup = figures.get("speedup")
            return "-" if speedup is None else f"{speedup:.2f}x"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
