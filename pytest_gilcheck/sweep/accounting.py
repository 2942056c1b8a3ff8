"""What a sweep has done with each test, and what it has found: as lines for a reader. Nothing is left out silently."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core.origin import of_user
from ..fuzz.explaining.rows import SourceRow, SwitchRow

_DECIDING = re.compile(r"^ +(?:decided by|before) .* at (\S+:\d+) \(", re.MULTILINE)
_WAITING = re.compile(r"^ +at +(\S+:\d+) \(", re.MULTILINE)
_TEST_FILE = re.compile(r"^(test_.*|.*_test|conftest)\.py$")
_MOST_TESTS = 3  # that are named for a cause
_REASONS = 12  # that are listed


class SweepOutcome(StrEnum):
    """What became of one test in a sweep."""

    NOTHING = "shares nothing that was seen"
    HOLDS = "no schedule breaks it"
    BROKEN = "broken by a schedule"
    CUT_SHORT = "cut short"
    NOT_REPEATABLE = "not repeatable"
    REFUSED = "refused"
    LEFT_OUT = "left out"


_CLAIMS = (SweepOutcome.NOTHING, SweepOutcome.HOLDS, SweepOutcome.BROKEN)
_WITH_REASONS = (SweepOutcome.CUT_SHORT, SweepOutcome.NOT_REPEATABLE, SweepOutcome.REFUSED, SweepOutcome.LEFT_OUT)


@dataclass
class Swept:
    """One test in a sweep.

    Attributes:
        test: its node id.
        outcome: what became of it.
        reason: why, in words.
        threads: whether it ran as it is, because it starts threads.
        story: of a failure.
        token: likewise.
        cause: of a failure: the lines that decide, or else how it fails.
    """

    test: str
    outcome: str
    reason: str = ""
    threads: bool = False
    story: str = ""
    token: str = ""
    cause: Sequence[str] = ()

    def packed(self) -> dict[str, Any]:
        """As what a report of pytest can carry to another process."""
        return vars(self) | {"outcome": f"{self.outcome}", "cause": [*map(str, self.cause)]}

    @property
    def whose(self) -> str:
        """In whose code the cause is."""
        files = [place.rpartition(":")[0] for place in self.cause]
        users = [file for file in files if os.path.isabs(file) and of_user(file)]
        if any(not _TEST_FILE.match(os.path.basename(file)) for file in users):
            return "in your package"
        return "in the tests" if users or not any(map(os.path.isabs, files)) else "in a dependency"


def cause_of(story: str, rows: Iterable[SourceRow | SwitchRow]) -> list[str]:
    """The lines whose order decides, or where threads wait for each other; else where a thread was preempted first."""
    found = _DECIDING.findall(story) or _WAITING.findall(story)
    before: SourceRow | SwitchRow | None = None
    for row in rows:
        if not found and isinstance(row, SwitchRow) and row.preempts and isinstance(before, SourceRow):
            found = [f"{before.file}:{before.line}"]
        before = row
    return sorted(set(found[:2]))


class SweepAccount:
    """All tests of a sweep."""

    def __init__(self) -> None:
        self._tests: list[Swept] = []

    def add(self, test: Swept) -> None:
        self._tests.append(test)

    @property
    def fails(self) -> bool:
        """Whether a cause is in the user's package."""
        return any(test.whose == "in your package" for test in self._of(SweepOutcome.BROKEN))

    def lines(self) -> Iterable[str]:
        """How many tests were swept and what became of the others; then each cause."""
        counts = Counter(test.outcome for test in self._tests)
        swept, threads = sum(counts[each] for each in _CLAIMS), sum(test.threads for test in self._tests)
        causes: dict[tuple[str, ...], list[Swept]] = {}
        for test in self._of(SweepOutcome.BROKEN):
            causes.setdefault(tuple(test.cause) or (test.reason.partition(";")[0],), []).append(test)
        yield f"{swept} of {len(self._tests)} tests swept, {threads} of them with threads of their own"
        for outcome in SweepOutcome:
            if counts[outcome]:
                found = f", by {len(causes)} cause{'s' * (len(causes) != 1)}" if outcome is SweepOutcome.BROKEN else ""
                yield f"{counts[outcome]:>5} {outcome}{found}"
                yield from self._reasons(outcome) if outcome in _WITH_REASONS else ()
        for tests in causes.values():
            yield from _told(tests)

    def _of(self, outcome: SweepOutcome) -> list[Swept]:
        return [test for test in self._tests if test.outcome == outcome]

    def _reasons(self, outcome: SweepOutcome) -> Iterable[str]:
        reasons: dict[str, list[Swept]] = {}
        for test in self._of(outcome):
            reasons.setdefault(test.reason.partition(" at /")[0], []).append(test)
        listed = sorted(reasons.items(), key=lambda each: -len(each[1]))
        for reason, tests in listed[:_REASONS]:
            yield f"{len(tests):>9} {reason} ({tests[0].test}{', ...' * (len(tests) > 1)})"
        if len(listed) > _REASONS:
            yield f"{'':>9} and {len(listed) - _REASONS} other reasons"


def _told(tests: Sequence[Swept]) -> Iterable[str]:
    """One cause, with the tests that meet it, and the smallest schedule."""
    shown = min(tests, key=lambda test: len(test.story))
    names = ", ".join(test.test for test in tests[:_MOST_TESTS]) + ", ..." * (len(tests) > _MOST_TESTS)
    yield ""
    yield f"cause {shown.whose}: {' and '.join(shown.cause) or 'not known'}"
    yield f"  met by {len(tests)} test{'s' * (len(tests) > 1)}: {names}"
    yield f"  {shown.reason}"
    yield from shown.story.splitlines()
    how = "threads=1, fixtures='own'" if shown.threads else "fixtures='own'"
    replay = f", replay={shown.token!r}" if shown.token else ""
    yield f"  to run it again: @pytest.mark.gil_fuzz({how}{replay})"
