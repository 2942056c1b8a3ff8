"""Threads that poll with pauses for what nobody will do are a livelock soon; those that may yet end are none."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections import deque

import pytest

from pytest_gilcheck.core.clocks import sleep as real_sleep
from pytest_gilcheck.engine.running import fairness, run_state
from tests.slow import one_in

from .programs import Counter, add, add_locked, counted


class Both(Counter):
    def __init__(self):
        super().__init__()
        self.event, self.condition = threading.Event(), threading.Condition()
        self.stop = False

    def counted(self):
        return self.value == 2


def by_sleep(both):
    while both.value < 2:
        time.sleep(0.01)


def by_a_method(both):
    while not both.counted():
        time.sleep(0.01)


def by_an_event(both):
    while both.value < 2:
        both.event.wait(0.01)


def by_a_condition(both):
    with both.condition:
        while both.value < 2:
            both.condition.wait(timeout=0.01)


def under_a_lock(both):
    while True:
        with both.lock:
            if both.value == 2:
                break
        time.sleep(0.01)


WAYS = [by_sleep, by_a_method, by_an_event, by_a_condition, under_a_lock]


def program(wait, add, *, by_both=False):
    def waits(both):
        add(both)
        wait(both)

    def adds(both):
        add(both)

    return waits, waits if by_both else adds


@pytest.mark.parametrize("wait", one_in(len(WAYS), WAYS))
@pytest.mark.slow
def test_who_waits_with_pauses_for_an_update_that_was_lost_never_ends(wait):
    lost = counted(*program(wait, add), setup=Both, schedules=60, invariant=None)
    lost.assert_violated()
    assert lost.symptom == "livelock"
    assert "it computes" in lost.reason  # seen polling, and not ended after a hundred thousand steps, in a pause
    counted(*program(wait, add_locked), setup=Both, schedules=60, invariant=None).assert_holds()


@pytest.mark.slow
def test_two_that_wait_with_pauses_for_an_update_that_was_lost_never_end_and_are_told_in_few_lines():
    lost = counted(*program(by_sleep, add, by_both=True), setup=Both, schedules=60, invariant=None)
    lost.assert_violated()
    assert lost.symptom == "livelock"
    assert "it computes" in lost.reason  # seen polling, and not ended after a hundred thousand steps, in a pause
    assert len(str(lost).splitlines()) < 200
    counted(*program(by_sleep, add_locked, by_both=True), setup=Both, schedules=60, invariant=None).assert_holds()


def by_what_it_read_before(both):
    stop = both.stop
    while not stop:
        time.sleep(0.01)


def by_what_nobody_sets(both):
    while not both.event.is_set():
        time.sleep(0.01)


def by_what_is_set(both):
    while not both.stop:
        time.sleep(0.01)


def set_it(both):
    both.stop = True


@pytest.mark.slow
def test_who_polls_with_pauses_in_each_of_the_first_runs_is_told_by_these(monkeypatch):
    monkeypatch.setattr(run_state, "_GRACE", 0.01)
    monkeypatch.setattr(fairness, "_LENGTH_UNKNOWN", 300)
    lost = counted(by_what_nobody_sets, set_it, setup=Both, schedules=1, invariant=None)
    assert lost.verdict == "violated"
    assert "livelock" in lost.reason, "and it does not hang until its time limit"
    counted(by_what_is_set, set_it, setup=Both, schedules=5, invariant=None).assert_holds()


@pytest.mark.slow
def test_who_polls_with_pauses_in_one_sequential_order_alone_is_a_livelock():
    lost = counted(by_what_it_read_before, set_it, setup=Both, schedules=60, invariant=None)
    lost.assert_violated()
    assert lost.symptom == "livelock"
    assert lost.preemptions == 0
    assert lost.token


def count_in_an_attribute(both):
    both.tries = 0
    while both.value < 2 and both.tries < MANY:
        both.tries += 1
        time.sleep(0.01)


def count_in_a_local(both):
    tries = 0
    while both.value < 2 and tries < MANY:
        tries += 1
        time.sleep(0.01)


def count_in_a_list(both):
    tries = []
    while both.value < 2 and len(tries) < MANY:
        tries.append(1)
        time.sleep(0.01)


def count_in_c(both):
    tries = itertools.count()
    while both.value < 2 and next(tries) < MANY:
        time.sleep(0.01)


def use_up_a_deque(both):
    left = deque(range(700))
    while both.value < 2 and left:
        left.popleft()
        both.event.wait(0.01)


def use_up_an_iterator(both):
    left = iter(range(MANY))
    while both.value < 2 and next(left, None) is not None:
        time.sleep(0.01)


def use_up_a_generator(both):
    left = (number for number in range(MANY))
    while both.value < 2:
        if next(left, None) is None:
            break
        time.sleep(0.01)


def count_down(both):
    for _ in range(MANY):
        if both.value == 2:
            break
        time.sleep(0.01)


def look_at_a_clock(both):
    end = time.monotonic() + MANY / 100
    while both.value < 2 and time.monotonic() < end:
        time.sleep(0.01)


def be_told(both):
    """By the last of many waits of another thread."""
    while both.value < 2 and not both.stop:
        both.event.wait(0.01)


def tell_after_many(both):
    for _ in range(MANY):
        time.sleep(0.01)
    both.stop = True


MANY = 1_500
ENDS = [
    count_in_a_local,
    count_in_c,
    look_at_a_clock,
    use_up_an_iterator,
    count_in_an_attribute,
    count_in_a_list,
    use_up_a_deque,
    use_up_a_generator,
    count_down,
]


@pytest.mark.slow
@pytest.mark.parametrize("wait", one_in(len(ENDS), ENDS))
def test_who_gives_up_after_many_pauses_is_not_taken_for_one_that_never_ends(wait):
    result = counted(*program(wait, add), setup=Both, schedules=60, invariant=None)
    result.assert_holds()


@pytest.mark.slow
def test_who_is_told_after_many_pauses_of_another_thread_is_not_taken_for_one_that_never_ends():
    def waits(both):
        add(both)
        be_told(both)

    def adds(both):
        add(both)
        if both.value < 2:
            tell_after_many(both)

    counted(waits, adds, setup=Both, schedules=60, invariant=None).assert_holds()


class World:
    ready = False


@pytest.mark.parametrize("busy", [False, True])
def test_what_a_thread_does_that_is_not_under_control_is_waited_for_in_real_time(busy):
    world = World()

    def act():
        real_sleep(0.3)
        world.ready = True

    def waits(both):
        while not world.ready:
            if not busy:
                time.sleep(0.01)
        add_locked(both)

    thread = threading.Thread(target=act)
    thread.start()
    result = counted(waits, add_locked, setup=Both, schedules=5, invariant=None)
    thread.join()
    assert result.verdict != "violated", result.reason


@pytest.mark.slow
def test_who_waits_for_a_file_that_another_process_makes_is_not_condemned(tmp_path):
    made = tmp_path / "made"

    def waits(both):
        make = f"import time; time.sleep(0.3); open({os.fspath(made)!r}, 'w').close()"
        child = subprocess.Popen([sys.executable, "-S", "-E", "-c", make])
        while not os.path.exists(made):
            time.sleep(0.01)
        child.wait()
        made.unlink()

    result = counted(waits, add_locked, setup=Both, schedules=5, invariant=None)
    assert result.verdict != "violated", result.reason


@pytest.mark.slow
def test_a_count_in_objects_that_are_made_anew_is_no_polling():
    def waits(both):
        add(both)
        kept = lambda left=MANY: left  # noqa: E731 # no call makes it, as it would an object of a class
        while both.value < 2 and kept.__defaults__[0]:
            left = kept.__defaults__[0] - 1
            kept = None
            kept = lambda left=left: left  # noqa: E731 # at the address of the one before
            left = None
            time.sleep(0.01)

    def adds(both):
        add(both)

    counted(waits, adds, setup=Both, schedules=60, invariant=None).assert_holds()
