"""A workload that has the system restart its calls after a signal, so that the interpreter does not look for it."""

import os
import signal
import threading

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.system import HAS_PROC
from pytest_gilcheck.interrupt.explain import culprit_of
from pytest_gilcheck.interrupt.handlers import restarts_calls, restarts_can_be_told
from pytest_gilcheck.interrupt.trial import SignalOutcome, Trial
from tests.undecided import decided

pytestmark = pytest.mark.skipif(not hasattr(signal, "siginterrupt"), reason="no calls are restarted here")
forks_with_proc = pytest.mark.skipif(not HAS_PROC or can_fork() is not None, reason="no /proc, or no fork, here")


def checked(work, **more):
    return decided(gilcheck.interrupt(work, signals=["SIGINT"], repeats=1, over=0.05, within=0.2, exits_within=2.0, seed=1, **more))


@forks_with_proc
@pytest.mark.parametrize("interrupts", [False, True])
def test_a_call_that_is_restarted_after_the_signal_is_the_culprit(interrupts):
    def work():
        reading, _writing = os.pipe()
        signal.siginterrupt(signal.SIGINT, interrupts)
        os.read(reading, 1)

    result = checked(work)
    if interrupts:
        result.assert_holds()
        return
    result.assert_violated()
    assert result.outcome == "deaf"
    line = work.__code__.co_firstlineno + 3
    assert result.culprit.startswith(f"`os.read(reading, 1)` at {__file__}:{line} ")
    assert "the system restarts after SIGINT (signal.siginterrupt(SIGINT, False))" in result.culprit
    assert "another thread" not in result.culprit


@forks_with_proc
@pytest.mark.slow
def test_a_restarted_call_that_returns_by_itself_is_the_culprit_too():
    def work():
        reading, writing = os.pipe()
        signal.siginterrupt(signal.SIGINT, False)
        threading.Timer(0.48, os.write, (writing, b"x")).start()
        os.read(reading, 1)
        threading.Event().wait(60)

    result = checked(work)
    result.assert_violated()
    assert result.outcome == "late", result
    assert "`os.read(reading, 1)`" in result.culprit
    assert "siginterrupt" in result.culprit


@forks_with_proc
@pytest.mark.slow
def test_a_call_that_computes_is_not_called_restarted_although_others_would_be():
    def work():
        signal.siginterrupt(signal.SIGINT, False)
        sum(range(10**9))

    result = checked(work)
    result.assert_violated()
    assert "sum(range(10 ** 9))" in result.culprit
    assert "siginterrupt" not in result.culprit


@pytest.mark.parametrize(
    ("line", "facts", "known", "possible"),
    [
        ("os.read(r, 1)", {"slept": True}, True, True),
        ("fcntl.flock(f, 2)", {"slept": True, "woken": True}, True, True),
        ("fcntl.flock(f, 2)", {"slept": True}, False, True),
        ("fcntl.flock(f, 2)", {}, False, False),
    ],
)
def test_what_is_only_possible_is_said_to_be_possible(tmp_path, line, facts, known, possible):
    file = tmp_path / "work.py"
    file.write_text(f"def work():\n    {line}\n")
    place = (str(file), 2, "work", 2, 4, 4 + len(line))
    culprit = culprit_of(Trial(2, 0.1, outcome=SignalOutcome.LATE, place=place, restarts=True, **facts))
    assert ("so that the interpreter does not look" in culprit, "siginterrupt" in culprit) == (known, possible)
    assert "siginterrupt" not in culprit_of(Trial(2, 0.1, outcome=SignalOutcome.LATE, place=place, **facts))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_wait_that_lost_a_signal_is_said_to_be_restarted_only_where_that_may_be(restarts):
    trial = Trial(2, 0.1, outcome=SignalOutcome.LOST, place=(__file__, 1, "work"), restarts=restarts)
    assert ("siginterrupt" in culprit_of(trial)) is restarts


def test_the_system_tells_after_which_signals_it_restarts_its_calls():
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        assert restarts_can_be_told(signal.SIGUSR1)
        assert not restarts_calls(signal.SIGUSR1)
        signal.siginterrupt(signal.SIGUSR1, False)
        assert restarts_calls(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
