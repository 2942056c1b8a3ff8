"""A check of one thread runs it as it is, with the threads that it starts itself."""

import itertools
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor, thread

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.errors import BadValue

from ..fuzz.programs import counted


def checked(body, **arguments):
    return counted(body, schedules=100, **arguments)


def adds_in_two_threads(lock):
    total = [0]

    def add():
        with lock:
            total[0] += 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert total == [2]


class NoLock:
    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


def test_a_body_that_starts_threads_is_searched_as_it_is():
    assert checked(lambda: adds_in_two_threads(threading.Lock())).verdict == "holds"
    racy = checked(lambda: adds_in_two_threads(NoLock()))
    assert (racy.verdict, racy.symptom, racy.replays) == ("violated", "exception", (10, 10))
    assert checked(lambda: adds_in_two_threads(NoLock()), replay=racy.token).verdict == "violated"


def test_the_call_takes_one_thread_and_not_none():
    assert gilcheck.fuzz(threads=[lambda: adds_in_two_threads(threading.Lock())], schedules=30, judge=False).verdict == "holds"
    with pytest.raises(BadValue, match=r"threads=\[\].* has to start threads itself"):
        gilcheck.fuzz(threads=[], schedules=30, judge=False)


def starts_none():
    rows = []
    rows.append(1)
    assert rows == [1]


@pytest.mark.parametrize("body", [starts_none, lambda: None])
def test_one_thread_that_starts_no_other_is_inconclusive_in_one_line_and_never_green(body):
    result = checked(body)
    assert result.verdict == "inconclusive"
    assert result.reason == "it starts no thread: nothing can interleave. Run it in 2 threads, or remove the check"
    assert counted(body, body, schedules=30).reason != result.reason


def test_threads_that_the_setup_has_started_count():
    def setup():
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        return pool

    def uses(pool):
        rows = []
        future = pool.submit(lambda: rows.append(1))
        rows.append(2)
        future.result()
        assert sorted(rows) == [1, 2]
        pool.shutdown()

    assert checked(uses, setup=setup).verdict == "holds"


def test_stress_mode_refuses_one_thread():
    with pytest.raises(BadValue, match=r"mode='stress'.*at least two threads"):
        gilcheck.fuzz(threads=[starts_none], mode="stress", judge=False)


def submits_from_a_callback(waits):
    seen = []
    with ThreadPoolExecutor(2) as pool:
        done = threading.Event()

        def append():
            seen.append(1)
            done.set()

        pool.submit(int).add_done_callback(lambda _: pool.submit(append))
        waits(done)
        assert seen == [1]


@pytest.mark.slow
def test_a_sleep_for_what_a_callback_submits_is_no_sequential_failure_and_is_named():
    found = checked(lambda: submits_from_a_callback(lambda done: time.sleep(0.1)))  # an AssertionError of its own would be raised
    assert found.verdict == "violated"
    assert re.search(r"; a sleep stands for a wait at \S*test_one_thread.py:\d+ .*Wait for what they do: join", found.reason)
    assert checked(lambda: submits_from_a_callback(lambda done: done.wait())).verdict == "holds"


def starts_and_hopes(expected, waits):
    seen = []
    starter = threading.Thread(target=lambda: threading.Thread(target=lambda: seen.append(1)).start())
    starter.start()
    if waits:
        starter.join()
        while not seen:
            time.sleep(0.01)
    assert seen == expected


@pytest.mark.slow
def test_a_body_that_only_hopes_for_its_thread_has_a_race_and_one_that_is_wrong_fails_by_itself():
    found = checked(lambda: starts_and_hopes([1], waits=False))
    assert (found.verdict, found.kind, found.preemptions) == ("violated", "BREAKS-TODAY", 0)
    assert checked(lambda: starts_and_hopes([1], waits=True)).verdict == "holds"
    with pytest.raises(AssertionError) as raised:
        checked(lambda: starts_and_hopes([2], waits=False))
    assert raised.value.__notes__ == [
        "fails without any concurrency, in every sequential order, also if each thread that it starts runs at once"
    ]


@pytest.mark.slow
def test_steps_inside_threading_and_executors_are_one_row_of_a_report():
    def racy():
        total = [0]

        def add():
            total[0] += 1

        with ThreadPoolExecutor(2) as pool:
            pool.submit(add)
            pool.submit(add)
        assert total == [2]

    rows = [row for row in checked(racy).rows if hasattr(row, "source")]
    inside = [row for row in rows if row.source == "(inside the standard library)"]
    assert inside
    assert {threading.__file__, thread.__file__}.isdisjoint(row.file for row in rows if row not in inside)
    assert not any(one in inside and other in inside for one, other in itertools.pairwise(rows) if one.thread == other.thread)
