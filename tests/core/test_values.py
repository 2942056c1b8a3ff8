"""Which values an argument takes, and which of two that were given counts."""

import math

import pytest

from pytest_gilcheck.core import arguments
from pytest_gilcheck.core.arguments import Argument
from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.values import POSITIVE, SCALE, SECONDS, PerBuild, seconds


@pytest.mark.parametrize("values", [POSITIVE, SECONDS, SCALE, PerBuild(POSITIVE)], ids=["number", "seconds", "scale", "by build"])
def test_a_number_is_finite(values):
    assert values.read("timeout", 2.5, "argument") == 2.5
    for wrong in (math.inf, -math.inf, math.nan, 10**400, True):
        with pytest.raises(BadValue, match="timeout="):
            values.read("timeout", wrong, "argument")


BUDGET = Argument("budget", SECONDS, "", "s", setting=True)


@pytest.mark.parametrize(
    ("given", "setting", "expected"),
    [(1.0, 2.0, (1.0, "marker")), (None, 2.0, (2.0, "environment")), (1.0, None, (1.0, "marker"))],
    ids=["both", "setting", "marker"],
)
def test_what_a_marker_or_a_call_says_goes_before_a_setting(given, setting, expected):
    found = arguments.read([BUDGET], {"budget": given}, "marker", lambda name: (setting, "environment"))
    assert (found.get("budget", None), found.source_of("budget")) == expected


@pytest.mark.parametrize(("text", "expected"), [("30", 30.0), ("30s", 30.0), ("1.5m", 90.0), ("0.5", 0.5)])
def test_a_command_line_writes_seconds_with_or_without_a_unit(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["5h", "3 0s", "x", "s"])
def test_another_unit_is_no_time(text):
    with pytest.raises(ValueError, match="could not convert"):
        seconds(text)
