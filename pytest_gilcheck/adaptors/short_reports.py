"""What of a long report the terminal shows: the lines that decide, and of the others as many as fit.

Only what the terminal shows is cut: other plugins have written their files then. The evidence file has the whole text of a check,
and a file in pytest's own cache that and the captured output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

LIMIT = 40  # lines of one report
VERBOSE = 2  # from this verbosity on, nothing is cut
SECTION = "gilcheck call"  # what a check reports beside the failure
STEP = re.compile(r" {0,4}\d+  ( *)\S")  # a line of source in a story
SWITCH = re.compile(r" +-- T\d+ .* --$")
HEADS = re.compile(r" +T0( +T\d+)+$")

_FIRST = 12  # lines of what a check says beside its story that are never cut, such as the table of a deadlock
_SWITCHES = 5  # around which the steps are never cut, preemptions first
_DECIDES = ("  decided by ", "       before T", "  rerun: ", "  replay: ", "  not isolated: ", "  in a pytest of its own: ")
_LAST_OUTPUT = 6  # lines of captured output, before the failure, that are as important as the rest of a story
_PLACE = re.compile(r"[^\s/\\]+:\d+(?= \()")  # the file and line of a step
_GAP = "      ..."
_OF_CATEGORIES = {"failed": "", "error": "", "passed": "P", "xpassed": "X", "xfailed": "x"}  # by the letter of -r that shows them

Sections = list[tuple[str, str]]  # of a report: titles and texts


def cut(terminalreporter: pytest.TerminalReporter) -> None:
    """Cut the reports that the terminal is going to show of tests that use a check, and keep the whole ones in pytest's cache."""
    config = terminalreporter.config
    option = config.option
    if config.get_verbosity() >= VERBOSE or option.tbstyle in ("no", "line"):
        return
    found: list[tuple[Any, Sections, int]] = []
    for category, letter in _OF_CATEGORIES.items():
        for report in terminalreporter.stats.get(category, ()) if not letter or terminalreporter.hasopt(letter) else ():
            shown = [each for each in getattr(report, "sections", ()) if option.showcapture in ("all", *each[0].split())]
            if any(title.endswith(SECTION) for title, _ in shown):
                shorter, left_out = shortened(shown, LIMIT - 1 - len(report.longreprtext.splitlines()))
                found += [(report, shorter, left_out)] * (left_out > 0)
    where = _kept(config, "\n".join(_whole(report) for report, *_ in found)) if found else ""
    for report, shorter, left_out in found:
        title, text = shorter[-1]
        report.sections = [*shorter[:-1], (title, f"{text}\n  ... {left_out} more lines ({where})")]


def _whole(report: Any) -> str:
    parts = [report.nodeid, report.longreprtext, *(part for title, text in report.sections for part in (f"--- {title} ---", text))]
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


def _kept(config: pytest.Config, text: str) -> str:
    """Keep a text where pytest keeps things; where it is now, in words."""
    if (cache := getattr(config, "cache", None)) is not None:
        try:
            file: Path = cache.mkdir("gilcheck") / "reports.txt"
            file.write_text(text, encoding="utf-8", errors="replace")
        except OSError:
            pass
        else:
            here = config.invocation_params.dir
            return f"full report in {file.relative_to(here) if file.is_relative_to(here) else file}, or with -vv"
    return "full report with -vv, or in --gilcheck-json=FILE"


@dataclass(frozen=True)
class _Line:
    """A line of a section. Those of the lowest rank are shown first, and those of the rank 0 always."""

    section: int
    number: int
    text: str
    rank: tuple[int, int]


def shortened(sections: Sections, room: int) -> tuple[Sections, int]:
    """The sections of a report in so many lines, their titles included; and how many lines are left out.

    In a report that is cut, what the checks say comes first. What decides stays, however little room there is: the table of a
    deadlock, the steps on both sides of each preemption, the pair whose order decides, and how to run it again.
    """
    if sum(len(text.rstrip("\n").split("\n")) + 1 for _, text in sections) <= room:
        return sections, 0
    sections = sorted(sections, key=lambda each: not each[0].endswith(SECTION))
    lines = list(_lines(sections))
    in_turn = sorted(lines, key=lambda line: line.rank)
    decide = sum(line.rank[0] == 0 for line in lines)
    count = max(decide, min(room, len(lines)))
    while count > decide and _height(in_turn[:count]) > room:
        count -= 1
    kept = set(in_turn[:count])
    texts = [_with_gaps([line for line in lines if line.section == section], kept) for section in range(len(sections))]
    return [(title, text) for (title, _), text in zip(sections, texts, strict=True) if text], len(lines) - count


def _height(lines: list[_Line]) -> int:
    """How many lines these take, with the titles and the gaps."""
    places = sorted((line.section, line.number) for line in lines)
    gaps = sum(one == other and after - before > 1 for (one, before), (other, after) in pairwise(places))
    return len(places) + gaps + len({section for section, _ in places})


def _with_gaps(lines: list[_Line], kept: set[_Line]) -> str:
    texts: list[str] = []
    for line in lines:
        if line in kept:
            texts.append(line.text)
        elif texts and texts[-1] != _GAP:
            texts.append(_GAP)
    return "\n".join(texts[:-1] if texts[-1:] == [_GAP] else texts)


def _lines(sections: Sections) -> Iterator[_Line]:
    """All lines, with their ranks."""
    of_checks = [index for index, (title, _) in enumerate(sections) if title.endswith(SECTION)]
    shown = [index for index in of_checks if sections[index][1].startswith(" ")]  # without the headline, which the failure has
    told = (shown or of_checks)[-1]
    for index, (_, text) in enumerate(sections):
        texts = text.rstrip("\n").split("\n")
        ranks = _ranks(texts) if index == told else _ranks_of_other(texts, output=index not in of_checks)
        yield from (_Line(index, number, *each) for number, each in enumerate(zip(texts, ranks, strict=True)))


def _ranks_of_other(texts: list[str], *, output: bool) -> list[tuple[int, int]]:
    """The ranks of captured output, or of another check of the test: its end counts, or its headline."""
    if not output:
        return [(3 if number else 2, number) for number in range(len(texts))]
    return [(1 if before_end < _LAST_OUTPUT else 2, before_end) for before_end in reversed(range(len(texts)))]


def _ranks(texts: list[str]) -> list[tuple[int, int]]:
    """The ranks of the lines in which a check says what decided it."""
    steps = _steps(texts)
    switches = {steps[number]: "is preempted" in text for number, text in enumerate(texts) if SWITCH.match(text) and steps[number]}
    first = sorted(switches, key=lambda switch: (not switches[switch], switch))[:_SWITCHES]
    around = {step for switch in first for step in (switch - 1, switch, switch + 1)}
    pair = tuple(place for text in texts if text.startswith(_DECIDES[:2]) for place in _PLACE.findall(text))
    deciding = {step for text, step in zip(texts, steps, strict=True) if step and pair and text.endswith(pair)}
    ranks, besides = [], 0
    for text, step in zip(texts, steps, strict=True):
        if step:
            near = -1 if HEADS.match(text) else min((abs(step - switch) for switch in switches), default=step)
            ranks.append((0 if step in around or near < 0 else 1, 0 if step in deciding else near))
        else:
            ranks.append((0 if besides < _FIRST or text.startswith(_DECIDES) else 1, besides))
            besides += 1
    return ranks


def _steps(texts: list[str]) -> list[int]:
    """The number of the step or switch of the story that each line belongs to, from 1 on; 0 for a line outside of it."""
    steps, last = [], 0
    for text in texts:
        note = last > 0 and text.startswith(" " * 8) and not STEP.match(text)
        if HEADS.match(text) or (last and (STEP.match(text) or SWITCH.match(text) or text == _GAP)):
            last += 1
        elif not note:
            last = 0
        steps.append(last)
    return steps
