"""A schedule, followed again and again."""

from __future__ import annotations

from collections.abc import Callable

from ..engine.outcome import Failure
from ..engine.schedule import Schedule
from .strategy import Steps, Strategy, following


class Replays(Strategy):
    """Follows a schedule once, and more often if there is time.

    Args:
        most: how often at most.
        over: whether no time is left.

    Attributes:
        failures: how it failed each time; None where it passed.
    """

    def __init__(self, schedule: Schedule, most: int, over: Callable[[], bool]) -> None:
        super().__init__()
        self._schedule, self._most, self._over = schedule, most, over
        self.failures: list[Failure | None] = []

    def _search(self) -> Steps[None]:
        while len(self.failures) < self._most and not (self.failures and self._over()):
            self.failures.append((yield following(self._schedule)).failure)
