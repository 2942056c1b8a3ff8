"""The verdict of a check (holds, violated or inconclusive) with its reason; an inconclusive check never counts as passed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from unittest import SkipTest

from .codes import UNDECIDED, help_line


class Verdict(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


class ClaimViolated(AssertionError):
    """The check has shown that the claim is false, or for `Judged.assert_violated` that it holds."""


class Inconclusive(SkipTest):
    """The check could decide neither that the claim holds nor that it is violated.

    A subclass of the standard library's ``SkipTest``: every test framework shows that as a skip, wherever it is raised.
    """


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The base class of the results of all checks.

    Attributes:
        conclusion: holds, violated or inconclusive, for code that shows or copies results: to read it judges nothing.
        reason: one line: what decided the verdict, with the figures; if inconclusive, also what to do about it.
        distorted: whether a tracer or profiler decided it, which the reason names.
    """

    conclusion: Verdict
    reason: str
    distorted: bool = False

    @property
    def verdict(self) -> Verdict:
        """Holds, violated or inconclusive. Whoever reads it judges the result, and decides what becomes of the test.

        It is no field, because what prints, compares or copies a dataclass reads all fields, and judges nothing.
        """
        self._record_judgement("verdict")
        return self.conclusion

    @property
    def judged_by(self) -> str | None:
        """How the user judged this result: ``"assert_holds"``, ``"assert_violated"``, ``"verdict"`` (it was read), or None."""
        judged_by: str | None = self.__dict__.get("_judged_by")
        return judged_by

    @property
    def raised_by(self) -> str | None:
        """The assertion that raised, if no other judgement followed. Where its test passes all the same, nobody has heard it: a
        thread or a finalizer has lost the exception, or an ``except`` has caught it."""
        raised_by: str | None = self.__dict__.get("_raised_by")
        return raised_by

    def forget_judgement(self) -> None:
        """Forget that the verdict was read: by the check itself or by a hook, and not by the test."""
        self.__dict__.pop("_judged_by", None)

    def _record_judgement(self, judged_by: str) -> None:
        self.__dict__.pop("_raised_by", None)
        self.__dict__.setdefault("_judged_by", judged_by)  # not a field: a copy of a result has not been judged

    @property
    def code(self) -> str:
        """The code of the finding, such as ``"GC101"``, which ``gilcheck explain`` explains; empty if the claim holds."""
        if self.conclusion is Verdict.HOLDS:
            return ""
        return self.finding() or (UNDECIDED if self.conclusion is Verdict.INCONCLUSIVE else "")

    def finding(self) -> str:
        """The code of what was found by a check that does not hold; empty for an undecided check without a known cause."""
        return ""

    def headline(self) -> str:
        """Return the verdict and its reason in one or two lines; ``str(result)`` is the whole report."""
        return f"{self.conclusion}: {self.reason}"

    def message(self) -> str:
        """Return the headline and where its finding is explained: what a failing test says."""
        return "\n  ".join(filter(None, (self.headline(), help_line(self.code))))

    def assert_holds(self) -> None:
        """Return only if the claim holds.

        Raises:
            ClaimViolated: the claim is violated; the message is the headline, with the code of the finding.
            Inconclusive: the check could not decide the claim.
        """
        __tracebackhide__ = True
        self._assert(Verdict.HOLDS, "assert_holds")

    def assert_violated(self) -> None:
        """Return only if the claim is violated: for a known limitation, whose removal then fails the test.

        Raises:
            ClaimViolated: the claim holds; the message is the headline.
            Inconclusive: the check could not decide the claim.
        """
        __tracebackhide__ = True
        self._assert(Verdict.VIOLATED, "assert_violated")

    def _assert(self, expected: Verdict, judged_by: str) -> None:
        __tracebackhide__ = True
        if self.conclusion is expected:
            self._record_judgement(judged_by)
            return
        self.forget_judgement()
        self.__dict__["_raised_by"] = judged_by
        if self.conclusion is Verdict.INCONCLUSIVE:
            raise Inconclusive(self.reason)
        raise ClaimViolated(self.message())
