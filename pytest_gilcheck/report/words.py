"""Figures in words: the one that a check is about, and its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.evidence import Record
from .clean import one_line

MARKS = {"holds": "\u2713", "violated": "\u2717", "inconclusive": "?", None: "\u00b7"}
ASCII_MARKS = {"holds": "+", "violated": "x", "inconclusive": "?", None: "-"}
_GREATEST = 1e300  # beyond which a file's integer is no float any more
WORST_FIRST = ("violated", "inconclusive", "holds")


def number(figures: Mapping[str, Any], name: str) -> float | None:
    """A figure that is a finite number; None of anything else, whatever a file holds."""
    value = figures.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_GREATEST < value < _GREATEST:
        return None
    return float(value)


def asserted_violated(record: Record) -> bool:
    """Whether the claim is violated, and the test passed: it may assert just that, of a known limit."""
    return record["verdict"] == "violated" and record.get("outcome") in ("passed", "xfailed")


def main_figure(record: Record) -> tuple[str, float, str] | None:
    """The figure that the check is about: its name, value and unit ("times", "s" or "1"); None if there is none."""
    figures = record["figures"]
    match record["check"]:
        case "scaling":
            name, unit = "speedup", "times"
        case "interrupt":
            name, unit = "delivery_max", "s"
        case "latency":
            probes = [f"{probe}_beside_p99" for probe in ("heartbeat", "echo", "loop")]
            known = [(value, probe) for probe in probes if (value := number(figures, probe)) is not None]
            return (max(known)[1], max(known)[0], "s") if known else None
        case "injection":
            name, unit = "steps", "1"
        case "fuzz":
            name, unit = "schedules", "1"
        case _:
            return None
    value = number(figures, name)
    return None if value is None else (name, value, unit)


def short_figure(record: Record) -> str:
    """The main figure, short: ``1.87x``, ``0.21 ms``, ``1,024 schedules``; a failure's kind; ``-`` if there is none."""
    if record["check"] == "fuzz" and record["figures"].get("kind"):
        return one_line(record["figures"]["kind"], 12)
    found = main_figure(record)
    if found is None:
        return "-"
    name, value, unit = found
    if unit == "times":
        return f"{value:.2f}x"
    return seconds(value) if unit == "s" else f"{value:,.0f} {name}"


def interval(record: Record) -> str:
    """The interval of the speedup, ``1.71 to 1.93``; empty where nothing bounds it."""
    low, high = number(record["figures"], "low"), number(record["figures"], "high")
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {low:.2f}"
    return f"at most {high:.2f}" if not low else f"{low:.2f} to {high:.2f}"


def seconds(value: float) -> str:
    """Seconds as people read them."""
    if abs(value) >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if abs(value) >= 1e-5 else f"{value * 1e6:.3g} us"


def slower(ratio: float) -> str:
    """``1.26x slower``, ``1.10x faster``, ``the same``."""
    if 0.995 <= ratio <= 1.005:
        return "the same"
    return f"{ratio:.2f}x slower" if ratio > 1 else f"{1 / ratio:.2f}x faster"
