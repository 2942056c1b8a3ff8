"""The verdict of a check: three-valued, with its reason; inconclusive is never a pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from unittest import SkipTest


class Verdict(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class ClaimViolated(AssertionError):
    """The claim was shown to be false."""


class Inconclusive(SkipTest):
    """The claim could be neither shown nor refuted, here and now.

    Every test framework shows the standard library's ``SkipTest`` as a skip, wherever it was raised and without our help.
    """


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What every check returns, whatever else it measured.

    Attributes:
        verdict: holds, violated or inconclusive.
        reason: one line: what decided it, with its figures; for inconclusive, also what would help.
    """

    verdict: Verdict
    reason: str

    def headline(self) -> str:
        """The verdict and what it rests on, in a line or two; ``str(result)`` is the whole report."""
        return f"{self.verdict}: {self.reason}"

    def assert_holds(self) -> None:
        """Return only if the claim holds.

        Raises:
            ClaimViolated: it does not; the message is the headline.
            Inconclusive: it could not be decided.
        """
        __tracebackhide__ = True
        self._assert(Verdict.HOLDS)

    def assert_violated(self) -> None:
        """Return only if the claim is false: for a known limit that a test should notice the end of.

        Raises:
            ClaimViolated: the claim holds, so the limit is gone; the message is the headline.
            Inconclusive: it could not be decided.
        """
        __tracebackhide__ = True
        self._assert(Verdict.VIOLATED)

    def _assert(self, wanted: Verdict) -> None:
        __tracebackhide__ = True
        if self.verdict is Verdict.INCONCLUSIVE:
            raise Inconclusive(self.reason)
        if self.verdict is not wanted:
            raise ClaimViolated(self.headline())
