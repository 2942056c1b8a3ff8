"""The deadline of a check: one for all that it does, of which each phase gets a share."""

from __future__ import annotations

from collections.abc import Callable

from ..core.clocks import monotonic

OVERTIME = 0.1  # of the budget, for what makes a result of a failure that was found at the very end


class Deadline:
    """When a check must be over.

    Args:
        budget: seconds.
        begun: when they began, by the clock; None for now.
        now: the clock, in seconds.

    Attributes:
        until: the end of the budget, by that clock.
        unfinished: what was left undone because the time was over, in words.
    """

    def __init__(self, budget: float, *, begun: float | None = None, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self.budget = budget
        self.until = (now() if begun is None else begun) + budget
        self.unfinished: list[str] = []

    def end_of_search(self, more_follow: bool) -> float:
        """The end of the first search: half of what is left if more searches follow one that finds nothing."""
        now = self._now()
        return now + (self.until - now) / 2 if more_follow else self.until

    def share(self, of: float) -> float:
        """The end of a phase that may take this share of the budget: by the clock, within the budget and a tenth of it."""
        return min(self._now() + of * self.budget, self.until + OVERTIME * self.budget)

    def is_past(self, time: float) -> bool:
        return self._now() > time

    def left(self) -> float:
        """Seconds until the budget and a tenth of it are spent; 0 if they are."""
        return max(0.0, self.until + OVERTIME * self.budget - self._now())

    def gave_up(self, what: str) -> None:
        """Note that something was left undone because the time was over."""
        if what not in self.unfinished:
            self.unfinished.append(what)
