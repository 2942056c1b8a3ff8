"""A pool of threads of `multiprocessing`: one of its threads waits for a pipe, into which only threads of this process write."""

import contextlib
import multiprocessing.pool
import threading

import pytest

from pytest_gilcheck.core.clocks import monotonic
from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.ledger import limited
from pytest_gilcheck.search.search import Search

from .programs import plan


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
@pytest.mark.parametrize(("lock", "broken"), [(contextlib.nullcontext, True), (threading.Lock, False)], ids=["broken", "fixed"])
def test_an_update_that_two_of_its_workers_lose_is_found_and_the_twin_with_a_lock_is_not(lock, broken):
    program = check.program([add_in_a_pool, nothing], lambda: Adder(lock()), lambda adder: adder.total == 3, None)
    before = vars(multiprocessing.pool.Pool)["_wait_for_updates"]
    with explorer_for(program, plan(seed=1), lambda label: None) as explorer:
        found = Search(explorer, 2, limited(monotonic() + 60, 200), 1).run(explorer.sequential())
    assert (found.failure is not None) is broken, str(found)
    assert not explorer.uncontrolled
    assert vars(multiprocessing.pool.Pool)["_wait_for_updates"] is before
