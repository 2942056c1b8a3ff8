"""Whole checks of real workloads. No assertion depends on how busy the machine is."""

import asyncio
import hashlib
import math
import sys
import threading
import time

import pytest

from pytest_gilcheck import ScalingResult, gilcheck
from pytest_gilcheck.core.interpreter import watcher
from pytest_gilcheck.scaling import sampling
from pytest_gilcheck.scaling.sampling import Sampler
from pytest_gilcheck.scaling.watch import watch
from tests.undecided import expect, undecided

LOCK = threading.Lock()
pytestmark = pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced")


def nap():
    time.sleep(0.01)


def hash_under_lock():
    with LOCK:
        hashlib.sha256(bytes(1 << 20)).digest()


@pytest.mark.exclusive
def test_waiting_scales_and_the_result_has_every_figure():
    result = gilcheck.scaling(nap, threads=4, min_speedup=2, budget=10)
    assert isinstance(result, ScalingResult)
    expect(result, "holds")
    assert result.cause == ("machine" if "machine too busy" in str(result) else "scales")
    assert 2 <= result.interval[0] <= result.speedup <= 4.5
    assert result.threads == 4
    assert result.rounds >= 3
    assert result.ceiling > 0
    assert result.efficiency == result.speedup / result.ceiling
    assert result.cores_used < 1
    assert "interval" in str(result)
    assert result.workload in str(result)
    assert all(value is None or not isinstance(value, float) or math.isfinite(value) for value in result.figures().values())


@pytest.mark.exclusive
def test_a_coroutine_function_is_awaited_in_each_thread():
    loops = set()

    async def work():
        loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0.01)

    result = gilcheck.scaling(work, threads=2, min_speedup=1.5, budget=10)
    assert len(loops) > 1
    expect(result, "holds")


def test_what_the_first_call_raises_is_raised_itself():
    def fail():
        raise LookupError("the workload's own")

    with pytest.raises(LookupError, match="the workload's own") as caught:
        gilcheck.scaling(fail)
    assert not getattr(caught.value, "__notes__", [])


def test_what_a_later_round_raises_comes_as_a_group_that_names_thread_and_round():
    calls = []

    def fail_later():
        calls.append(1)
        time.sleep(0.02)
        if len(calls) > 8:
            raise SystemExit("later")

    with pytest.raises(BaseExceptionGroup) as caught:
        gilcheck.scaling(fail_later, threads=2, max_slowdown=1.1, budget=30)
    assert all(isinstance(error, SystemExit) for error in caught.value.exceptions)
    assert "round" in caught.value.exceptions[0].__notes__[-1]


def test_a_keyboard_interrupt_of_the_workload_is_not_taken_for_the_users():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup):
        gilcheck.scaling(interrupt)


def test_work_too_short_to_time_is_inconclusive():
    result = gilcheck.scaling(lambda: None)
    assert result.verdict == "inconclusive"
    assert "too short to time" in result.reason


@pytest.mark.exclusive
def test_with_a_setup_each_lap_finds_what_was_set_up():
    queue = []

    def fill():
        queue[:] = [1, 2]

    def take_one():
        queue.pop()
        time.sleep(0.03)

    result = gilcheck.scaling(take_one, setup=fill, threads=2, min_speedup=1.5, budget=10)
    assert result.calls == 1
    expect(result, "holds")


@pytest.mark.slow
def test_work_that_slows_down_as_it_runs_is_inconclusive():
    calls = []

    def ever_slower():
        calls.append(1)
        time.sleep(0.002 * len(calls))

    result = gilcheck.scaling(ever_slower, threads=2, min_speedup=2.0, budget=5)
    assert result.verdict == "inconclusive"
    if "machine too busy" in result.reason:
        undecided(result.reason)
    assert "changed speed" in result.reason


def test_a_budget_too_small_for_the_work_says_what_would_do():
    result = gilcheck.scaling(lambda: time.sleep(0.1), threads=2, min_speedup=1.5, budget=0.25)
    assert result.verdict == "inconclusive"
    assert "fitted into budget=0.25 s" in result.reason
    assert "pass --gilcheck-budget-scale=" in result.reason


def test_under_a_tracer_nothing_is_measured():
    sys.settrace(lambda *_: None)
    try:
        result = gilcheck.scaling(nap)
    finally:
        sys.settrace(None)
    assert (result.verdict, result.speedup, result.rounds) == ("inconclusive", None, 0)
    assert "trace function" in result.reason


@pytest.mark.exclusive
def test_threads_that_queue_for_a_lock_are_found_at_its_line():
    from pytest_gilcheck.core.team import Team

    with Team(2) as team:
        seen = watch(Sampler(hash_under_lock, nap, team, 60, lambda label: None))
    assert seen.lock_name == "LOCK"
    assert seen.lock_line is not None
    assert "test_check.py" in seen.lock_line
    assert "hash_under_lock" in seen.lock_line
    assert seen.lock_share > 0.15  # half of the samples; fewer if a busy machine stops a thread elsewhere


@pytest.mark.exclusive
def test_the_processor_affinity_is_as_before_after_a_pinned_check():
    import os

    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this platform has no CPU affinity")
    before = os.sched_getaffinity(0)
    result = gilcheck.scaling(nap, threads=2, min_speedup=1.5, cores=1, budget=10)
    assert result.interpreter.cores == 1
    assert os.sched_getaffinity(0) == before
    expect(result, "holds")


def test_the_reference_kernel_is_calibrated_once_and_again_after_a_wrong_figure():
    from pytest_gilcheck.core.team import Team

    called = []

    def reference():
        called.append(None)
        time.sleep(0.001)

    def calibrated(team):
        """Whether the kernel ran for the calibration, the figure, and the sampler."""
        called.clear()
        sampler = Sampler(nap, reference, team, 60, lambda label: None)
        calls = sampler.calibration.reference_calls
        return bool(called), calls, sampler

    with Team(1) as team:
        first, calls, _ = calibrated(team)
        assert first
        assert calibrated(team)[:2] == (False, calls)
        sampling._reference_calls[reference] = 100 * calls
        again, wrong, sampler = calibrated(team)
        assert (again, wrong) == (False, 100 * calls)
        next(sampler.rounds())
        assert calibrated(team)[0]
