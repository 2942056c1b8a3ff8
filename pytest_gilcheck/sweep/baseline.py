"""The causes that a suite is known to have: a TOML file, with a reason each. Known ones pass, new ones fail, gone ones are told.

A cause is known by its lines of source, because their numbers change with each edit above them. It is known if an entry has all its
lines: one race may be found by another pair of the same lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .causes import SweepCause
from .swept import Swept

_TABLE = "known"
_HEADER = re.compile(rf"^\s*\[\[\s*{_TABLE}\s*\]\]")
_LINE_OF_ERROR = re.compile(r"at line (\d+)")
_LISTS = ("lines", "tests")


class BadBaseline(ValueError):
    """A file that is no baseline; the message names file and line."""


@dataclass(frozen=True)
class KnownCause:
    """One entry.

    Attributes:
        place: ``"file:line"`` of the entry.
        lines: of source, as `SweepCause.lines` gives them.
        tests: node ids of tests that meet it.
        reason: why it stays.
    """

    place: str
    lines: tuple[str, ...]
    tests: tuple[str, ...]
    reason: str

    def has(self, cause: SweepCause) -> bool:
        return set(cause.lines()) <= set(self.lines)


class Baseline:
    """A baseline file, read.

    Args:
        path: the file, as messages name it.
        text: its content.

    Raises:
        BadBaseline: it cannot be read as a baseline.
    """

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text.splitlines()
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = _LINE_OF_ERROR.search(str(error))
            raise BadBaseline(f"{path}:{at[1] if at else max(1, len(self._text))}: not TOML: {error}") from None
        headers = [number for number, line in enumerate(self._text, 1) if _HEADER.match(line)]
        for name in found:
            if name != _TABLE:
                raise BadBaseline(f"{path}:{self._line_of(name)}: {name!r} is not known: expected only [[{_TABLE}]] tables")
        entries = found.get(_TABLE, [])
        if not isinstance(entries, list) or len(headers) != len(entries):
            raise BadBaseline(f"{path}:{self._line_of(_TABLE)}: expected each cause as a [[{_TABLE}]] table")
        self.known = [self._entry(entry, line) for entry, line in zip(entries, headers, strict=True)]

    @classmethod
    def read(cls, path: Path, shown: str) -> Baseline:
        """The file at this path.

        Raises:
            BadBaseline: it cannot be read.
        """
        try:
            return cls(shown, path.read_text(encoding="utf-8"))
        except (OSError, UnicodeError) as error:
            raise BadBaseline(f"{shown}:1: it cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def _entry(self, entry: dict[str, Any], line: int) -> KnownCause:
        place = f"{self._path}:{line}"
        for name in entry:
            if name not in (*_LISTS, "reason"):
                raise BadBaseline(f"{place}: {name!r} is not known: expected {', '.join(_LISTS)} and reason")
        for name in _LISTS:
            value = entry.get(name)
            if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
                raise BadBaseline(f"{place}: {name} is missing or no list of texts: the sweep prints the entry of a new cause")
        reason = entry.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise BadBaseline(f"{place}: reason is missing: say why this cause stays")
        return KnownCause(place, tuple(entry["lines"]), tuple(entry["tests"]), reason)

    def check_tests(self, collected: Collection[str], files: Collection[str], root: Path) -> None:
        """Check that its tests exist, as far as this run has collected them.

        Args:
            collected: node ids, those that were deselected too.
            files: those of which every test was collected.
            root: the folder from which node ids are named.

        Raises:
            BadBaseline: a test does not exist.
        """
        for entry in self.known:
            for test in entry.tests:
                file = test.partition("::")[0]
                if test in collected or (file not in files and (root / file).is_file()):
                    continue
                after = int(entry.place.rpartition(":")[2])
                raise BadBaseline(f"{self._path}:{self._line_of(test, after)}: there is no test {test!r}: remove it, or its entry")

    def _line_of(self, text: str, after: int = 1) -> int:
        found = (number for number, line in enumerate(self._text, 1) if number >= after and text in line)
        return next(found, after)

    def knows(self, cause: SweepCause) -> KnownCause | None:
        """The entry of a cause; None for a new one."""
        return next((entry for entry in self.known if entry.has(cause)), None)

    def gone(self, causes: Sequence[SweepCause], tests: Sequence[Swept]) -> Iterator[KnownCause]:
        """The entries that no cause has met, although all their tests were swept."""
        decided = {test.test for test in tests if test.settled}
        for entry in self.known:
            if not any(entry.has(cause) for cause in causes) and decided.issuperset(entry.tests):
                yield entry


def entry_of(cause: SweepCause) -> list[str]:
    """The entry of a new cause, as lines to paste."""
    tests = sorted(test.test for test in cause.tests)
    return [
        f"[[{_TABLE}]]",
        f"lines = {_texts(cause.lines())}",
        f"tests = {_texts(tests)}",
        'reason = ""',
    ]


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in escaped) + '"'
