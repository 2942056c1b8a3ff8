"""Signals that come while the threads of a program run, and the main thread waits for their end."""

import signal
import threading

import pytest

from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.policy import Planned
from pytest_gilcheck.engine.schedule import Schedule
from pytest_gilcheck.engine.session import Session

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals cannot be sent to threads")


def returns(arrived):
    arrived.append(threading.current_thread())


def raises(arrived):
    returns(arrived)
    if len(arrived) == 1:  # a second exception, in the middle of what the first one ends, would leave threads to other tests
        raise ZeroDivisionError


@pytest.fixture
def handled():
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda action, arrived: signal.signal(signal.SIGUSR1, lambda number, frame: action(arrived))
    signal.signal(signal.SIGUSR1, before)


def sends(arrived):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)


def test_a_handler_that_returns_changes_nothing_of_a_run(handled):
    arrived = []
    handled(returns, arrived)
    with Session() as session:
        runs = session.use(Program((sends, sends), lambda: arrived))
        for number in range(1, 6):
            run, failure = runs.once(Planned(Schedule(())))
            assert failure is None
            assert not run.errors
            assert len(arrived) >= number
            assert set(arrived) == {threading.main_thread()}


def test_an_exception_of_a_handler_ends_a_run(handled):
    arrived = []
    handled(raises, arrived)
    with pytest.raises(ZeroDivisionError), Session() as session:
        session.use(Program((sends, sends), lambda: arrived)).once(Planned(Schedule(())))
    assert arrived
