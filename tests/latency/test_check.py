"""Whole checks of real workloads. No assertion depends on how busy the machine is: where noise makes a verdict inconclusive, the
test is undecided, and the opposite verdict fails it.
"""

import asyncio
import ctypes
import gc
import hashlib
import json
import os
import sys
import threading
import time

import pytest

from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.interpreter import FREE_THREADED, build, watcher
from pytest_gilcheck.core.team import TeamHung
from pytest_gilcheck.latency.check import latency
from pytest_gilcheck.latency.result import LatencyResult
from tests.latency.made import claim, plan
from tests.undecided import expect, undecided

pytestmark = pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced")
ON_GIL = build() != FREE_THREADED
BUFFER = bytes(1 << 20)
MANY = 12_000_000  # numbers: sum() holds the GIL over them for more than a tenth of a second


def check(work, *, p99=None, max=None, **settings):
    return latency(work, claim(p99=p99, max=max), plan(budget=6, **settings))


def nap():
    time.sleep(0.005)


def hold():
    sum(range(MANY))


async def hold_in_a_loop():
    await asyncio.sleep(0)
    sum(range(MANY))


def hash_buffer():
    hashlib.sha256(BUFFER).digest()


@pytest.mark.exclusive
@pytest.mark.slow  # by default, tests/plugin/test_latency.py has one that holds the GIL
@pytest.mark.parametrize("work", [hold, hold_in_a_loop])
def test_a_call_into_c_that_holds_the_gil_is_violated_and_named(work):
    result = check(work, p99=0.02)
    if not ON_GIL:
        assert result.holders == ()
        expect(result, "holds")
        return
    expect(result, "violated")
    assert "sum(range(MANY))" in result.reason
    assert "test_check.py" in result.reason
    assert "a C call that holds the GIL" in result.reason
    assert result.holders[0].expression == "sum(range(MANY))"
    assert result.stall > 0.02


@pytest.mark.exclusive
@pytest.mark.skipif(not ON_GIL, reason="there is no GIL to hold")
@pytest.mark.skipif(os.name == "nt", reason="no usleep here")
@pytest.mark.slow
def test_c_code_that_sleeps_with_the_gil_is_violated_and_named():
    """It uses no CPU time while it holds everybody up."""
    usleep = ctypes.PyDLL(None).usleep  # a PyDLL keeps the GIL, as an extension does that forgets to let go

    def sleep_with_the_gil():
        usleep(100_000)

    result = check(sleep_with_the_gil, p99=0.02)
    expect(result, "violated")
    assert "usleep(100_000)" in result.reason or "last operation" in result.reason
    assert "sleep_with_the_gil" in result.reason
    assert result.cores_used < 0.5


def near_the_switch_interval():
    bytes(3_000_000).hex()  # about 4 ms, and never lets the GIL go


def as_long_in_bytecode():
    number = 0
    while number < 120_000:
        number += 1


@pytest.mark.slow
@pytest.mark.exclusive
@pytest.mark.skipif(not ON_GIL, reason="there is no GIL to hold")
@pytest.mark.skipif(sys.platform != "linux", reason="no samples of how long the GIL is kept")
@pytest.mark.parametrize(
    ("work", "kind", "code"), [(near_the_switch_interval, "C call", "GC401"), (as_long_in_bytecode, "bytecode", "GC402")]
)
def test_a_short_c_call_is_told_from_bytecode_of_the_same_length(work, kind, code):
    before = sys.getswitchinterval()
    result = check(work, p99=0.003)
    assert sys.getswitchinterval() == before
    if not result.holders or result.holders[0].kind == "bytecode or C call":
        undecided(f"nobody was named, or both: {result}")
    assert result.holders[0].kind == kind, str(result)
    expect(result, "violated")
    assert result.code == code


@pytest.mark.exclusive
def test_what_releases_the_gil_holds():
    expect(check(hash_buffer, p99=0.05), "holds")


@pytest.fixture(scope="module")
def sleeping():
    """One check of a workload that sleeps, with all probes; the result, its progress labels and the calls of its setup."""
    labels, set_up = [], []

    def work():
        assert set_up
        nap()

    measured = plan(loop=True, setup=lambda: set_up.append(1))
    return latency(work, claim(p99=0.05, max=5.0), measured, progress=labels.append), labels, set_up


def test_a_sleeping_workload_holds_and_the_result_has_every_figure(sleeping):
    result, _, _ = sleeping
    assert isinstance(result, LatencyResult)
    for probe in (result.heartbeat, result.echo, result.loop):
        for spread in (probe.alone, probe.beside):
            assert spread.n > 50
            assert 0 < spread.p50 <= spread.p99 <= spread.max
    assert 0 < result.requests_beside < 1000
    assert 0 < result.requests_alone < 1000
    assert result.convoy == result.requests_beside / result.requests_alone
    assert 0 < result.calls_beside < 210
    assert 0 < result.calls_alone < 210
    assert 0 < result.stall <= 5
    assert result.rounds >= 2
    assert result.switch_interval == sys.getswitchinterval()
    assert (result.held is None) == (not ON_GIL)
    text = str(result)
    assert text.startswith(result.headline())
    for word in ("heartbeat", "echo", "loop", "requests", "from outside", "workload", "GIL held", "interpreter"):
        assert f"\n  {word} " in text
    expect(result, "holds")


def test_the_figures_are_json_with_every_probe(sleeping):
    figures = sleeping[0].figures()
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    names = [f"{probe}_{condition}_{figure}" for probe in ("heartbeat", "echo", "loop") for condition in ("alone", "beside")
             for figure in ("n", "p50", "p99", "max")]  # fmt: skip
    assert set(names) <= set(figures)


@pytest.mark.slow
@pytest.mark.exclusive
@pytest.mark.skipif(not ON_GIL, reason="there is no GIL to hold")
def test_a_max_below_the_calls_that_hold_the_gil_is_violated():
    expect(check(hold, max=0.03), "violated")


@pytest.mark.slow
def test_a_coroutine_function_is_awaited_in_a_loop_of_each_worker():
    loops = set()

    async def work():
        loops.add((threading.get_ident(), id(asyncio.get_running_loop())))
        await asyncio.sleep(0.002)

    result = check(work, p99=0.2, workers=2)
    assert len({thread for thread, _ in loops}) >= 2
    expect(result, "holds")


@pytest.mark.slow
def test_the_workload_runs_in_as_many_threads_as_asked_for():
    threads = set()

    def work():
        threads.add(threading.current_thread().name)
        time.sleep(0.002)

    check(work, p99=0.2, workers=3)
    assert {f"gilcheck-worker-{index}" for index in (1, 2, 3)} <= threads


@pytest.mark.slow
def test_a_sweep_has_a_row_for_each_interval_and_leaves_the_current_one():
    before = sys.getswitchinterval()
    result = check(nap, p99=0.2, switchinterval=(0.005, 0.0005))
    assert [row.interval for row in result.sweep] == [0.005, 0.0005]
    assert all(row.heartbeat.n and row.echo.n and row.requests > 0 and row.calls > 0 for row in result.sweep)
    assert sys.getswitchinterval() == before == result.switch_interval
    assert "switch interval  heartbeat p50" in str(result)
    assert json.dumps(result.figures(), allow_nan=False)


@pytest.mark.slow
def test_a_single_interval_is_the_one_that_is_judged():
    seen = set()

    def work():
        seen.add(round(sys.getswitchinterval(), 6))
        time.sleep(0.002)

    before = sys.getswitchinterval()
    result = check(work, p99=0.2, switchinterval=0.0007)
    assert (seen, result.switch_interval) == ({0.0007}, 0.0007)
    assert sys.getswitchinterval() == before


def test_what_the_first_call_raises_is_raised_itself():
    def fail():
        raise LookupError("the workload's own")

    with pytest.raises(LookupError, match="the workload's own") as caught:
        check(fail)
    assert not getattr(caught.value, "__notes__", [])


def test_what_a_later_call_raises_comes_as_a_group_that_names_thread_and_round():
    calls = []

    def fail_later():
        calls.append(1)
        time.sleep(0.002)
        if len(calls) > 8:
            raise SystemExit("later")

    with pytest.raises(BaseExceptionGroup) as caught:
        check(fail_later)
    assert all(isinstance(error, SystemExit) for error in caught.value.exceptions)
    assert "round 1, beside" in caught.value.exceptions[0].__notes__[-1]


def test_a_keyboard_interrupt_of_the_workload_is_not_taken_for_the_users():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup):
        check(interrupt)


def test_a_call_that_never_returns_ends_in_its_time_limit():
    def hang():
        while True:
            time.sleep(0.01)

    with pytest.raises(TeamHung, match=r"the first call: no end after 0\.5 s"):
        check(hang, timeout=0.5)


def test_a_call_that_never_returns_later_ends_in_its_time_limit_too():
    calls = []

    def hang_later():
        calls.append(1)
        while len(calls) > 8:
            time.sleep(0.01)
        time.sleep(0.002)

    with pytest.raises(TeamHung, match="round 1, beside the workload: no end"):
        check(hang_later, timeout=0.5)


def test_calls_too_long_for_the_budget_say_what_would_do():
    result = latency(lambda: time.sleep(0.6), claim(), plan(budget=1))
    assert result.verdict == "inconclusive"
    assert "one call takes 0." in result.reason
    assert "pass --gilcheck-budget-scale=" in result.reason


@pytest.mark.slow
@pytest.mark.exclusive
def test_a_window_sees_a_whole_call_also_of_a_slow_workload():
    seen = []

    def slow():
        start = time.perf_counter()
        time.sleep(0.4)  # longer than the shortest window
        if ON_GIL:
            sum(range(MANY // 2))  # the stall is at the end of the call, and every window must see it
        seen.append(time.perf_counter() - start)

    result = latency(slow, claim(p99=0.02), plan(budget=8))
    assert len(seen) >= 4
    assert "no window was long enough" not in result.reason
    if ON_GIL:
        expect(result, "violated")


def test_under_a_tracer_nothing_is_measured():
    sys.settrace(lambda *_: None)
    try:
        result = check(nap)
    finally:
        sys.settrace(None)
    assert (result.verdict, result.heartbeat, result.rounds) == ("inconclusive", None, 0)
    assert "trace function" in result.reason


def test_the_setup_is_called_before_each_start_of_the_workload(sleeping):
    result, _, set_up = sleeping
    assert len(set_up) >= 2 + result.rounds  # the first call, each round and the workload alone


def test_every_phase_is_announced(sleeping):
    _, labels, _ = sleeping
    assert labels[:2] == ["starting the client process", "the first call"]
    assert "round 2, beside the workload" in labels
    assert "the workload alone" in labels


@pytest.mark.slow
def test_threads_processes_files_and_affinity_are_as_before():
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    threads = threading.active_count()
    check(nap, p99=0.2, cores=1 if affinity else None, loop=True)
    gc.collect()
    assert threading.active_count() == threads
    if affinity is not None:
        assert os.sched_getaffinity(0) == affinity
    if files is not None:
        assert len(os.listdir("/proc/self/fd")) == files


@pytest.mark.slow
def test_where_this_process_cannot_fork_the_client_is_an_interpreter_of_its_own():
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert can_fork() is not None
        result = check(nap, p99=0.2)
    finally:
        over.set()
        other.join()
    assert result.echo.beside.n > 50
    expect(result, "holds")


def test_nothing_is_left_running_after_a_check_that_failed():
    threads = threading.active_count()
    calls = []

    def fail_later():
        calls.append(1)
        time.sleep(0.002)
        if len(calls) > 8:
            raise LookupError

    with pytest.raises(BaseExceptionGroup):
        check(fail_later, workers=2, loop=True)
    assert threading.active_count() == threads


@pytest.mark.exclusive
@pytest.mark.skipif(ON_GIL, reason="there is a GIL")
def test_pauses_of_the_garbage_collector_are_violated_and_named_without_a_gil():
    heap = [[index] for index in range(1_000_000)]
    result = check(gc.collect, p99=0.01)
    del heap
    assert result.held is None
    assert result.holders == ()
    expect(result, "violated")
    assert "stop-the-world" in result.reason


@pytest.mark.skipif(ON_GIL, reason="there is a GIL")
def test_without_a_gil_the_report_says_what_is_left():
    assert "no GIL; remaining causes: stop-the-world pauses" in str(check(nap, p99=0.2))
