import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from pytest_gilcheck.core.child import ChildSide, Ending, call, can_fork, fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


def hold_the_gil():
    sum(range(10**12))


def test_what_a_child_returns_comes_back():
    outcome, value = call(lambda: {"answer": 42}, limit=10)
    assert (outcome.ending, value) == (Ending.ANSWERED, {"answer": 42})


def test_what_a_child_raises_is_raised_here():
    def fail():
        raise LookupError("in there")

    with pytest.raises(LookupError, match="in there"):
        call(fail, limit=10)


def test_what_cannot_be_pickled_is_an_error_not_a_hang():
    with pytest.raises(RuntimeError, match="cannot be pickled"):
        call(threading.Lock, limit=10)


def test_an_exit_in_the_child_is_a_result_with_its_status():
    outcome, value = call(lambda: os._exit(7), limit=10)
    assert (outcome.ending, outcome.status, value) == (Ending.EXITED, 7, None)


def test_a_segfault_in_the_child_is_a_result_with_its_stack():
    outcome, _ = call(lambda: ctypes.string_at(0), limit=10)
    assert (outcome.ending, outcome.status) == (Ending.KILLED, signal.SIGSEGV)
    assert "string_at" in outcome.trace
    assert "SIGSEGV" in str(outcome)


@pytest.mark.parametrize("stuck", [hold_the_gil, lambda: time.sleep(60)], ids=["holding the GIL in C", "asleep"])
def test_a_hang_is_ended_with_stacks_even_when_the_gil_is_never_let_go(stuck):
    start = time.monotonic()
    outcome, _ = call(stuck, limit=0.3)
    assert outcome.ending is Ending.HUNG
    assert "test_child.py" in outcome.trace
    assert time.monotonic() - start < 20


def test_a_child_that_ignores_every_signal_it_can_is_ended_all_the_same():
    def ignore():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(60)

    assert call(ignore, limit=0.3)[0].ending is Ending.HUNG


def test_grandchildren_do_not_outlive_the_child():
    def leave_one_behind():
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid

    _, pid = call(leave_one_behind, limit=20)
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split()[2] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} is still running")


def test_a_stopped_clock_does_not_run_out_and_a_set_one_does():
    side = fork(limit=0.2)
    if isinstance(side, ChildSide):
        side.clock(None)
        time.sleep(0.6)
        side.clock(10)
        side.answer(b"still here")
    assert side.wait().payload == b"still here"


def test_a_large_answer_arrives_whole():
    assert call(lambda: b"x" * 5_000_000, limit=30)[1] == b"x" * 5_000_000


def test_a_fork_of_a_process_with_an_armed_faulthandler_timer_does_not_deadlock():
    faulthandler.dump_traceback_later(60)
    try:
        assert call(lambda: 1, limit=10)[1] == 1
    finally:
        faulthandler.cancel_dump_traceback_later()


def test_a_process_with_threads_of_its_own_is_not_forked():
    assert can_fork() is None
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="somebody's server")
    thread.start()
    try:
        assert "somebody's server" in (can_fork() or "")
    finally:
        release.set()
        thread.join()


def test_a_child_that_is_stopped_is_ended_and_says_what_it_may_have_wanted():
    outcome, _ = call(lambda: os.kill(os.getpid(), signal.SIGSTOP), limit=30)
    assert outcome.ending is Ending.STOPPED
    assert "wants the terminal" in str(outcome)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_child_does_not_outlive_its_parent_however_that_dies():
    program = """
import os, time
from pytest_gilcheck.core.child import call
call(lambda: (print(os.getpid(), flush=True), time.sleep(60)), 60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert parent.stdout.read() == ""  # the end of the pipe: nobody holds it open
    parent.stdout.close()
    for _ in range(200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {child} is still running")
