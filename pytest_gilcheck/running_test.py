"""The test that pytest runs now, for the object that a test imports: `plugin` knows it, and `calls` asks.

A module of its own, because the plugin must not import the checks in a run that uses none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runner import Runner

_sessions: list[Callable[[], Runner | None]] = []  # the innermost is the last: a test may run pytest in its process


def begins(runner_of_running_test: Callable[[], Runner | None]) -> Callable[[], None]:
    """A pytest session begins; returns what ends it."""
    _sessions.append(runner_of_running_test)
    return lambda: _sessions.remove(runner_of_running_test)


def runner() -> Runner | None:
    """The runner of the running test, whose evidence and judgement are the test's; None if pytest runs no test."""
    for of_session in reversed(_sessions):  # an inner session may have no test of its own: the test that made it runs
        if (found := of_session()) is not None:
            return found
    return None
