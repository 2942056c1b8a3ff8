"""The summary of a run for the terminal: one line for each check, followed by the cause or reason where it does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..core.durations import seconds
from ..core.evidence import Record
from .clean import name_of_test, one_line, wrapped
from .matrix import label_of
from .words import WORST_FIRST, number, short_claim, short_figure

COLOURS = {"violated": "red", "inconclusive": "yellow", "holds": "green"}
_VERDICT, _FIGURE = 12, 9  # columns, at least
_NAME = 12  # columns for the name of a test, at least
_INDENT = 2
_REASONS = 3  # of processes, that are listed
_WIDE = 80  # columns from which the claims are shown
_MANY = 100  # with more checks than this, those that hold are counted and not listed


@dataclass(frozen=True)
class SummaryLine:
    """A line of the summary. ``verdict`` is its first word, for colouring; None for a line that continues another."""

    verdict: str | None
    text: str


def summary_title(records: Iterable[Record]) -> str:
    """Return the title of the summary: ``gilcheck: 3 holds, 1 inconclusive in 4.2 s``."""
    records = list(records)
    spent = sum(number(record["figures"], "seconds") or 0.0 for record in records)
    verdicts = Counter(record["verdict"] or "measured" for record in records)
    counted = [f"{verdicts[verdict]} {verdict}" for verdict in (*WORST_FIRST, "measured") if verdicts[verdict]]
    return f"gilcheck: {', '.join(counted)}" + (f" in {seconds(spent)}" if spent else "")


def summary(records: Sequence[Record], *, width: int = 80, verbose: bool = False) -> list[SummaryLine]:
    """Return the lines of the summary: verdict, check, figure and test, then the cause or reason of a check that does not hold.

    Args:
        width: columns of the terminal; no line is longer, down to a width of 60.
        verbose: list every check with its whole reason. Otherwise checks that hold have no reason, reasons are cut after two lines,
            and of more than a hundred checks only those that do not hold are listed.
    """
    checks = max((len(record["check"]) for record in records), default=0)
    lines = []
    holding = [record for record in records if record["verdict"] in ("holds", None)]
    if not verbose and len(records) > _MANY and holding:
        records = [record for record in records if record["verdict"] not in ("holds", None)]
        lines.append(SummaryLine(None, f"{len(holding)} checks that hold are not listed; -v lists them"))
    pythons = [label_of(record["interpreter"]) for record in records]
    several = max(map(len, pythons), default=0) + 1 if len(set(pythons)) > 1 else 0
    figures = max([_FIGURE, *(len(short_figure(record)) for record in records)])
    claims = max((len(short_claim(record)) for record in records), default=0)
    claims = claims + 2 if claims and width >= _WIDE else 0
    for record, python in zip(records, pythons, strict=True):
        verdict = record["verdict"] or "measured"
        name = record["subject"] if record["number"] == 1 else f"{record['subject']} #{record['number']}"
        head = f"{verdict:{_VERDICT}} {python if several else '':{several}}"
        head += f"{one_line(record['check'], checks):{checks}} {short_figure(record):>{figures}}  "
        head += f"{short_claim(record):{claims}}" if claims else ""
        lines.append(SummaryLine(verdict, head + name_of_test(name, max(_NAME, width - len(head)))))
        if verbose or verdict not in ("holds", "measured"):
            lines += [SummaryLine(None, text) for text in _explanation(record, width, None if verbose else 2)]
    return lines


def spawned(records: Iterable[Record]) -> list[str]:
    """Why some tests ran in a pytest of their own, which takes longer than a fork: a line for each reason, the commonest first."""
    tests = {record["subject"]: str(record["details"]["spawned"]) for record in records if record["details"].get("spawned")}
    reasons = Counter(tests.values())
    lines = [
        f"{number} test{'s' if number > 1 else ''} ran in a pytest of {'their' if number > 1 else 'its'} own: {reason}"
        for reason, number in reasons.most_common(_REASONS)
    ]
    more = len(reasons) - len(lines)
    return [*lines, *([f"(and for {more} other reasons)"] if more > 0 else [])]


def _explanation(record: Record, width: int, most: int | None) -> list[str]:
    figures = record["figures"]
    cause = None if record["verdict"] == "inconclusive" else figures.get("diagnosis")
    text = record["reason"] if most is None and not cause else cause or record["reason"]
    if most is None and cause:
        text = f"{record['reason']}; cause: {cause}"
    if code := record.get("code"):
        text = f"{one_line(code, 8)} {text}"
    if most is None and (spent := number(figures, "seconds")):
        text = f"{text}; took {seconds(spent)}"
    room = max(20, width - _INDENT)
    lines = wrapped(text, room)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], one_line(" ".join(lines[most - 1 :]), room)]
    return [" " * _INDENT + line for line in lines]
