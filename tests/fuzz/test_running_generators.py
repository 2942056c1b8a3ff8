"""While the code of a generator runs, another thread that advances it gets an error, whatever that code does meanwhile."""

import threading

import pytest

from pytest_gilcheck.search.search import Search

from .programs import SETTLED, counted


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = fails()


def fails():
    """It touches nothing that is shared, and ends in a call: no step of its own says so."""
    made = []
    made.append(1)
    yield made.pop(2)


def take(shared):
    try:
        next(shared.numbers, None)
    except IndexError:
        pass


def take_locked(shared):
    with shared.lock:
        take(shared)


@pytest.fixture
def untested(monkeypatch):
    """A proof is not tested with samples, which would find most of what it misses."""
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)


@pytest.mark.usefixtures("untested")
def test_a_generator_that_another_thread_advances_while_its_code_runs_is_found():
    result = counted(take, take, setup=Shared, schedules=300)
    assert result.verdict == "violated", result.reason
    assert "generator already executing" in result.reason


@pytest.mark.usefixtures("untested")
def test_one_that_is_advanced_under_a_lock_is_settled():
    result = counted(take_locked, take_locked, setup=Shared, schedules=300)
    assert result.bound in SETTLED, result.reason
