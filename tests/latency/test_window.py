"""A probe hands over what it measured in its window, or why it could not."""

import pytest

from pytest_gilcheck.latency.window import Probe, Window


class Failing(Probe):
    name = "failing"

    def _probe(self, window):
        raise ConnectionResetError("the client is gone")


def test_a_probe_that_fails_raises_its_error_where_its_waits_are_wanted():
    probe = Failing()
    probe.start(Window(0.0, 0.0, judged=True))
    with pytest.raises(ConnectionResetError, match="the client is gone"):
        probe.waits(60)
