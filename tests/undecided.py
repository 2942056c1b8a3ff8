"""The one way for a test to say that it could decide nothing here, so that undecided tests are counted and not taken for passed."""

from typing import NoReturn

import pytest

PREFIX = "undecided: "  # of the skip reason; the share of such skips in a session is limited
PREFIXES = (PREFIX, "inconclusive: ")  # the second is of our own plugin, where `assert_holds` or `assert_violated` could not tell


def undecided(reason: str) -> NoReturn:
    """Skip the test, because this run could not decide what the test asks.

    Args:
        reason: what could not be decided and why, for instance the reason of an inconclusive check.
    """
    __tracebackhide__ = True
    pytest.skip(f"{PREFIX}{' '.join(reason.split())}")


def decided(result, *outcomes: str):
    """The result of an interrupt check that decided something; otherwise the test is undecided.

    A lost signal decides nothing about our check, however often it was seen: the interpreter itself can lose one that arrives just
    before a wait, and a busy machine stretches that moment.

    Args:
        result: what the check returned.
        outcomes: what the test expects to go wrong with a signal.
    """
    __tracebackhide__ = True
    if result.verdict == "inconclusive" or (str(result.outcome) == "lost" and "lost" not in outcomes):
        undecided(result.reason)
    return result


def expect(result, verdict: str) -> None:
    """Assert that a check has this verdict; an inconclusive one makes the test undecided.

    Args:
        result: what the check returned.
        verdict: ``"holds"`` or ``"violated"``.
    """
    __tracebackhide__ = True
    if result.verdict == "inconclusive":
        undecided(result.reason)
    assert result.verdict == verdict, str(result)
