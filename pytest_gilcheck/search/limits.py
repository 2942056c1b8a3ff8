"""How long a search continues: until a time, or for a number of schedules.

A search that is limited by time enumerates what fits into the time that is left, by what each schedule has taken so far. A search
that is limited by count decides by counts alone, so the same seed runs the same schedules on every machine. It has a deadline as
well; if that comes first, the search is void, because another machine would have run more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from ..core.clocks import monotonic


class Limit(Protocol):
    """When a search is to end.

    Attributes:
        schedules: the number of schedules after which it ends; None if it ends by time.
        expired: whether a deadline came before that number.
    """

    schedules: int | None
    expired: bool

    def start(self, used: Callable[[], int]) -> None:
        """Begin to measure; ``used`` returns the number of schedules that the search has run."""

    def mark(self, share: float, least: int = 0) -> float:
        """The mark at which this share of what is left is used up; by count, it is ``least`` schedules away at least."""

    def reached(self, mark: float | None = None) -> bool:
        """Whether this mark has come; without a mark, whether the search is to end."""

    def allows(self, schedules: int, share: float, pace: float) -> bool:
        """Whether so many schedules will take no more than this share of what is left.

        Args:
            pace: seconds that each will take; 0 if that is not known.
        """

    def left(self) -> float:
        """Seconds that are left; without end by count."""


class TimeLimit:
    """Ends a search at the time ``until``, by the clock ``now``, in seconds."""

    schedules: int | None = None
    expired: bool = False

    def __init__(self, until: float, now: Callable[[], float] = monotonic) -> None:
        self._until, self._now, self._begun = until, now, now()
        self._used: Callable[[], int] = lambda: 0

    def start(self, used: Callable[[], int]) -> None:
        self._used, self._begun = used, self._now()

    def mark(self, share: float, least: int = 0) -> float:
        now = self._now()
        return now + share * (self._until - now)

    def reached(self, mark: float | None = None) -> bool:
        return self._now() > (self._until if mark is None else mark)

    def allows(self, schedules: int, share: float, pace: float) -> bool:
        now = self._now()
        so_far = (now - self._begun) / max(1, self._used())  # with those that were recorded, which take several times as long
        return schedules * min(so_far, pace or so_far) <= share * (self._until - now)

    def left(self) -> float:
        return self._until - self._now()


class CountLimit:
    """Ends a search after a number of schedules; at the time ``until`` it has expired.

    Args:
        schedules: how many.
        until: by the clock ``now``, in seconds.
    """

    def __init__(self, schedules: int, until: float, now: Callable[[], float] = monotonic) -> None:
        self.schedules: int | None = schedules
        self.expired = False
        self._most, self._until, self._now = schedules, until, now
        self._used: Callable[[], int] = lambda: 0

    def start(self, used: Callable[[], int]) -> None:
        self._used = used

    def mark(self, share: float, least: int = 0) -> float:
        used = self._used()
        left = self._most - used
        return used + max(int(share * left), min(least, left))

    def reached(self, mark: float | None = None) -> bool:
        if self._used() >= (self._most if mark is None else mark):
            return True
        self.expired = self.expired or self._now() > self._until
        return self.expired

    def allows(self, schedules: int, share: float, pace: float) -> bool:
        return schedules <= share * (self._most - self._used())

    def left(self) -> float:
        return math.inf


def limited(until: float, schedules: int | None) -> Limit:
    """A limit by count if there is a number of schedules, otherwise by time; ``until`` is by ``time.monotonic``."""
    return TimeLimit(until, monotonic) if schedules is None else CountLimit(schedules, until, monotonic)
