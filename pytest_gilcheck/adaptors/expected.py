"""What an xfail mark excuses: a violated claim, which its test is known to have, and neither a misuse nor an undecided check."""

from __future__ import annotations

import pytest

from ..core.codes import USAGE
from ..core.errors import BadValue
from ..core.evidence import Record, decides_the_test


def unexcused(message: str) -> BaseException:
    """A failure that no xfail mark of the test excuses, because it says nothing of what the test checks."""
    failure = pytest.fail.Exception(message, pytrace=False)
    failure.gilcheck_unexcused = True  # type: ignore[attr-defined]
    return failure


def is_unexcused(error: BaseException) -> bool:
    """Whether no xfail mark excuses the error: `unexcused` made it, or an argument of a check was refused."""
    refused = isinstance(error, BadValue) or getattr(error, "gilcheck_code", None) == USAGE
    return refused or getattr(error, "gilcheck_unexcused", False)


def expects_an_error(item: pytest.Item) -> bool:
    """Whether an xfail mark of the test names the errors that it excuses."""
    return any(mark.kwargs.get("raises") is not None for mark in item.iter_markers("xfail"))


def undecided_for_the_test(entry: Record) -> bool:
    """Whether the check ran and is inconclusive, and the test did not read that itself."""
    return bool(entry["verdict"] == "inconclusive" and decides_the_test(entry))
