"""Threads that poll get what they poll for, long work is not taken for polling, and only what can never end is a livelock."""

import threading
import time

import pytest

from ..slow import one_in
from .programs import Counter, add_locked, counted, is_two


class Flag(Counter):
    def __init__(self):
        super().__init__()
        self.ready = False
        self.event = threading.Event()
        self.first, self.second = threading.Lock(), threading.Lock()
        self.items = list(range(2_000))
        self.done = []


def announce(flag):
    flag.value = 2
    flag.ready = True
    flag.event.set()


def announce_late(flag):
    time.sleep(1)
    announce(flag)


@pytest.mark.slow
def test_a_loop_that_counts_its_attempts_polls_as_well():
    def poll(flag):
        attempts = 0
        while not flag.ready:
            attempts += 1
        assert flag.value == 2

    counted(poll, announce, setup=Flag, schedules=40).assert_holds()


@pytest.mark.slow
def test_a_loop_that_writes_down_its_attempts_polls_as_well():
    def poll(flag):
        while not flag.ready:
            flag.other = 1
        assert flag.value == 2

    counted(poll, announce, setup=Flag, schedules=15).assert_holds()


@pytest.mark.slow
def test_polling_for_a_sleeper_lets_time_pass():
    def poll(flag):
        while not flag.ready:
            pass

    def ask(flag):
        while not flag.event.is_set():
            pass

    counted(poll, announce_late, setup=Flag, schedules=30).assert_holds()
    counted(ask, announce_late, setup=Flag, schedules=15).assert_holds()


def by_sleep(flag):
    time.sleep(0)


def by_a_tiny_wait(flag):
    flag.first.acquire(timeout=1e-12)


@pytest.mark.parametrize("wait", [by_sleep, pytest.param(by_a_tiny_wait, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_who_polls_with_a_wait_of_no_time_lets_others_run_whichever_thread_comes_first(wait):
    def poll(flag):
        while not flag.ready:
            wait(flag)
        assert flag.value == 2

    def announce_too_early(flag):
        flag.ready = True
        flag.value = 2

    def setup():
        flag = Flag()
        flag.first.acquire()
        return flag

    for threads in ((poll, announce), (announce, poll)):
        counted(*threads, setup=setup, schedules=40).assert_holds()
    for threads in ((poll, announce_too_early), (announce_too_early, poll)):
        counted(*threads, setup=setup, schedules=40).assert_violated()


def test_polling_of_a_closure_sees_what_another_thread_stores_there():
    state = {"make": None}

    def setup():
        ready = False

        def poll():
            while not ready:
                pass

        def store():
            nonlocal ready
            ready = True

        state["make"] = poll, store
        return state["make"]

    counted(lambda made: made[0](), lambda made: made[1](), setup=setup, schedules=60).assert_holds()


@pytest.mark.slow
def test_locks_that_are_tried_and_released_again_are_no_livelock():
    def polite(first, second):
        while True:
            if first.acquire(blocking=False):
                if second.acquire(blocking=False):
                    break
                first.release()
        second.release()
        first.release()

    counted(
        lambda flag: polite(flag.first, flag.second), lambda flag: polite(flag.second, flag.first), setup=Flag, schedules=60
    ).assert_holds()


@pytest.mark.slow
def test_long_work_that_only_reads_is_no_polling():
    def read(flag):
        total = index = 0
        while index < len(flag.items):
            total += flag.items[index]
            index += 1
        assert total == sum(flag.items)
        add_locked(flag)

    counted(read, read, setup=Flag, invariant=is_two, schedules=4).assert_holds()


class Feed(Counter):
    def __init__(self):
        super().__init__()
        self.flags, self.ones, self.numbers = iter([True] * 600), iter([1] * 600), iter(range(1200))
        self.none = [False] * 3


def any_of_it(feed):
    while any(feed.flags):
        pass


def any_of_what_goes_through_it(feed):
    while any(map(bool, feed.flags)):
        pass


def is_in_it(feed):
    while 1 in feed.ones:
        pass


def takes_some_of_it(feed):
    taken = "some"
    while taken:
        taken = [*zip(feed.numbers, "two", strict=False)]


@pytest.mark.parametrize("drain", one_in(2, [any_of_it, any_of_what_goes_through_it, is_in_it, takes_some_of_it]))
def test_a_loop_that_uses_up_an_iterator_is_no_livelock(drain):
    counted(drain, announce, setup=Feed, schedules=20).assert_holds()


def any_of_a_generator(feed):
    while not any(flag for flag in feed.none):
        pass


def any_of_a_map(feed):
    while not any(map(bool, feed.none)):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("poll", [any_of_a_generator, any_of_a_map])
def test_a_loop_that_makes_an_iterator_each_time_polls(poll):
    def end(feed):
        feed.none.append(True)

    counted(poll, end, setup=Feed, schedules=20).assert_holds()


@pytest.mark.slow
def test_a_loop_that_looks_through_a_list_is_a_livelock_if_nobody_changes_it():
    def poll(feed):
        while not any(feed.none) and 1 not in feed.none:
            pass

    result = counted(poll, announce, setup=Feed, schedules=20)
    assert result.verdict == "violated"
    assert "livelock" in result.reason


@pytest.mark.slow
def test_two_threads_that_wait_for_each_other_in_loops_are_a_livelock():
    def wait(flag):
        while not flag.ready:
            pass

    def wait_for_two(flag):
        while flag.value != 2:
            pass
        flag.ready = True

    result = counted(wait, wait_for_two, lambda flag: flag.done.append(1), setup=Flag, schedules=20)
    result.assert_violated()
    assert "livelock" in result.reason


def test_an_exception_with_another_message_is_not_the_one_that_sequential_orders_raise():
    class Closed(Counter):
        def __init__(self):
            super().__init__()
            self.frames = ["whole", "whole"]
            self.open = True

    def close(state):
        state.frames[0] = "half"
        state.open = False
        state.frames[0] = "whole"
        state.frames.clear()

    def read(state):
        if state.frames[:1] == ["half"]:
            raise ValueError("corrupt frame")
        if not state.open:
            raise ValueError("closed at 0x1234")

    def read_closed(state):
        raise ValueError("closed at 0x5678")

    result = counted(close, read, read_closed, setup=Closed, schedules=60)
    result.assert_violated()
    assert "corrupt frame" in result.reason

    def fixed(state):
        state.open = False
        state.frames.clear()

    counted(fixed, read, read_closed, setup=Closed, schedules=60).assert_holds()
