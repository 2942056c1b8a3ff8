"""Who held the GIL: the thread that ran, and the place where it let go."""

import pickle
import threading
import time

import pytest

from pytest_gilcheck.core.gil_holders import Holders
from pytest_gilcheck.core.held_fraction import held_fraction
from pytest_gilcheck.core.interpreter import FREE_THREADED, build, watcher
from tests.undecided import undecided

pytestmark = [
    pytest.mark.exclusive,
    pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold"),
    pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced"),
    pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="no CPU clocks of other threads"),
]
MANY = 8_000_000


def hold():
    sum(range(MANY))


def waited_for(work, seconds=0.5):
    """The holdings that one waiting thread sees beside the work."""
    over = threading.Event()

    def run():
        while not over.is_set():
            work()

    busy = threading.Thread(target=run)
    busy.start()
    holders = Holders()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        holders.before()
        start = time.perf_counter()
        time.sleep(0.001)
        if (wait := time.perf_counter() - start - 0.001) > 0.002 and (spot := holders.spot()) is not None:
            holders.charge(spot, wait)
    over.set()
    busy.join()
    return holders


def test_a_call_into_c_is_found_with_its_columns():
    holdings = waited_for(hold).holdings()
    found = [each.place for each in holdings if each.place.function == "hold"]
    assert found
    with open(__file__) as file:
        line = file.read().splitlines()[found[0].line - 1]
    assert line[slice(*found[0].call)] == "sum(range(MANY))"


def test_the_shares_are_of_the_time_waited():
    holders = waited_for(hold)
    assert sum(each.share for each in holders.holdings(most=100)) == pytest.approx(1)
    assert all(wait > 0.002 for each in holders.holdings() for wait in each.waits)
    assert sum(holders.shares().values()) == pytest.approx(1, abs=0.2)


def test_a_library_function_is_charged_with_the_caller_outside_of_it():
    import json

    data = [{f"k{i}": [i, i * 1.5] for i in range(200)} for _ in range(40)]

    def dump():
        json.dumps(data)

    callers = [each.place.caller for each in waited_for(dump).holdings() if each.place.file and "json" in each.place.file]
    assert callers
    assert all("test_held_fraction.py" in caller and "dump" in caller for caller in callers)


def test_threads_that_the_workload_starts_are_watched_too():
    def start_one():
        other = threading.Thread(target=hold, name="started by the workload")
        other.start()
        other.join()

    assert any(each.place.function == "hold" for each in waited_for(start_one, 1.0).holdings())


def test_a_thread_that_is_gone_is_no_error():
    holders = Holders()
    other = threading.Thread(target=time.sleep, args=(0.01,))
    other.start()
    holders.before()
    other.join()
    time.sleep(0.05)
    holders.spot()


def test_holdings_can_be_pickled():
    holdings = waited_for(hold).holdings()
    assert pickle.loads(pickle.dumps(holdings)) == holdings


def test_several_threads_can_be_probed_together():
    threads = set()

    def work():
        threads.add(threading.get_ident())
        time.sleep(0.002)

    held = held_fraction(work, seconds=0.2, limit=30, threads=3)
    assert held is not None
    if held.unusable:
        undecided(held.unusable)
    assert len(threads) == 3
    assert held.fraction < 0.5


def test_our_own_loop_is_no_line_of_the_workload():
    huge = [0] * 3_000_000

    def contains():
        return 1 in huge

    held = held_fraction(contains, seconds=0.4, limit=30)
    assert held is not None
    assert not any("pytest_gilcheck" in line and "/tests/" not in line for line in held.holders)
    if held.unusable:
        undecided(held.unusable)
    assert any(each.place.file is None for each in held.holdings)
