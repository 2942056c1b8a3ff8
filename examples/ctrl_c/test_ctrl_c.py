"""Ctrl-C: seen in time or not, by what; and code that is safe to interrupt beside code that is not.

    pytest examples/ctrl_c -v

The same answers hold with the GIL and without it.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest


# A service that waits in small steps: Ctrl-C gets through at once, and the process ends.
@pytest.mark.gil_interrupt(within=0.2, exits_within=2.0, repeats=4, over=0.3)
def test_service_loop():
    stop = threading.Event()
    while not stop.wait(0.05):
        pass


# SIGTERM, as `docker stop` sends it, with a handler that asks the loop to end.
@pytest.mark.gil_interrupt(signals="SIGTERM", repeats=4, over=0.3)
def test_service_that_is_told_to_stop():
    import signal

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    while not stop.wait(0.05):
        pass


# One long call into C never looks for signals; the report names it.
def test_one_long_c_call(gilcheck):
    result = gilcheck.interrupt(lambda: sum(range(10**9)), repeats=2, over=0.2)
    result.assert_violated()
    assert result.outcome == "deaf", result
    assert "sum(range(10 ** 9))" in result.culprit, result


# The same sum in pieces: between them, Python looks.
@pytest.mark.gil_interrupt(repeats=4, over=0.3)
def test_the_same_in_pieces():
    for start in range(0, 10**9, 10**5):
        sum(range(start, start + 10**5))


# Ctrl-C is seen at once, and then the executor waits for its workers.
def test_executor_that_waits_for_its_workers(gilcheck):
    def work():
        with ThreadPoolExecutor(1) as executor:
            executor.submit(time.sleep, 60).result()

    result = gilcheck.interrupt(work, repeats=1, over=0.2, exits_within=0.5)
    result.assert_violated()
    assert result.outcome in ("stuck in cleanup", "lingers"), result
    assert "ThreadPoolExecutor" in result.culprit, result


class Account:
    def __init__(self):
        self.lock, self.left, self.right = threading.Lock(), 100, 0

    def audit(self):
        """Anything that is called in between."""

    def transfer(self, amount):
        with self.lock:
            self.left -= amount
            self.audit()  # interrupted here, the money is gone
            self.right += amount

    def safe_transfer(self, amount):
        with self.lock:
            after = self.left - amount, self.right + amount
            self.audit()
            self.left, self.right = after


@pytest.fixture
def account():
    return Account()


def nothing_is_lost(account):
    return account.left + account.right == 100


# KeyboardInterrupt at every step of it in turn, each in a process of its own, and the invariant checked after each.
@pytest.mark.gil_interrupt(inject="every-step", invariant=nothing_is_lost)
def test_transfer_that_is_safe_to_interrupt(account):
    account.safe_transfer(10)


def test_transfer_that_is_not(gilcheck, account):
    result = gilcheck.interrupt(lambda: account.transfer(10), inject="every-step", invariant=lambda: nothing_is_lost(account))
    result.assert_violated()
    assert "self.audit()" in result.reason or "Account.audit" in result.reason, result
