"""How the report of a failing check reads: at the user's line, with each line once, and with the command that runs it again; in a
terminal in few lines, with colours."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..core.evidence import Record
from ..settings import option
from .short_reports import HEADS, SECTION, STEP, SWITCH, cut

_PACKAGE = Path(__file__).parents[1]


def rerun_command(record: Record, item: pytest.Item) -> str | None:
    """The command that runs a check again, with the same schedule or the same seed where it has one; None for one that holds."""
    if record["verdict"] in ("holds", None):
        return None
    if record["token"]:
        return f"gilcheck replay {record['token']}"
    seed = record["figures"].get("seed")
    seeded = f" {option('seed')}={seed}" if seed is not None and record["figures"].get("seconds") else ""
    return f"pytest {shlex.quote(_from_here(item))}{seeded}"


def _from_here(item: pytest.Item) -> str:
    """The node id as pytest takes it in the folder in which it was started; pytest's own is relative to its root."""
    file, separator, rest = item.nodeid.partition("::")
    here = item.config.invocation_params.dir
    if here == item.config.rootpath:
        return item.nodeid
    return f"{os.path.relpath(item.config.rootpath / file, here)}{separator}{rest}"


def readable(report: pytest.TestReport, item: pytest.Item) -> None:
    """Make the report of a failure point at the test, and say each headline once.

    A check fails in our frames, which pytest would name as the place of the crash (``--tb=line``, the short summary).
    """
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and Path(crash.path).is_relative_to(_PACKAGE):
        crash.path, crash.lineno = str(item.path), (item.location[1] or 0) + 1
        crash.message = crash.message.removeprefix("Failed: ").removeprefix(f"{item.name}: ")
    shown = report.longreprtext
    report.sections = [(title, _without_first(text, shown) if title.endswith(SECTION) else text) for title, text in report.sections]


def _without_first(text: str, shown: str) -> str:
    """The text without its first lines, as far as the failure has shown them."""
    lines = text.splitlines(keepends=True)
    ends = [line.rstrip() for line in shown.splitlines()]  # of the lines: a name comes before the headline
    while lines and lines[0].strip() and any(line.endswith(lines[0].strip()) for line in ends):
        del lines[0]
    return "".join(lines) or text


_LANES = ("cyan", "purple", "blue", "green")  # threads of a story


class ShownReports:
    """What a terminal shows of a check that failed: a short report, and its schedule with a colour for each thread."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest shows failures, and after other plugins have written their files
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
        cut(terminalreporter)
        writer = terminalreporter._tw
        if writer.hasmarkup:
            for report in terminalreporter.stats.get("failed", []):
                report.sections = [
                    (title, coloured(text, writer.markup) if title.endswith(SECTION) else text) for title, text in report.sections
                ]
        return (yield)


def coloured(text: str, markup: Callable[..., str]) -> str:
    """The text with its story coloured; text without a story is returned as it is.

    Args:
        markup: returns a text with markup, which is given by name.
    """
    lines, lane = [], None
    inside = False
    for line in text.split("\n"):
        if HEADS.match(line):
            inside = True
        elif line.startswith("  ") and not line.startswith("    ") and not STEP.match(line):
            inside = False  # the lines that explain the story
        if not inside or not line.strip():
            lines.append(markup(line, bold=True) if line.startswith("  decided by") else line)
            continue
        if step := STEP.match(line):
            lane = _LANES[len(step[1]) // 8 % len(_LANES)]
        style = {"yellow": True, "bold": True} if SWITCH.match(line) else {"bold": True} if lane is None else {lane: True}
        lines.append(markup(line, **style))
    return "\n".join(lines)
