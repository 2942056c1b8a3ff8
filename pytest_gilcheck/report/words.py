"""Figures in words: the one that a check is about, and its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..checks import CHECKS, MainFigure
from ..core.durations import seconds
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


def _figure(record: Record) -> MainFigure | None:
    """What the check is about, by what the record claims."""
    if (check := CHECKS.get(record["check"])) is None:
        return None
    other = check.figure.otherwise
    if other is not None and _limit(record, check.figure) is None and _limit(record, other) is not None:
        return other
    return check.figure


def _limit(record: Record, figure: MainFigure) -> float | None:
    return number({**record["claim"], **record["figures"]}, figure.limit)


def main_figure(record: Record) -> tuple[str, float, str] | None:
    """The figure that the check is about: its name, value and unit ("times", "s" or "1"); None if there is none."""
    if (figure := _figure(record)) is None:
        return None
    known = [(value, name) for name in figure.names if (value := number(record["figures"], name)) is not None]
    if not known:
        return None
    value, name = max(known)
    return name, value, figure.unit


def short_figure(record: Record) -> str:
    """The figure that explains the verdict: ``1.87x``, ``> 0.92 s``, ``1,024 runs``; a failure's kind; ``-``.

    The bound of a speedup that refutes the claim stands in the place of the speedup that was read.
    """
    found, figure = main_figure(record), _figure(record)
    if figure is not None and figure.beyond and (least := number(record["figures"], figure.beyond)) is not None:
        return f"> {seconds(least)}"
    if figure is not None and figure.instead and (text := record["figures"].get(figure.instead)):
        return one_line(text, 16)
    if found is None or figure is None:
        return "-"
    _, value, unit = found
    if unit == "times":
        high = bounds(record)[1]
        shown_limit = record["verdict"] == "violated" and high is not None and high < value
        return f"<= {high:.2f}x" if shown_limit else f"{value:.2f}x"
    return seconds(value) if unit == "s" else f"{value:,.0f} {figure.noun}"


def short_claim(record: Record) -> str:
    """The limit that the main figure is compared with, short: ``claim: >= 0.80x``; empty for a claim without a number."""
    figure = _figure(record)
    limit = None if figure is None else _limit(record, figure)
    if figure is None or limit is None:
        return ""
    shown = f"{limit:.2f}x" if figure.unit == "times" else seconds(limit)
    return f"claim: {'>=' if figure.at_least else '<='} {shown}"


def bounds(record: Record) -> tuple[float | None, float | None]:
    """What bounds the main figure, low and high; None where nothing does."""
    figure = _figure(record)
    if figure is None or not figure.bounds:
        return None, None
    low, high = figure.bounds
    return number(record["figures"], low), number(record["figures"], high)


def interval(record: Record) -> str:
    """The interval of the main figure, ``1.71 to 1.93``; empty where nothing bounds it."""
    low, high = bounds(record)
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {low:.2f}"
    return f"at most {high:.2f}" if not low else f"{low:.2f} to {high:.2f}"


def slower(ratio: float) -> str:
    """``1.26x slower``, ``1.10x faster``, ``the same``."""
    if 0.995 <= ratio <= 1.005:
        return "the same"
    return f"{ratio:.2f}x slower" if ratio > 1 else f"{1 / ratio:.2f}x faster"
