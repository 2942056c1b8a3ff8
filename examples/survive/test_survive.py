"""Bugs that no amount of running in threads shows on an interpreter with the GIL, and their mended twins.

    pytest examples/survive -v

The same answers hold with the GIL and without it; so do the replay tokens of 3.12 and later.
"""

import threading
from collections import OrderedDict

import pytest


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()

    def deposit(self, amount):
        self.balance += amount

    def deposit_safely(self, amount):
        with self.lock:
            self.balance += amount


@pytest.fixture
def account():  # set up anew for every schedule
    return Account()


def all_is_there(account):
    return account.balance == 20


# The marker: the test body in two threads, under every schedule of at most two preemptions.
@pytest.mark.gil_fuzz(invariant=all_is_there, sensitivity=True)  # and without the lock it must fail, or it proves nothing
def test_deposits_with_a_lock(account):
    account.deposit_safely(10)


# `balance += amount` is a read and a write. The GIL never lets go between the two, so today this works, by accident.
def test_deposits_without_a_lock(gilcheck):
    result = gilcheck.fuzz(setup=Account, threads=[lambda a: a.deposit(10)] * 2, invariant=all_is_there)
    result.assert_violated()
    assert result.kind == "GIL-MASKED", result
    assert "reads self.balance = 0" in str(result), result


class Cache:
    """The usual one: look, compute, store, and throw the oldest away."""

    def __init__(self):
        self.kept = OrderedDict()
        self.computed = 0

    def get(self, key):
        if key not in self.kept:
            self.computed += 1
            self.kept[key] = str(key)
            if len(self.kept) > 1:
                self.kept.popitem(last=False)
        return self.kept[key]


# Two threads that ask for different things throw each other's away before it is returned: KeyError. A build with a GIL
# can do it, too: it switches after a call of C code, such as the first calls of `len`, until that call is specialised.
def test_a_cache_under_two_threads(gilcheck):
    result = gilcheck.fuzz(setup=Cache, threads=[lambda cache: cache.get(1), lambda cache: cache.get(2)])
    result.assert_violated()
    assert (result.kind, result.symptom) == ("BREAKS-TODAY", "exception"), result


class Transfers:
    def __init__(self):
        self.first, self.second = threading.Lock(), threading.Lock()

    def there(self):
        with self.first, self.second:
            pass

    def back(self):
        with self.second, self.first:
            pass


# Two locks in two orders: the report is a table of who waits for what, who has it, and where it was taken and made.
def test_two_locks_in_two_orders(gilcheck):
    result = gilcheck.fuzz(setup=Transfers, threads=[Transfers.there, Transfers.back])
    result.assert_violated()
    assert result.symptom == "deadlock", result
    gilcheck.fuzz(setup=Transfers, threads=[Transfers.there, Transfers.there]).assert_holds()


# Threads that the code starts by itself are scheduled too, and so are its timeouts: nobody really sleeps.
def test_a_worker_that_is_told_to_stop(gilcheck):
    def work():
        stop, seen = threading.Event(), []
        worker = threading.Thread(target=lambda: seen.append(stop.wait(timeout=30)))
        worker.start()
        stop.set()
        worker.join()
        assert seen == [True]

    gilcheck.fuzz(threads=[work, work], budget=4).assert_holds()
