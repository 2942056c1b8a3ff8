"""The summary of a run on a terminal: one table, a line for each check, and below it why, where it does not simply hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..core.evidence import Record
from .clean import name_of_test, one_line, wrapped
from .matrix import label_of
from .words import WORST_FIRST, short_figure

COLOURS = {"violated": "red", "inconclusive": "yellow", "holds": "green"}
_VERDICT, _FIGURE = 12, 12  # columns, at least
_NAME = 12  # columns that a test's name gets, at least
_INDENT = 2
_MANY = 100  # checks from which those that hold are only counted


@dataclass(frozen=True)
class Line:
    """A line of the summary, and the verdict that its first word is; None for a line that goes on."""

    verdict: str | None
    text: str


def summary_title(records: Iterable[Record]) -> str:
    """``gilcheck: 3 holds, 1 inconclusive``."""
    verdicts = Counter(record["verdict"] or "measured" for record in records)
    counted = [f"{verdicts[verdict]} {verdict}" for verdict in (*WORST_FIRST, "measured") if verdicts[verdict]]
    return f"gilcheck: {', '.join(counted)}"


def summary(records: Sequence[Record], *, width: int = 80, verbose: bool = False) -> list[Line]:
    """The table: verdict, check, figure and test; below, for what does not hold, the cause or the reason. Of very many checks only
    those that do not hold, unless verbose.

    Args:
        width: columns of the terminal; no line is longer, down to 60.
        verbose: the reason of every check, whole; otherwise of those that do not hold, in two lines at most.
    """
    checks = max((len(record["check"]) for record in records), default=0)
    lines = []
    good = [record for record in records if record["verdict"] in ("holds", None)]
    if not verbose and len(records) > _MANY and good:
        records = [record for record in records if record["verdict"] not in ("holds", None)]
        lines.append(Line(None, f"{len(good)} that hold are not listed; -v lists them"))
    pythons = [label_of(record["interpreter"]) for record in records]
    several = max(map(len, pythons), default=0) + 1 if len(set(pythons)) > 1 else 0
    figures = max([_FIGURE, *(len(short_figure(record)) for record in records)])
    for record, python in zip(records, pythons, strict=True):
        verdict = record["verdict"] or "measured"
        name = record["subject"] if record["number"] == 1 else f"{record['subject']} #{record['number']}"
        head = f"{verdict:{_VERDICT}} {python if several else '':{several}}"
        head += f"{one_line(record['check'], checks):{checks}} {short_figure(record):>{figures}}  "
        lines.append(Line(verdict, head + name_of_test(name, max(_NAME, width - len(head)))))
        if verbose or verdict not in ("holds", "measured"):
            lines += [Line(None, part) for part in _why(record, width, None if verbose else 2)]
    return lines


def _why(record: Record, width: int, most: int | None) -> list[str]:
    figures = record["figures"]
    cause = None if record["verdict"] == "inconclusive" else figures.get("diagnosis")
    words = record["reason"] if most is None and not cause else cause or record["reason"]
    if most is None and cause:
        words = f"{record['reason']}; cause: {cause}"
    room = max(20, width - _INDENT)
    lines = wrapped(words, room)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], one_line(" ".join(lines[most - 1 :]), room)]
    return [" " * _INDENT + line for line in lines]
