"""Arguments as a check gets them."""

from pytest_gilcheck.checks import CHECKS
from pytest_gilcheck.core import arguments


def given(check, source="argument", **values):
    """The checked arguments of a check, from unchecked ones."""
    return arguments.read(CHECKS[check].arguments, values, source)
