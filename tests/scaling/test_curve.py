import asyncio
import sys
import time

import pytest

from pytest_gilcheck import BadValue, gilcheck


def nap():
    time.sleep(0.005)


async def await_nap():
    await asyncio.sleep(0.02)


def test_waits_overlap_in_every_mode_that_can_run_here():
    result = gilcheck.curve(await_nap, threads=[1, 8], modes=["sequential", "threads", "asyncio"])
    by = {(p.mode, p.workers): p for p in result.points}
    assert set(by) == {("sequential", 1), ("threads", 1), ("threads", 8), ("asyncio", 1), ("asyncio", 8)}
    for mode in ("threads", "asyncio"):
        assert by[mode, 8].throughput > 1.5 * by[mode, 1].throughput
    assert all(0 < p.p50 <= p.p99 for p in result.points)


def test_the_report_shows_every_point_and_says_what_was_skipped():
    result = gilcheck.curve(nap, threads=[1, 2, 4], modes=["threads", "asyncio"])
    text = str(result)
    assert text.count("\u2588") > 4
    assert "asyncio: skipped: the workload is not a coroutine function" in text
    assert "Universal Scalability Law" in text
    assert "Amdahl" in text


def test_processes_run_what_no_pickle_could_carry():
    local = []
    result = gilcheck.curve(lambda: (local, time.sleep(0.005)), threads=[2], modes=["processes"])
    assert {p.mode for p in result.points} == {"sequential", "processes"}


def test_a_workload_that_fails_in_a_process_is_an_error_not_a_figure():
    import os

    parent = os.getpid()

    def only_at_home():
        if os.getpid() != parent:
            os._exit(3)
        time.sleep(0.005)

    with pytest.raises(ChildProcessError, match="forked processes"):
        gilcheck.curve(only_at_home, threads=[2], modes=["processes"])


def test_interpreters_run_from_3_14_on_and_are_skipped_with_a_word_before():
    result = gilcheck.curve(nap, threads=[1, 2], modes=["interpreters"])
    modes = {p.mode for p in result.points}
    if sys.version_info >= (3, 14):
        assert "interpreters" in modes
    else:
        assert modes == {"sequential"}
        assert "subinterpreters need Python 3.14" in str(result)


@pytest.mark.parametrize("given", [{"threads": []}, {"threads": [0]}, {"threads": 4}, {"modes": ["fibers"]}, {"budget": "long"}])
def test_a_curve_that_makes_no_sense_is_refused(given):
    with pytest.raises(BadValue, match=next(iter(given))):
        gilcheck.curve(nap, **given)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters need Python 3.14")
def test_a_workload_that_another_interpreter_cannot_run_is_skipped_with_a_word():
    result = gilcheck.curve(time.perf_counter, threads=[1, 2], modes=["interpreters", "threads"])
    assert {p.mode for p in result.points} == {"sequential", "threads", "interpreters"}
    refused = gilcheck.curve(sys.stdout.flush, threads=[1, 2], modes=["interpreters", "threads"])
    assert {p.mode for p in refused.points} == {"sequential", "threads"}
    assert "interpreters: skipped" in str(refused)
