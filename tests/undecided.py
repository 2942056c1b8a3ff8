"""The one way for a test to say that this machine could not decide it."""

from typing import NoReturn

import pytest

PREFIX = "undecided: "


def undecided(reason: str) -> NoReturn:
    """Skip the test, with this reason. A session with too many such skips fails (`tests/suite.py`)."""
    __tracebackhide__ = True  # the summary shows the caller's line
    pytest.skip(f"{PREFIX}{reason}")
