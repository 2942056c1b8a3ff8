"""Which ends of a process are crashes."""

import signal

import pytest

from pytest_gilcheck.core.exit_status import is_crash


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"])
def test_death_by_a_signal_of_the_processor_or_of_abort_is_a_crash(name):
    assert is_crash(-signal.Signals[name])


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGALRM", "SIGPIPE", "SIGUSR1"])
def test_death_by_a_signal_that_ends_processes_on_purpose_is_none(name):
    assert not is_crash(-signal.Signals[name])


@pytest.mark.parametrize("status", [0, 1, 128 + signal.SIGSEGV, None])
def test_an_exit_status_is_no_crash(status):
    assert not is_crash(status)
