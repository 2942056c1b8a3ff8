"""The verdict of a check: three-valued, with its reason; inconclusive is never a pass."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from unittest import SkipTest

_PACKAGE = __name__.partition(".")[0]


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

    def __getattribute__(self, name: str) -> Any:
        # Reading the verdict is a judgement if the user's code does it. Printing a result is none: then this package reads it.
        if name == "verdict" and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            self._note("verdict")
        return super().__getattribute__(name)

    @property
    def judged_by(self) -> str | None:
        """How the user judged this result: ``"assert_holds"``, ``"assert_violated"``, ``"verdict"`` (it was read), or None."""
        found: str | None = self.__dict__.get("_judged_by")
        return found

    def forget_judgement(self) -> None:
        """Forget who has read the verdict so far: an observer, who did not judge."""
        self.__dict__.pop("_judged_by", None)

    def _note(self, how: str) -> None:
        self.__dict__.setdefault("_judged_by", how)  # not a field: a copy of a result was judged by nobody

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
        self._note("assert_holds")
        self._assert(Verdict.HOLDS)

    def assert_violated(self) -> None:
        """Return only if the claim is false: for a known limit that a test should notice the end of.

        Raises:
            ClaimViolated: the claim holds, so the limit is gone; the message is the headline.
            Inconclusive: it could not be decided.
        """
        __tracebackhide__ = True
        self._note("assert_violated")
        self._assert(Verdict.VIOLATED)

    def _assert(self, wanted: Verdict) -> None:
        __tracebackhide__ = True
        if self.verdict is Verdict.INCONCLUSIVE:
            raise Inconclusive(self.reason)
        if self.verdict is not wanted:
            raise ClaimViolated(self.headline())
