"""Lateness counts from the intended time, for every moment that was intended."""

import math
import os
import sys

import pytest

from pytest_gilcheck.latency.lateness import LatenessSpread, Wait, lates, ms, quantile
from pytest_gilcheck.latency.run_queue_clock import RunQueueClock
from tests.latency.made import quiet, stalls, wait


def test_the_moments_missed_in_a_stall_are_late_each_from_its_own_time():
    stall = Wait(intended=1.0, ended=1.007, every=0.002, unattributed=0.0)
    assert stall.lates() == pytest.approx([0.007, 0.005, 0.003, 0.001])


def test_a_wait_in_time_stands_for_itself_alone():
    assert len(wait(0.1).lates()) == 1
    assert wait(-1).lates() == [0.0]


def test_a_stall_of_half_the_time_is_half_of_the_moments_and_not_one():
    seen = stalls(1, 400, of=400)
    assert sum(late > 0.01 for late in lates(seen)) == pytest.approx(200, abs=8)
    assert LatenessSpread.of(seen).n == pytest.approx(400, abs=2)
    assert LatenessSpread.of(seen).p99 > 0.3


def test_what_is_unexplained_is_not_blamed():
    assert wait(10, own=0.25).attributed == pytest.approx(0.0025)
    assert wait(10, counted=False).attributed is None
    assert Wait(0.0, 0.001, 0.002, 5.0).attributed == 0


def test_a_quantile_is_something_that_was_seen():
    ordered = [float(i) for i in range(1, 101)]
    assert (quantile(ordered, 0.5), quantile(ordered, 0.99), quantile(ordered, 1.0)) == (50, 99, 100)
    assert quantile([3.0], 0.99) == 3.0


def test_a_spread_of_nothing_is_nothing():
    assert LatenessSpread.of([]) is None
    assert all(math.isfinite(value) for value in LatenessSpread.of(quiet()).figures().values())


@pytest.mark.parametrize(("seconds", "text"), [(0.00021, "0.21 ms"), (0.01563, "15.6 ms"), (0.24, "240 ms"), (2.5, "2500 ms")])
def test_milliseconds_as_people_read_them(seconds, text):
    assert ms(seconds) == text


def test_a_quantile_between_two_values_is_the_higher_one():
    assert quantile([float(i) for i in range(1, 11)], 0.99) == 10
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="files of Linux")
def test_the_counters_are_read_under_numbers_that_a_test_does_not_close_unnoticed():
    clock = RunQueueClock([], 0.001)
    [counter] = clock._files
    assert counter is not None
    assert counter.number >= 256
    os.close(counter.number)  # a loop over all numbers does
    assert clock.unattributed(1.0) is None
    clock.close()
