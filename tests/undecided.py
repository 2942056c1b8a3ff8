"""The one way for a test to say that it could decide nothing here, so that undecided tests are counted and not taken for passed."""

from typing import NoReturn

import pytest

PREFIX = "undecided: "  # of the skip reason; the share of such skips in a session is limited


def undecided(reason: str) -> NoReturn:
    """Skip the test, because this run could not decide what the test asks.

    Args:
        reason: what could not be decided and why, for instance the reason of an inconclusive check.
    """
    __tracebackhide__ = True
    pytest.skip(f"{PREFIX}{' '.join(reason.split())}")


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
