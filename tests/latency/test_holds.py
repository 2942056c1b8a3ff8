"""Samples of how long the GIL is kept: real threads, beside a load or not, since they count CPU time."""

import ctypes
import os
import sys
import threading
import time

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED, build, watcher
from pytest_gilcheck.core.team import Team
from pytest_gilcheck.latency.heartbeat import native_ids
from pytest_gilcheck.latency.holds import held_for
from pytest_gilcheck.latency.load import Load
from pytest_gilcheck.latency.ticks import TICK, NoTicks, Ticks

from ..undecided import undecided

ON_GIL = pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no timer that counts"),
    pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced"),
]
SIZE = 3_000_000


def in_c():
    bytes(SIZE).hex()


def in_bytecode():
    number = 0
    while number < 200_000:
        number += 1


def with_an_interval_of_its_own():
    sys.setswitchinterval(2.0)
    in_bytecode()


def held(work):
    """The place that kept the GIL for the longest total time, and the median of its samples.

    The test is undecided if the machine gives too few.
    """
    samples = {}
    with Team(2, "test-worker", "workers") as team:
        load = Load(work, team, 60)
        for _ in range(10):
            for place, holds in held_for(load, native_ids(team.idents()), 0.005, 0.2, 60).items():
                if place.file is not None:  # a call of `bytes` is on the same line as that of `hex`
                    samples.setdefault(place, []).extend(holds)
            most = max(samples, key=lambda each: sum(samples[each]), default=None)
            if most is not None and len(samples[most]) >= 3:
                return most.function, sorted(samples[most])[len(samples[most]) // 2]
    return undecided(f"too few samples: {samples}")


@ON_GIL
@pytest.mark.exclusive
@pytest.mark.parametrize(("work", "long"), [(in_c, True), (in_bytecode, False)])
def test_a_c_call_keeps_the_gil_until_it_returns_and_bytecode_releases_it_on_request(work, long):
    function, kept = held(work)
    assert function == work.__name__
    assert (kept > 0.001) == long, kept


@ON_GIL
@pytest.mark.slow
@pytest.mark.exclusive
def test_bytecode_that_sets_a_long_switch_interval_releases_it_as_early():
    before = sys.getswitchinterval()
    try:
        _, kept = held(with_an_interval_of_its_own)
    finally:
        sys.setswitchinterval(before)
    assert kept < 0.001


@ON_GIL
@pytest.mark.slow
@pytest.mark.exclusive
def test_c_code_that_sleeps_with_the_gil_keeps_it():
    usleep = ctypes.PyDLL(None).usleep
    assert held(lambda: usleep(5000))[1] > 0.001


@pytest.mark.parametrize("fails", [False, True])
def test_the_switch_interval_is_as_before_also_after_a_workload_that_fails(fails):
    before, calls = sys.getswitchinterval(), []

    def work():
        calls.append(sys.getswitchinterval())
        time.sleep(0.001)
        if fails and len(calls) > 5:
            raise LookupError

    with Team(1, "test-worker", "workers") as team:
        load = Load(work, team, 60)
        try:
            held_for(load, native_ids(team.idents()), before, 0.1, 60)
        except BaseExceptionGroup:
            assert fails
    assert min(calls) < before
    assert sys.getswitchinterval() == before
    assert "gilcheck-holds" not in {thread.name for thread in threading.enumerate()}


def test_a_timer_that_other_code_has_closed_ends_the_samples_and_not_the_check():
    def work():
        os.closerange(900, 5000)
        time.sleep(0.001)

    kept = os.dup(2)
    with Team(1, "test-worker", "workers") as team:
        load = Load(work, team, 60)
        assert held_for(load, native_ids(team.idents()), 0.005, 0.05, 60) is not None
    os.close(kept)


def test_a_sleep_counts_the_ticks_until_it_was_over():
    ticks = Ticks()
    ticks.start(3)
    assert ticks.sleep() >= 3
    ticks.start(1)
    begun = time.perf_counter()
    time.sleep(0.02)
    slept = ticks.sleep()  # at once, and it counts what went by
    assert 300 <= slept <= (time.perf_counter() - begun) / TICK + 1
    ticks.close()


def test_without_such_a_timer_nothing_is_sampled(monkeypatch):
    def none():
        raise NoTicks

    monkeypatch.setattr("pytest_gilcheck.latency.holds.Ticks", none)
    assert held_for(None, [], 0.005, 0.1, 60) is None
