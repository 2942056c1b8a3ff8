"""The experiments of David Beazley's "Inside the Python GIL" (2009), as claims that are true today. See README.md.

pytest examples/inside_the_gil -v
"""

import os
import resource
import sys
import threading
import time

import pytest


def count(n=1_000_000):
    while n > 0:
        n -= 1


def has_gil(gilcheck):
    return gilcheck.interpreter.build == "gil"


# 2009: 24.6 s in sequence, 45.5 s in two threads. The second thread is still of no use with a GIL, ...
def test_two_threads_are_of_no_use_with_a_gil(gilcheck):
    result = gilcheck.scaling(count, threads=2, min_speedup=1.5)
    if has_gil(gilcheck):
        result.assert_violated()
        assert str(result.cause) == "gil", result
    else:
        result.assert_holds()


# ... but it does no harm any more,
def test_two_threads_do_no_harm(gilcheck):
    gilcheck.scaling(count, threads=2, max_slowdown=1.5).assert_holds()


# neither on two cores nor on one. 2009: 45.5 s on two cores, and less on one: 38.0 s. Seconds of CPU tell it on any machine.
# (Without a GIL both cores work at once: two hyperthreads of one physical core then take up to twice the CPU time.)
def test_a_second_core_costs_nothing(gilcheck):
    one, two = cpu_seconds_of_two_threads(cores=1), cpu_seconds_of_two_threads(cores=2)
    print(f"two threads count: {one:.2f} s of CPU on one core, {two:.2f} s on two")
    assert two < (1.6 if has_gil(gilcheck) else 2.5) * one


def cpu_seconds_of_two_threads(cores):
    """The CPU time of the fastest of a few runs on so many cores."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < cores:
        pytest.skip(f"this needs {cores} cores, and a system that can pin a process to cores")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    try:
        return min(in_threads(2, lambda: count(3_000_000)) for _ in range(5))
    finally:
        os.sched_setaffinity(0, before)


def in_threads(number, work):
    """Run ``work`` in so many threads at once, and return the seconds of CPU that they took."""
    threads = [threading.Thread(target=work) for _ in range(number)]
    began = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.process_time() - began


# 2009: one long C operation, `-1 in xrange(100_000_000)`, took 6.6 s, and Ctrl-C came after it. An int is not searched for any
# more; a float still is.
def test_an_int_in_a_range_is_no_long_operation():
    began = time.thread_time()
    assert -1 not in range(100_000_000)
    assert time.thread_time() - began < 1


def test_one_long_c_operation_is_not_interrupted(gilcheck):
    result = gilcheck.interrupt(lambda: 0.5 in range(10**9), repeats=2, over=0.2)
    result.assert_violated()
    assert "0.5 in range(10 ** 9)" in result.culprit, result


# 2009: a main thread in `join` does not see Ctrl-C. Now it does. (On a free-threaded build the interpreter may lose a signal that
# comes while another thread is busy: the claim about a busy thread is one for builds with a GIL.)
def test_ctrl_c_reaches_a_main_thread_in_join(gilcheck):
    def join():
        worker = threading.Thread(target=count if has_gil(gilcheck) else time.sleep, args=(10**9,), daemon=True)
        worker.start()
        worker.join()

    gilcheck.interrupt(join, within=1.0, repeats=3, over=0.4).assert_holds()


# 2009: 3.3 million system calls and signals on one core, 9.5 million on two, for 45 s. Now a thread that wants the GIL waits for a
# switch interval, so there is about one voluntary switch an interval, whatever its length; and none without a GIL.
@pytest.mark.parametrize("interval", [0.005, 0.001])
def test_a_switch_for_each_interval_and_none_without_a_gil(gilcheck, interval):
    before, switches = sys.getswitchinterval(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    sys.setswitchinterval(interval)
    try:
        seconds = in_threads(2, lambda: count(5_000_000))
    finally:
        sys.setswitchinterval(before)
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - switches
    each = switches / (seconds / interval)
    print(f"interval {interval * 1e3:g} ms: {switches} voluntary switches in {seconds:.2f} s of CPU, {each:.2f} for each interval")
    if has_gil(gilcheck):
        assert 0.2 < each < 20
    else:
        assert each < 0.2


# 2009: an I/O thread's answers come late beside a CPU thread. They still do, by the switch interval; and not without a GIL.
def test_an_answer_waits_for_a_switch_interval(gilcheck):
    result = gilcheck.latency(count, p99={"gil": 0.003, "free-threaded": 0.01}, switchinterval=[0.02, 0.001])
    if not has_gil(gilcheck):
        result.assert_holds()
        return
    result.assert_violated()
    late = {row.interval: row.echo.p50 for row in result.sweep if row.echo is not None}
    print("an answer is late by (median):", {f"{interval * 1e3:g} ms": f"{by * 1e3:.2f} ms" for interval, by in late.items()})
    if len(late) < 2:
        pytest.skip("inconclusive: the echo answered too seldom")
    assert late[0.02] > 2 * late[0.001]
