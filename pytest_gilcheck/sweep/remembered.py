"""What the last sweeps have found: its schedules are tried first in the next one, and a race that is no longer there is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .baseline import KnownCause
from .causes import SweepCause
from .swept import Swept

_WHERE = "the last sweep"
_MOST = 500  # causes


@dataclass(frozen=True)
class _OldCause:
    """A cause.

    Attributes:
        lines: of source, as `SweepCause.lines` gives them.
        tokens: by node id, what replays the failure of each test that a schedule broke; empty without one.
    """

    lines: tuple[str, ...]
    tokens: dict[str, str]

    @property
    def known(self) -> KnownCause:
        return KnownCause(_WHERE, self.lines, tuple(self.tokens), "")


class Remembered:
    """What the last sweeps have found.

    Args:
        stored: what `after` returned then; anything else counts as nothing.
    """

    def __init__(self, stored: object = None) -> None:
        try:
            entries: Any = stored
            self._found = [_OldCause(tuple(map(str, each["lines"])), _texts(each["tests"])) for each in entries]
        except (TypeError, KeyError, AttributeError):
            self._found = []

    def token(self, test: str) -> str:
        """What replays the last failure of a test; empty without one."""
        return next((each.tokens[test] for each in self._found if each.tokens.get(test)), "")

    def gone(self, causes: Sequence[SweepCause], tests: Sequence[Swept]) -> Iterator[str]:
        """The causes that no test meets any more, although something is claimed of all that a schedule broke: each as a line."""
        for each in self._gone(causes, tests):
            yield f"gone since {_WHERE}: no schedule breaks {', '.join(each.tokens)} at {' and '.join(each.lines)} any more"

    def _gone(self, causes: Sequence[SweepCause], tests: Sequence[Swept]) -> list[_OldCause]:
        decided = {test.test for test in tests if test.settled}
        return [
            each
            for each in self._found
            if decided.issuperset(each.tokens) and not any(each.known.has(cause) for cause in causes) and each.tokens
        ]

    def after(self, causes: Sequence[SweepCause], tests: Sequence[Swept]) -> list[dict[str, object]]:
        """What the next sweep has to know, as JSON can carry it: what was found, now and before, as far as it is not decided."""
        decided = {test.test for test in tests if test.settled}
        now = [
            _OldCause(cause.lines(), {test.test: test.failed.token for test in cause.tests if test.failed is not None})
            for cause in causes
        ]
        before = [
            _OldCause(each.lines, {test: token for test, token in each.tokens.items() if test not in decided})
            for each in self._found
        ]
        found = [*now, *(each for each in before if each.tokens)]
        return [{"lines": list(each.lines), "tests": each.tokens} for each in found[:_MOST]]


def _texts(tokens: Any) -> dict[str, str]:
    return {str(test): str(token) for test, token in tokens.items()}
