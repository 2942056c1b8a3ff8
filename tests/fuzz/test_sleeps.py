"""A sleep in a sequential order lets those threads run that the program has started, and in other schedules whoever comes first."""

import contextlib
import os
import queue
import select
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search.harness import explorer_for

from ..slow import one_in, only
from .programs import counted, plan

ORDERS = (0, 1), (1, 0)


def in_order(*threads, setup=list):
    """What the threads raise in each sequential order, and how each run got stuck."""
    with explorer_for(check.program(threads, setup, None, None), plan(), lambda label: None) as explorer:
        runs = [explorer.in_order(order)[0] for order in ORDERS]
    return [[type(error).__name__ for _, _, error in run.errors] + [run.stuck] * bool(run.stuck) for run in runs]


PASSES, FAILS = [[], []], [["AssertionError"] * 2] * 2


def wait_for_a_condition(seconds):
    condition = threading.Condition()
    with condition:
        condition.wait(seconds)


def take_from(queue_):
    with contextlib.suppress(queue.Empty):
        queue_.get(timeout=0.1)


def look_at_a_pipe(seconds):
    ends = os.pipe()
    select.select([ends[0]], [], [], seconds)
    for end in ends:
        os.close(end)


SLEEPS = {
    "time.sleep": lambda: time.sleep(0.1),
    "Event.wait": lambda: threading.Event().wait(0.1),
    "Condition.wait": lambda: wait_for_a_condition(0.1),
    "Queue.get": lambda: take_from(queue.Queue()),
    "SimpleQueue.get": lambda: take_from(queue.SimpleQueue()),
    "select": lambda: look_at_a_pipe(0.1),
    "nothing": lambda: None,
}


@pytest.mark.parametrize("sleeps", only(["time.sleep", "nothing"], SLEEPS))
def test_beside_a_sleep_in_order_all_that_the_program_has_started_runs_until_it_waits(sleeps):
    def starts_what_starts_another(_):
        seen = []
        threading.Thread(target=lambda: threading.Thread(target=seen.append, args=(1,)).start()).start()
        SLEEPS[sleeps]()
        assert seen == [1]

    assert in_order(*[starts_what_starts_another] * 2) == (FAILS if sleeps == "nothing" else PASSES)


def appends(log):
    log.append("other")


def alone(log, sleeps):
    log.append("mine")
    sleeps()
    assert "mine" in (log[-1], log[0])
    assert log in (["mine"], ["other", "mine"])


def beside_a_thread(log):
    thread = threading.Thread(target=time.sleep, args=(5,))
    thread.start()
    alone(log, thread.join)


def beside_a_heartbeat(log):
    threading.Thread(target=lambda: [time.sleep(1) for _ in range(40)], daemon=True).start()
    alone(log, lambda: time.sleep(30))


def beside_one_that_spins(log):
    stop = []

    def spin():
        while not stop:
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    alone(log, lambda: time.sleep(0.1))
    stop.append(1)
    thread.join()


@pytest.mark.parametrize(
    "sleeps", one_in(2, [lambda log: alone(log, lambda: time.sleep(1)), beside_a_thread, beside_a_heartbeat, beside_one_that_spins])
)
def test_the_program_s_own_threads_do_not_run_in_one_another_s_sleep(sleeps):
    assert in_order(sleeps, appends) == PASSES


@pytest.mark.parametrize(("producer", "outcome"), [(lambda log: log.put(1), PASSES), (lambda log: None, [["Empty"]] * 2)])
def test_a_heartbeat_does_not_end_a_timeout_that_another_of_the_program_s_own_threads_can_meet(producer, outcome):
    def beat():
        while True:
            time.sleep(1)

    def consumer(log):
        threading.Thread(target=beat, daemon=True).start()
        log.get(timeout=5)

    assert in_order(consumer, producer, setup=queue.Queue) == outcome


class Beating:
    def __init__(self):
        self.stop, self.beats = threading.Event(), 0
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self):
        while not self.stop.wait(1):
            self.beats += 1

    def sleeps_long(self):
        time.sleep(3 * 24 * 3600)
        assert 10 < self.beats < 10_000


def test_a_long_sleep_does_not_wait_for_each_beat_of_a_heartbeat():
    assert in_order(Beating.sleeps_long, Beating.sleeps_long, setup=Beating) == PASSES


@pytest.mark.slow
def test_a_thread_that_computes_until_a_sleeper_stops_it_does_not_hang():
    class Work:
        stop, count = False, 0

    def sleeps(_):
        work = Work()

        def works():
            while not work.stop:
                work.count += 1

        thread = threading.Thread(target=works)
        thread.start()
        time.sleep(0.1)
        work.stop = True
        thread.join()

    counted(sleeps, lambda _: None, setup=list, schedules=20).assert_holds()


def submits(wait):
    def thread(_):
        seen, pool = [], ThreadPoolExecutor(1)
        done = threading.Event()
        pool.submit(int).add_done_callback(lambda _: pool.submit(seen.append, 1).add_done_callback(lambda _: done.set()))
        wait(done)
        assert seen == [1]

    return thread


def sleeps_instead(done):
    time.sleep(0.1)  # the line that is named


def test_a_sleep_that_stands_for_a_wait_is_named_and_a_wait_in_its_place_holds():
    found = counted(submits(sleeps_instead), lambda _: None, setup=list, schedules=100)
    found.assert_violated()
    assert "without any concurrency" not in found.reason
    line = sleeps_instead.__code__.co_firstlineno + 1
    assert f"a sleep stands for a wait at {__file__}:{line} (sleeps_instead)" in found.reason
    assert found.places == ((__file__, line),)
    counted(submits(threading.Event.wait), lambda _: None, setup=list, schedules=20).assert_holds()


@pytest.mark.parametrize(("lock", "verdict"), [(contextlib.nullcontext, "violated"), (threading.Lock, "holds")])
@pytest.mark.parametrize("error", one_in(2, [AssertionError, KeyError]))
def test_a_race_that_a_sleep_widens_between_threads_that_the_program_starts_is_no_failure_in_order(lock, verdict, error):
    def starts_two(_):
        made, guard = [], lock()

        def makes_once():
            with guard:
                if not made:
                    time.sleep(0.01)
                    made.append(1)
                if len(made) > 1:
                    raise error

        threads = [threading.Thread(target=makes_once) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = counted(starts_two, lambda _: None, setup=list, schedules=30)
    assert result.verdict == verdict, result.reason
    assert not result.expected
    assert "without any concurrency" not in result.reason


def test_a_race_that_a_sleep_does_not_decide_is_not_put_down_to_it():
    def adds(counts):
        time.sleep(0.1)
        counts["a"] += 1

    found = counted(adds, adds, setup=lambda: {"a": 0}, invariant=lambda counts: counts["a"] == 2, schedules=60)
    found.assert_violated()
    assert "a sleep stands" not in found.reason
