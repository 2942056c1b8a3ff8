"""Makes text from evidence files safe to show: the name of a test or the message of an exception may contain anything."""

from __future__ import annotations

import re
import unicodedata

_CONTROLS = re.compile(
    # a terminal's commands, whole; each begins with ESC and a character, or with the one C1 character that stands for both
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    # DCS, SOS, OSC, PM and APC are strings up to a terminator; without one, the text after them stays, as text
    "|(?:\x1b[PX\\]^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c))?"
    "|\x1b[ -/]*[0-~]?"  # all others
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # C0 without tab and newline, C1
    "|[\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]"  # characters that change the direction of text
    "|[\u200b\u2060\ufeff]"  # characters without a width
    "|[\ud800-\udfff]"  # lone surrogates
)


def clean(value: object) -> str:
    """Return the text without escape sequences, controls other than tab and newline, and characters that change its direction."""
    return _CONTROLS.sub("", str(value))


def one_line(value: object, width: int | None = None) -> str:
    """Return the text on one line, cut at ``width`` columns; None does not cut it."""
    text = " ".join(clean(value).split())
    if width is None or columns(text) <= width:
        return text
    return f"{_beginning(text, width - 1)}\u2026"


def name_of_test(subject: str, width: int) -> str:
    """Return the name of a test in at most ``width`` columns, cut at its beginning: the end of a name tells tests apart."""
    text = one_line(subject)
    return text if columns(text) <= width else f"\u2026{_beginning(text[::-1], width - 1)[::-1]}"


def columns(text: str) -> int:
    """Return the number of terminal columns of a text: wide East Asian characters take two, combining characters none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def padded(text: str, width: int) -> str:
    """Return the text, followed by spaces up to ``width`` columns."""
    return text + " " * (width - columns(text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return lines of at most ``width`` columns. All but the first begin with ``indent``; a word longer than a line is cut."""
    lines: list[str] = []
    line = ""
    for word in one_line(text).split():
        longer = f"{line} {word}" if line else (indent if lines else "") + word
        if columns(longer) > width and line:
            lines.append(line)
            longer = indent + word
        while columns(longer) > width and (part := _beginning(longer, width)) and part.strip():
            lines.append(part)
            longer = indent + longer[len(part) :]
        line = longer
    return [*lines, line] if line else lines


def _beginning(text: str, width: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _columns_of(character)
        if used > width:
            return text[:position]
    return text


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
