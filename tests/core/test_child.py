import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_gilcheck.core.child import ChildSide, Ending, fork

from .forked_call import call

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


def hold_the_gil():
    sum(range(10**12))


def test_what_the_function_returns_is_returned():
    outcome, value = call(lambda: {"answer": 42}, limit=10)
    assert (outcome.ending, value) == (Ending.ANSWERED, {"answer": 42})


def test_what_the_function_raises_is_raised_in_the_parent():
    def fail():
        raise LookupError("in there")

    with pytest.raises(LookupError, match="in there"):
        call(fail, limit=10)


def test_an_exit_in_the_child_is_a_result_with_its_status():
    outcome, value = call(lambda: os._exit(7), limit=10)
    assert (outcome.ending, outcome.status, value) == (Ending.EXITED, 7, None)


def test_a_segfault_in_the_child_is_a_result_with_its_stack():
    outcome, _ = call(lambda: ctypes.string_at(0), limit=10)
    assert (outcome.ending, outcome.status) == (Ending.KILLED, signal.SIGSEGV)
    assert "string_at" in outcome.trace
    assert "SIGSEGV" in str(outcome)


@pytest.mark.parametrize("stuck", [hold_the_gil, lambda: time.sleep(60)], ids=["holding the GIL in C", "asleep"])
def test_a_hang_is_ended_with_stacks_even_when_the_gil_is_never_released(stuck):
    start = time.monotonic()
    outcome, _ = call(stuck, limit=0.3)
    assert outcome.ending is Ending.HUNG
    assert "test_child.py" in outcome.trace
    assert time.monotonic() - start < 20


def test_a_child_that_ignores_all_signals_is_killed():
    def ignore_signals():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(60)

    assert call(ignore_signals, limit=0.3)[0].ending is Ending.HUNG


def test_grandchildren_do_not_outlive_the_child():
    def start_another():
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid

    _, pid = call(start_another, limit=20)
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split()[2] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} is still running")


def test_a_suspended_deadline_does_not_end_the_child():
    side = fork(limit=0.2)
    if isinstance(side, ChildSide):
        side.set_deadline(None)
        time.sleep(0.6)
        side.set_deadline(10)
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


def test_a_stopped_child_is_ended_and_the_message_names_the_terminal():
    outcome, _ = call(lambda: os.kill(os.getpid(), signal.SIGSTOP), limit=30)
    assert outcome.ending is Ending.STOPPED
    assert "reads from the terminal" in str(outcome)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_child_does_not_outlive_its_parent_however_that_dies():
    program = """
import os, time
from tests.core.forked_call import call
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


def test_a_real_time_signal_that_kills_the_child_is_named():
    outcome, _ = call(lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3), limit=30)
    assert (outcome.ending, outcome.status) == (Ending.KILLED, signal.SIGRTMIN + 3)
    assert "SIGRTMIN+3" in str(outcome)


@pytest.fixture
def ignored_sigchld():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


def test_a_crash_is_seen_although_sigchld_is_ignored(ignored_sigchld):
    outcome, _ = call(lambda: ctypes.string_at(0), limit=30)
    assert (outcome.ending, outcome.status) == (Ending.KILLED, signal.SIGSEGV)
    assert signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    assert call(lambda: signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, limit=30)[1], "the child must inherit it"


def test_a_status_that_another_thread_took_is_unknown_and_no_success():
    side = fork(limit=30)
    if isinstance(side, ChildSide):
        os._exit(0)
    os.waitpid(side.pid, 0)
    outcome = side.wait()
    assert outcome.ending is Ending.UNKNOWN
    assert "unknown exit status" in str(outcome)


def test_a_note_that_was_sent_right_before_a_death_is_received(monkeypatch):
    reading, writing = os.pipe()
    side = fork(60)
    if isinstance(side, ChildSide):
        os.read(reading, 1)
        side.send_note(b"last words")
        os._exit(3)
    wait = side._life.wait

    def die_just_now(seconds):
        """Between the look at the pipe and the look at the process."""
        os.write(writing, b"x")
        os.waitid(os.P_PID, side.pid, os.WEXITED | os.WNOWAIT)
        return wait(seconds)

    monkeypatch.setattr(side._life, "wait", die_just_now)
    outcome = side.wait()
    os.close(reading)
    os.close(writing)
    assert (outcome.ending, outcome.status) == (Ending.EXITED, 3)
    assert side.notes() == [b"last words"]


LEAVES_NOTHING = """
import os
from pytest_gilcheck.core.child import fork
side = fork(20)
if os.getpid() != MAIN:
    os._exit(0)
side.wait()
"""


def test_neither_side_leaves_an_open_file_to_the_garbage_collector():
    program = "import os; MAIN = os.getpid()" + LEAVES_NOTHING
    done = subprocess.run([sys.executable, "-W", "always::ResourceWarning", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
