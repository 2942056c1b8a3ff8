"""Every number has a name."""

import signal

import pytest

from pytest_gilcheck.core.exit_status import describe_exit
from pytest_gilcheck.core.signal_names import signal_name


@pytest.mark.parametrize(
    ("number", "name"),
    [(signal.SIGINT, "SIGINT"), (signal.SIGRTMIN, "SIGRTMIN"), (signal.SIGRTMIN + 7, "SIGRTMIN+7"), (300, "signal 300")],
)
def test_a_signal_has_a_name(number, name):
    assert signal_name(number) == name


@pytest.mark.parametrize(
    ("status", "text"), [(0, "status 0"), (-signal.SIGRTMIN - 1, "SIGRTMIN+1"), (None, "an unknown exit status")]
)
def test_every_exit_can_be_described(status, text):
    assert text in describe_exit(status)
