"""Programs that depend on time: what a loaded machine can do to them is found, and what none can do is not."""

import copy
import datetime
import pickle
import threading
import time

import pytest

from ..slow import one_in
from .programs import Counter, counted, is_two
from .time_pairs import PAIRS

SCHEDULES = 450


def explored(one, state, **arguments):
    return counted(*one.threads, setup=state, invariant=one.invariant, **{"schedules": SCHEDULES} | arguments)


@pytest.mark.parametrize("one", one_in(20, PAIRS), ids=lambda one: one.name)
def test_what_time_breaks_is_found_and_its_fixed_twin_holds(one):
    found = explored(one, one.buggy)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)
    explored(one, one.fixed).assert_holds()


class Stamped:
    def __init__(self):
        self.stamps = []


def test_each_reading_of_a_clock_is_later_than_the_one_before():
    def measure(state):
        begun = time.perf_counter()
        state.stamps.append(1 / (time.perf_counter() - begun))
        assert time.time() < time.time()
        assert time.monotonic_ns() < time.monotonic_ns()
        assert datetime.datetime.now() < datetime.datetime.now()
        assert time.process_time() < time.process_time()

    counted(measure, measure, setup=Stamped, schedules=40).assert_holds()


def test_dates_are_virtual_and_the_same_types_as_ever():
    def thread(state):
        now = datetime.datetime.now(datetime.UTC)
        assert isinstance(now, datetime.datetime)
        assert isinstance(datetime.datetime(2020, 1, 1), datetime.date)
        assert not isinstance(datetime.date(2020, 1, 1), datetime.datetime)
        assert pickle.loads(pickle.dumps(now)) == copy.deepcopy(now) == now
        assert abs(time.time() - now.timestamp()) < 1
        time.sleep(3 * 24 * 3600)
        assert (datetime.date.today() - now.date()).days >= 2
        state.stamps.append(now)

    counted(thread, thread, setup=Stamped, schedules=20).assert_holds()


@pytest.mark.slow
def test_a_long_timeout_is_not_missed_by_work_that_takes_a_moment():
    def hold(lock):
        with lock:
            for _ in range(8_000):
                lock.work += 1

    def wait(lock):
        assert lock.acquire(timeout=60)
        lock.release()

    class Held(threading.Semaphore):
        work = 0

    counted(hold, wait, setup=lambda: Held(1), schedules=12).assert_holds()


@pytest.mark.slow
def test_a_retry_with_back_off_has_attempts_enough():
    def add(state):
        for attempt in range(5):
            if state.lock.acquire(timeout=0.01 * 2**attempt):
                try:
                    state.value += 1
                finally:
                    state.lock.release()
                return
            time.sleep(0.001 * 2**attempt)
        raise TimeoutError("no attempt is left")

    counted(add, add, setup=Counter, invariant=is_two, schedules=400).assert_holds()


@pytest.mark.slow
def test_what_waits_for_a_sleeper_meets_its_deadline_only_if_the_sleep_is_longer():
    def sleeper(seconds):
        def thread(state):
            time.sleep(seconds)
            state.event.set()

        return thread

    def waiter(state):
        assert state.event.wait(2)

    class Signal:
        def __init__(self):
            self.event = threading.Event()

    counted(sleeper(1), waiter, setup=Signal, schedules=100).assert_holds()
    counted(sleeper(1.6), waiter, setup=Signal, schedules=100).assert_violated()
    counted(sleeper(3), waiter, setup=Signal, schedules=100).assert_violated()


@pytest.mark.slow
def test_a_program_that_computes_until_a_time_is_not_taken_for_a_livelock():
    def until(state):
        end = time.monotonic() + 2
        while time.monotonic() < end:
            pass
        state.stamps.append(end)

    counted(until, until, setup=Stamped, schedules=20).assert_holds()
