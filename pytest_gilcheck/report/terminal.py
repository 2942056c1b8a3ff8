"""Evidence on a terminal: a line for each check."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.evidence import Record


def summary_title(verdicts: Mapping[str, int]) -> str:
    """``gilcheck: 3 holds, 1 inconclusive``."""
    counted = [f"{verdicts[verdict]} {verdict}" for verdict in ("violated", "inconclusive", "holds") if verdicts.get(verdict)]
    return f"gilcheck: {', '.join(counted)}"


def summary_line(record: Record, verbose: bool = False) -> str:
    """One check: verdict, speedup, subject, and the cause or the reason."""
    figures = record["figures"]
    speedup = figures.get("speedup")
    measured = "     -" if speedup is None else f"{speedup:5.2f}x"
    words = record["reason"] if record["verdict"] == "inconclusive" or verbose else figures.get("diagnosis", record["reason"])
    return f"{record['verdict']:12} {measured}  {record['subject']}: {words}"
