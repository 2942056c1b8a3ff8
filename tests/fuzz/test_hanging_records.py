"""A recorded run that hangs: its thread may still compute, and enter what it touches, while the record is looked through."""

from types import SimpleNamespace

import pytest

from pytest_gilcheck.engine.running.record import ScheduleRun
from pytest_gilcheck.engine.touched.trace import Trace


class Growing(dict):
    """What was touched, to which a thread adds whenever another one looks."""

    def items(self):
        for entry in super().items():
            self[len(self)] = []
            yield entry


@pytest.mark.parametrize("stuck", ["hangs", "", "deadlock"])
def test_only_the_record_of_threads_that_rest_is_looked_through(stuck):
    run = ScheduleRun(recording=True, measuring=False)
    run.stuck = stuck
    trace = Trace(SimpleNamespace(point=1, takes_part=lambda path: True))
    trace.parts = Growing({0: [], 1: []})
    if stuck == "hangs":
        trace.ended(run)
        return
    with pytest.raises(RuntimeError, match="changed size"):
        trace.ended(run)
