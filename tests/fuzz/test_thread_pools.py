"""A pool of threads of `multiprocessing`: one of its threads waits for a pipe, into which only threads of this process write."""

import contextlib
import multiprocessing.pool
import threading

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.fuzz.running.short_slices import FREE_THREADED


class Adder:
    def __init__(self, lock):
        self.total, self.lock = 0, lock

    def add(self, number):
        with self.lock:
            total = self.total
            self.total = total + number


def add_in_a_pool(adder):
    pool = multiprocessing.pool.ThreadPool(2)
    results = [pool.apply_async(adder.add, (number,)) for number in (1, 2)]
    for result in results:
        result.get()
    pool.close()
    pool.join()


def nothing(adder):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lock", "verdict"), [(contextlib.nullcontext, "violated"), (threading.Lock, "holds")], ids=["broken", "fixed"]
)
def test_an_update_that_two_of_its_workers_lose_is_found_and_the_twin_with_a_lock_holds(lock, verdict):
    before = vars(multiprocessing.pool.Pool)["_wait_for_updates"]
    result = gilcheck.fuzz(
        setup=lambda: Adder(lock()),
        threads=[add_in_a_pool, nothing],
        invariant=lambda adder: adder.total == 3,
        budget=30,  # it ends when one fails, and otherwise when a hundred first runs have not
        seed=1,
        judge=False,
    )
    too_slow = FREE_THREADED and verdict == "holds" and "schedules of the first run were tried" in result.reason
    assert result.verdict == ("inconclusive" if too_slow else verdict), result.reason
    assert vars(multiprocessing.pool.Pool)["_wait_for_updates"] is before
