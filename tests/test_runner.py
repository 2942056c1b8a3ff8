"""What the runner does around every check: the machine lock, and the sources of errors."""

import os
import sys
from contextlib import contextmanager

import pytest

from pytest_gilcheck import BadValue, runner
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.checks import SCALING
from pytest_gilcheck.core.cores import CAN_PIN


def test_a_check_that_measures_time_holds_the_machine_lock_and_a_search_does_not(monkeypatch):
    taken = []

    @contextmanager
    def lock(*arguments):
        taken.append(True)
        yield

    monkeypatch.setattr(runner, "machine_lock", lock)
    Gilcheck().fuzz(threads=[lambda: [].append(1)] * 2, schedules=2)
    assert not taken
    assert "too short to time" in Gilcheck().scaling(lambda: None, threads=2).reason
    assert taken == [True]


@pytest.mark.skipif(not CAN_PIN, reason="no affinity here")
def test_an_argument_that_only_the_running_check_can_refuse_is_refused_with_its_source():
    with pytest.raises(BadValue, match=r"cores=100000 \(from the place where it was said\): expected 1 to"):
        Gilcheck().runner.run(SCALING, lambda: None, {"cores": 100_000}, "the place where it was said")


@pytest.mark.slow
def test_what_a_search_could_not_decide_under_a_tracer_names_the_tracer():
    def undecided():
        result = Gilcheck().fuzz(threads=[lambda: os.fork()] * 2, schedules=2)  # what no schedule controls
        assert result.verdict == "inconclusive"
        return result.reason

    assert "active" not in undecided() or sys.gettrace() is not None
    before = sys.gettrace()
    sys.settrace(lambda *event: None)
    try:
        assert "a trace function (tests.test_runner) was active, which may be why" in undecided()
    finally:
        sys.settrace(before)
