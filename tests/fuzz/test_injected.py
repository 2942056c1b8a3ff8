"""Clocks, sleeps and locks that a program gets by another way than by the name of a module, as code does that can be tested."""

import sys
import threading
import time
from typing import NamedTuple

import pytest

from ..slow import one_in
from .programs import SETTLED, counted

HIDDEN = frozenset({threading.Lock()})


class Cache:
    """Keeps a value for 0.2 s."""

    ttl = 0.2

    def __init__(self):
        self.kept, self.read = None, 0

    def put(self, value):
        self.kept = value, self.clock()

    def get(self):
        return None if self.kept is None or self.clock() - self.kept[1] > self.ttl else self.kept[0]

    def asks_twice(self):
        if self.get() is None:
            self.put(1)
        self.read = self.get() + 1

    def asks_once(self):
        value = self.get()
        if value is None:
            value = 1
            self.put(value)
        self.read = value + 1


class OfDefault(Cache):
    def __init__(self, clock=time.monotonic):
        super().__init__()
        self.clock = clock


class OfStaticMethod(Cache):
    clock = staticmethod(time.monotonic)


class OfClass(Cache):
    clock = time.monotonic


class OfTuple(Cache):
    clocks = (time.time, time.monotonic)

    def clock(self):
        return self.clocks[1]()


class OfMethod(Cache):
    def clock(self, read=time.monotonic):
        return read()


class Options(NamedTuple):
    clock: object = time.monotonic


class OfNamedTuple(Cache):
    def __init__(self, options=Options()):  # noqa: B008
        super().__init__()
        self.clock = options.clock


@pytest.mark.slow
@pytest.mark.parametrize("kind", one_in(6, [OfDefault, OfStaticMethod, OfClass, OfTuple, OfMethod, OfNamedTuple]))
def test_a_value_that_expires_between_two_questions_is_found_whichever_way_the_clock_came(kind):
    result = counted(kind.asks_twice, kind.asks_twice, setup=kind, schedules=100)
    assert result.verdict == "violated", str(result)
    assert "delay" in result.reason
    counted(kind.asks_once, kind.asks_once, setup=kind, schedules=100).assert_holds()


class Poller:
    sleep = time.sleep  # a function in C is not bound to an instance; what stands for it must not be either
    now = time.time

    def __init__(self):
        self.done = 0.0

    def poll(self):
        self.sleep(0.01)
        self.done = self.now()


def test_a_function_of_time_in_a_class_is_still_called_without_its_object():
    counted(Poller.poll, Poller.poll, setup=Poller, schedules=40).assert_holds()


class Account:
    def __init__(self, make=threading.Lock):
        self.lock, self.value = make(), 0

    def add(self):
        with self.lock:
            self.value += 1

    def add_in_two(self):
        with self.lock:
            value = self.value
        with self.lock:
            self.value = value + 1


def is_two(account):
    return account.value == 2


@pytest.mark.slow
def test_a_lock_of_a_factory_that_is_a_default_is_under_control():
    proved = counted(Account.add, Account.add, setup=Account, invariant=is_two, schedules=300)
    assert proved.bound in SETTLED, str(proved)
    assert counted(Account.add_in_two, Account.add_in_two, setup=Account, invariant=is_two, schedules=300).verdict == "violated"


class Beside(Account):
    def add_beside(self):
        [lock] = HIDDEN  # which nobody can replace there
        with lock:
            value = self.value
        with self.lock:
            self.value = value + 1


def test_a_failure_beside_a_lock_out_of_control_is_reported_or_left_undecided():
    """The run that confirms such a failure is not the one that is recorded."""
    result = counted(Beside.add_beside, Beside.add_beside, setup=Beside, invariant=is_two, schedules=300)
    assert result.verdict in ("violated", "inconclusive"), str(result)


class OfFrozenSet(Cache):
    clocks = frozenset({time.monotonic})

    def clock(self):
        [read] = self.clocks
        return read()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no event names who is called")
def test_a_real_clock_that_could_not_be_replaced_leaves_the_check_undecided():
    result = counted(OfFrozenSet.asks_once, OfFrozenSet.asks_once, setup=OfFrozenSet, schedules=60)
    assert result.verdict == "inconclusive", str(result)
    assert "called the real time.monotonic at" in result.reason
