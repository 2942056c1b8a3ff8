"""Stress on real threads: what it must find, and what it must not."""

import contextvars
import ctypes
import os
import signal
import sys
import threading
import time

import psutil
import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.cores import usable_cores
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.stress.guard import readable
from pytest_gilcheck.engine.stress.stress import StressReport, stress

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"stress needs a fork: {can_fork()}")

FREE = build() == FREE_THREADED
PARALLEL = FREE and usable_cores() > 1
TOO_LONG = 60.0  # for what ends by itself


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def racy(self):
        self.value += 1

    def locked(self):
        with self.lock:
            self.value += 1

    def slowly(self):
        seen = self.value
        time.sleep(0.0005)
        self.value = seen + 1


def counting(method, threads=2):
    return Program((method,) * threads, Counter, lambda counter: counter.value == threads)


def check_masked(report):
    """What a GIL hides is seen without one; with one, the report says that it could not be."""
    assert report.gil is not FREE
    if PARALLEL:
        assert report.symptom == "invariant", str(report)
        assert report.hits >= 1
        assert report.bound is None
    else:
        assert report.undecided
        assert ("on one core" if FREE else "cannot see what the GIL masks") in str(report)


@pytest.mark.parametrize("threads", [2, 3])
def test_a_racy_counter_is_hit_and_a_gil_is_owned_up_to(threads):
    report = stress(counting(Counter.racy, threads), 5.0 if PARALLEL else 0.3)
    check_masked(report)
    if PARALLEL:
        assert " is False" in report.first
        assert 0 < report.rate < 1
        assert str(report).startswith(f"stress: {report.first}; ")


def test_a_window_late_in_one_thread_is_met_by_a_short_other():
    class Account:
        def __init__(self):
            self.left = self.right = self.seen = 5

        def move(self):
            for _ in range(300):
                pass
            self.left -= 1
            self.right += 1

        def look(self):
            self.seen = self.left + self.right

    program = Program((Account.move, Account.look), Account, lambda account: account.seen in (5, 10))
    check_masked(stress(program, 20.0 if PARALLEL else 0.3))


def test_a_locked_counter_has_no_hit_and_the_bound_of_three():
    for _ in range(5):  # a machine that is very busy may hardly let them meet
        report = stress(counting(Counter.locked), 1.0)
        if not report.undecided or not PARALLEL:
            break
    assert (report.hits, report.symptom, report.first, report.children) == (0, None, "", 1)
    assert report.bound == pytest.approx(3 / report.instances)
    assert f"0 hits in {report.instances:,} instances" in str(report)
    assert report.overlapped <= report.instances
    assert bool(report.undecided) is not PARALLEL, str(report)
    assert ("p < " in str(report)) is PARALLEL  # a bound on what could not be seen would mislead


def test_what_breaks_with_a_gil_too_is_found_on_every_build():
    report = stress(counting(Counter.slowly), 5.0)
    assert report.symptom == "invariant"
    assert report.seconds < TOO_LONG


def test_the_count_of_a_hit_goes_on_for_a_rate():
    report = stress(counting(Counter.slowly), 8.0)  # half a second beyond the first
    assert report.hits > 1
    assert report.kinds == (("invariant", report.hits),)


def test_an_exception_is_told_with_its_thread_and_its_line():
    def fine(state):
        pass

    def missing(state):
        state["a"]

    report = stress(Program((fine, missing), dict), 0.2)
    assert (report.symptom, report.first) == ("exception", "T1 raised KeyError: 'a'")
    assert report.hits == report.instances
    assert 'state["a"]' in report.trace
    assert "rendezvous" not in report.trace


def test_what_every_sequential_order_raises_is_no_hit_in_that_thread_only():
    def missing(state):
        state["a"]

    both = frozenset({"KeyError"}), frozenset({"KeyError"})
    assert stress(Program((missing, missing), dict), 0.2, expected=both).hits == 0
    only_first = stress(Program((missing, missing), dict), 0.2, expected=both[:1])
    assert only_first.first == "T1 raised KeyError: 'a'"


@pytest.mark.parametrize("leave", [sys.exit, KeyboardInterrupt, GeneratorExit])
def test_no_exception_is_an_escape(leave):
    def left():
        raise leave if leave is not sys.exit else SystemExit(0)

    report = stress(Program((left, lambda: None)), 0.2)
    assert report.symptom == "exception"
    assert report.first.startswith("T0 raised ")


def test_an_exception_that_cannot_even_be_printed_is_told():
    class Broken(Exception):
        def __str__(self):
            raise ValueError

    def fail():
        raise Broken

    assert stress(Program((fail, lambda: None)), 0.2).first == "T0 raised Broken: its own text raised ValueError"


def test_a_failing_assertion_of_the_invariant_and_a_failing_teardown_are_hits():
    def check(state):
        assert state == [1], "torn"

    report = stress(Program((lambda state: None,) * 2, list, check), 0.2)
    assert (report.symptom, report.first) == ("invariant", "the invariant raised AssertionError: torn")
    report = stress(Program((lambda: None,) * 2, teardown=lambda: [].pop()), 0.2)
    assert (report.symptom, report.first) == ("invariant", "the teardown raised IndexError: pop from empty list")


def test_an_invariant_that_raises_what_is_no_exception_is_a_hit():
    report = stress(Program((lambda: None,) * 2, invariant=lambda: pytest.fail("torn")), 0.2)
    assert report.first == "the invariant raised Failed: torn"


def test_a_segfault_is_a_result_with_its_trace_and_the_rest_lives():
    def crash(state):
        ctypes.string_at(0)

    report = stress(Program((lambda state: None, crash), dict), 8.0)
    assert report.symptom == "crashed"
    assert "SIGSEGV" in report.first
    assert report.first.endswith("in T1")
    assert "in crash" in report.trace
    assert "T1" in report.trace
    assert report.children > 1  # how often does it?
    assert report.hits == report.instances == report.children


def test_what_was_counted_survives_a_crash():
    ran = []

    def crash_at_the_tenth():
        ran.append(1)
        if len(ran) == 10:
            signal.raise_signal(signal.SIGABRT)

    report = stress(Program((crash_at_the_tenth, lambda: None)), 8.0)
    assert report.hits >= 1
    assert 10 * report.hits <= report.instances < 10 * report.hits + 10  # the last child may have had no time to come to its crash
    assert "SIGABRT" in report.first


def test_an_exit_of_the_process_is_a_result():
    report = stress(Program((lambda: os._exit(0), lambda: None)), 0.2)
    assert report.symptom == "crashed"
    assert "exited with status 0" in report.first


class Locks:
    def __init__(self):
        self.first, self.second = threading.Lock(), threading.Lock()

    def forwards(self):
        with self.first:
            time.sleep(0.001)
            self.second.acquire()  # the one way
            self.second.release()

    def backwards(self):
        with self.second:
            time.sleep(0.001)
            self.first.acquire()  # the other way
            self.first.release()


def line_of(words):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(words))


def test_a_deadlock_hangs_with_stacks_that_name_the_lines():
    report = stress(Program((Locks.forwards, Locks.backwards), Locks), 30.0, timeout=1.0)
    assert report.symptom == "hangs"
    assert report.hits == report.kinds[0][1] == 1
    assert report.instances >= 1
    assert f"line {line_of('# the one way')} in forwards" in report.trace
    assert f"line {line_of('# the other way')} in backwards" in report.trace
    assert "T0" in report.trace
    assert "T1" in report.trace
    assert "rendezvous" not in report.trace


def test_a_thread_that_never_lets_go_of_the_gil_hangs():
    report = stress(Program((lambda: sum(range(10**12)), lambda: None)), 0.2, timeout=0.5)
    assert report.symptom == "hangs"
    assert "<lambda>" in report.trace


def test_a_setup_that_hangs_is_named():
    def never():
        time.sleep(1000)

    report = stress(Program((lambda state: None,), never), 0.2, timeout=0.3)
    assert report.symptom == "hangs"
    assert "in never" in report.trace


def test_threads_that_wait_for_each_other_do_not_hang():
    def exchange(state):
        state.wait()

    def pair():
        return threading.Barrier(2, timeout=30)

    assert stress(Program((exchange, exchange), pair), 0.3, timeout=30.0).symptom is None

    def send(state):
        state[0].set()
        state[1].wait()

    def receive(state):
        state[0].wait()
        state[1].set()

    report = stress(Program((send, receive), lambda: (threading.Event(), threading.Event())), 0.3, timeout=30.0)
    assert report.symptom is None


shared = {"total": 0}


def test_a_state_that_all_instances_share_is_used_by_one_at_a_time():
    lock = threading.Lock()

    def reset():
        shared["total"] = 0

    def add(nothing):
        with lock:
            shared["total"] += 1

    report = stress(Program((add, add), reset, lambda nothing: shared["total"] == 2), 0.5)
    assert report.hits == 0
    assert report.instances > 1
    assert shared["total"] == 0  # all of it was in the child


def test_every_job_has_a_context_of_its_own():
    variable = contextvars.ContextVar("variable", default=0)

    def fresh():
        assert variable.get() == 0
        variable.set(1)

    assert stress(Program((fresh, fresh)), 0.2).hits == 0


def test_threads_that_the_program_starts_and_joins_are_part_of_it():
    def start(counter):
        thread = threading.Thread(target=counter.locked)
        thread.start()
        thread.join()

    assert stress(counting(start), 0.3, timeout=30.0).hits == 0


def test_the_threads_are_free_to_use_all_cores_once_they_run():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("no affinity here")
    cores = os.sched_getaffinity(0)

    def see():
        assert os.sched_getaffinity(0) == cores

    assert stress(Program((see, see)), 0.2).hits == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads
def test_a_fork_of_the_program_does_not_play_on():
    def forked(pids):
        if pid := os.fork():
            pids.append(pid)

    def check(pids):
        return len(pids) == 1 and os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == 0

    report = stress(Program((forked, lambda pids: None), list, check), 0.3, timeout=30.0)
    assert report.hits == 0, str(report)
    assert report.instances >= 1


def test_what_the_setup_raises_the_first_time_is_raised():
    def refuse():
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        stress(Program((lambda state: None,), refuse), 0.2)


def test_a_setup_that_fails_later_ends_it_with_a_note():
    left = [1] * 5

    report = stress(Program((lambda state: None,), left.pop), 5.0)
    assert (report.instances, report.hits) == (5, 0)
    assert report.bound == pytest.approx(0.6)
    assert report.undecided
    assert "ended early, after 5 instances: IndexError: pop from empty list" in str(report)


def test_threads_that_hardly_ever_met_decide_nothing():
    report = stress(Program((lambda: time.sleep(0.1),) * 2), 0.2)
    assert report.hits == 0
    assert report.overlapped < 30
    assert report.undecided
    if PARALLEL:
        assert f"overlapped in only {report.overlapped} of {report.instances} instances" in str(report)


def test_progress_is_told_while_it_runs():
    labels = []
    stress(counting(Counter.locked), 0.5, progress=labels.append)
    assert labels
    assert labels[-1].startswith("stress: ")
    assert "instances" in labels[-1]


def test_an_interrupt_of_the_parent_ends_the_child():
    def interrupted(label):
        raise KeyboardInterrupt

    before = set(psutil.Process().children())  # of other tests in this process
    with pytest.raises(KeyboardInterrupt):
        stress(Program((lambda: time.sleep(0.01),)), 1000.0, progress=interrupted)
    assert set(psutil.Process().children()) <= before


def test_a_process_that_cannot_be_forked_is_undecided():
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="somebody's server")
    thread.start()
    try:
        result = gilcheck.fuzz(threads=[lambda: None] * 2, mode="stress", budget=0.2)
        assert result.verdict == "inconclusive"
        assert "somebody's server" in result.reason
    finally:
        release.set()
        thread.join()


def test_more_threads_than_cores_work_and_are_told_of():
    size = 2 * (os.cpu_count() or 1)
    report = stress(counting(Counter.locked, size), 0.3)
    assert report.hits == 0
    assert (f"{size} threads on" in str(report)) is (usable_cores() > 1)


def test_a_trace_has_names_and_only_what_is_not_ours():
    trace = """Fatal Python error: Segmentation fault

Current thread 0x00000000000000ff (most recent call first):
  File "/usr/lib/ctypes/__init__.py", line 519 in string_at
  File "/somebody/test_it.py", line 7 in crash
  File "/there/pytest_gilcheck/engine/stress/rendezvous.py", line 1 in _work

Thread 0x0000000000000aaa (most recent call first):
  File "/there/pytest_gilcheck/engine/stress/rendezvous.py", line 2 in _work

Extension modules: numpy (total: 1)""".replace(
        "/there/pytest_gilcheck/engine/stress/rendezvous.py", sys.modules["pytest_gilcheck.engine.stress.rendezvous"].__file__
    )
    text, culprit = readable(trace, {0xFF: "T1", 0xAAA: "T0"})
    assert culprit == "T1"
    assert text.splitlines()[2] == "Current thread T1 (most recent call first):"
    assert text.splitlines()[-1] == '  File "/somebody/test_it.py", line 7 in crash'
    assert "T0" not in text


def test_the_report_prints_what_it_found_by_kind():
    report = StressReport(
        1000, 3, "T0 raised KeyError: 'a'", "exception", "a line", 1.0, 2, None, (("crashed", 1), ("exception", 2)), (), 900
    )
    assert str(report).splitlines() == [
        "stress: T0 raised KeyError: 'a'; 3 of 1,000 instances in 1.0 s (0.003), threads overlapped in 900",
        "  hits by kind: crashed 1, exception 2",
        "    a line",
    ]
