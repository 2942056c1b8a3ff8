"""Programs that no search is made for: each ends with a verdict that says so, in the budget."""

import itertools
import json
import os
import sys
import threading
import time
from time import monotonic

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.child import ChildSide, fork
from pytest_gilcheck.core.system import HAS_FORK
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.policy import Planned
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.harness import explorer_for

from .programs import Counter, add, add_locked, counted, is_two, plan

BUDGET = 2.0  # seconds


def searched(*threads, **arguments):
    began = monotonic()
    result = gilcheck.fuzz(threads=list(threads), **{"setup": Counter, "seed": 1, "budget": BUDGET} | arguments)
    assert monotonic() - began < 60, "a busy machine has time for it"
    return result


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
def test_threads_that_grow_without_end():
    """In a process of its own: a few of the threads may outlive the check, and would prevent forks in later tests."""

    def grow(counter):
        counter.value += 1
        threading.Thread(target=grow, args=(counter,)).start()

    side = fork(limit=120)
    if isinstance(side, ChildSide):
        try:
            result = searched(grow, grow)
            side.answer(json.dumps([result.verdict, result.reason]).encode())
        finally:
            os._exit(1)
    verdict, reason = json.loads(side.wait().payload)
    assert verdict == "inconclusive", reason
    assert "threads" in reason or "has not ended" in reason  # on a busy machine, the time ends first


@pytest.mark.slow
def test_a_step_that_takes_seconds():
    def slow(counter):
        counter.value = sum(range(20_000_000))

    result = searched(slow, slow)
    assert result.verdict == "inconclusive", str(result)
    assert "budget=2 s" in result.reason or "after 2 s" in result.reason


@pytest.mark.slow
def test_a_step_that_never_returns():
    def endless(counter):
        counter.value = 1
        while True:
            pass

    result = searched(endless, endless, timeout=4)
    assert result.verdict == "inconclusive", str(result)
    assert "has not ended after 4 s" in result.reason
    assert "(test_a_step_that_never_returns.<locals>.endless)" in result.reason


def test_a_clock_that_the_program_sets_back(monkeypatch):
    def back(counter):
        assert time.monotonic() > time.monotonic()
        counter.event.wait(0.1)
        add_locked(counter)

    monkeypatch.setattr(time, "monotonic", time.monotonic)  # so that it gives back the clock of before the check

    def setup():
        monkeypatch.setattr(time, "monotonic", itertools.count(1000, -1).__next__)
        counter = Counter()
        counter.event = threading.Event()
        return counter

    counted(back, back, setup=setup, invariant=is_two, schedules=20).assert_holds()


@pytest.mark.skipif(not hasattr(time, "clock_settime"), reason="no call that sets a clock")
def test_a_program_that_sets_the_clock_sets_the_virtual_one():
    def back(counter):
        assert time.clock_settime.__module__.startswith("pytest_gilcheck"), "or it would set the clock of the machine"
        before = time.time()
        time.clock_settime(time.CLOCK_REALTIME, before - 3600)
        assert time.time() < before - 3000
        add(counter)

    before = time.time()
    counted(back, back, setup=Counter, invariant=is_two, schedules=200).assert_violated()
    assert abs(time.time() - before) < 3000


@pytest.mark.slow
def test_a_thousand_locks():
    class Many(Counter):
        def __init__(self):
            super().__init__()
            self.locks = [threading.Lock() for _ in range(1000)]

    def thread(counter):
        for lock in counter.locks:
            lock.acquire()
        counter.value += 1
        for lock in counter.locks:
            lock.release()

    counted(thread, thread, setup=Many, invariant=is_two, schedules=4).assert_holds()


@pytest.mark.slow
def test_recursion_to_the_limit():
    def deep(counter, depth):
        counter.other = depth
        return deep(counter, depth + 1)

    def thread(counter):
        try:
            deep(counter, 0)
        except RecursionError:
            add_locked(counter)

    counted(thread, thread, setup=Counter, invariant=is_two, schedules=2).assert_holds()
    assert sys.getrecursionlimit() >= 1000


MADE = """
def made(counter):
    value = counter.value
    counter.value = value + 1
"""


@pytest.mark.slow
def test_code_made_by_exec_is_explored_or_said_not_to_be():
    names = {}
    exec(MADE, names)
    made = names["made"]
    result = counted(made, made, setup=Counter, invariant=is_two, schedules=60)
    assert result.verdict != "holds", str(result)

    def calls(counter):
        add_locked(counter)
        made(counter)

    result = counted(calls, calls, setup=Counter, invariant=lambda counter: counter.value == 4, schedules=100)
    assert result.verdict != "holds", str(result)


@pytest.mark.slow
def test_a_program_of_150_000_steps_is_neither_a_livelock_nor_too_long():
    def long(counter):
        for _ in range(50_000):
            counter.other = 1
        add_locked(counter)

    counted(long, add_locked, setup=Counter, invariant=is_two, schedules=3).assert_holds()


@pytest.mark.slow
def test_a_thread_that_comes_late_in_a_long_program_is_in_reach():
    def long(counter):
        for index in range(30_000):
            counter.other = index
        add(counter)

    program = Program((long, add), Counter, is_two)
    with explorer_for(program, plan(), lambda label: None) as explorer:
        [first, _] = explorer.sequential()
        late = Planned(Schedule((Choice(first.lengths[0] + 1, 1),)))  # right before the last step of the long thread
        _, failure = explorer.once(late)
    assert first.points > 30_000
    assert late.unused is None
    assert failure is not None
