"""Text that others wrote, made safe to show: evidence comes from files, and a test's name may hold anything."""

from __future__ import annotations

import re

_CONTROLS = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # a terminal's own commands, whole
    "|\x1b[@-_][^\x07\x1b]*(?:\x07|\x1b\\\\)?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # C0 without tab and newline, C1
    "|[\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]"  # which turn the direction of a line round
    "|[\ud800-\udfff]"  # half a character
)


def clean(value: object) -> str:
    """The text without what a terminal, or the direction of a line, would obey."""
    return _CONTROLS.sub("", str(value))


def one_line(value: object, width: int | None = None) -> str:
    """The text on one line, cut at ``width`` columns."""
    text = " ".join(clean(value).split())
    return text if width is None or len(text) <= width else f"{text[: max(0, width - 1)]}\u2026"


def name_of_test(subject: str, width: int) -> str:
    """A test's name in so many columns: its end says more than its beginning."""
    text = one_line(subject)
    return text if len(text) <= width else f"\u2026{text[len(text) - width + 1 :]}"
