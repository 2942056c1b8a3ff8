"""Locks, and methods of locks, that a module keeps in odd places; and what a lock of a check does as a real one."""

import functools
import threading

import pytest

from pytest_gilcheck.core.verdict import Verdict

from ..slow import one_in
from .programs import counted

LOCK = threading.Lock()


def guarded_by_default(state, acquire=LOCK.acquire, release=LOCK.release):
    acquire()
    state.value += 1
    release()


WITH_SET = frozenset({LOCK.acquire})
ACQUIRE, RELEASE = functools.partial(LOCK.acquire), functools.partial(LOCK.release)
STATIC = staticmethod(LOCK.acquire)


def guarded_by_partial(state):
    ACQUIRE()
    state.value += 1
    RELEASE()


def unguarded(state):
    state.value += 1


class State:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()


@pytest.mark.slow
@pytest.mark.parametrize("guarded", one_in(2, [guarded_by_default, guarded_by_partial]))
def test_methods_of_a_lock_in_defaults_and_partials_guard_as_the_lock_does(guarded):
    held = counted(guarded, guarded, setup=State, invariant=lambda state: state.value == 2, schedules=200)
    assert held.verdict is Verdict.HOLDS, str(held)
    found = counted(guarded, unguarded, setup=State, invariant=lambda state: state.value == 2, schedules=200)
    assert found.verdict is Verdict.VIOLATED, str(found)


def count(state):
    with state.lock:
        state.value += 1


def reset(state):
    try:
        state.lock.release()
    except RuntimeError:
        pass


def only_look(state):
    state.lock.locked()


@pytest.mark.slow
def test_a_release_of_a_free_lock_that_raises_has_seen_that_it_is_free():
    found = counted(reset, count, setup=State, schedules=100)
    assert found.verdict is Verdict.VIOLATED, str(found)
    assert "release unlocked lock" in found.reason
    assert counted(only_look, count, setup=State, schedules=100).verdict is Verdict.HOLDS


def use_old_names(state):
    assert state.lock.acquire_lock()
    assert state.lock.locked_lock()
    state.lock.release_lock()
    with pytest.raises(ValueError, match="must be a non-negative number"):
        state.lock.acquire(timeout=-5)


def test_a_lock_of_a_check_has_the_names_and_the_errors_of_a_real_one():
    assert counted(use_old_names, unguarded, setup=State, schedules=50).verdict is Verdict.HOLDS
