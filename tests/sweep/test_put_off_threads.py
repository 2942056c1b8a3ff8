"""Tests that start threads of their own: their searches are put off like all others."""

import pytest

from .test_put_off import causes
from .test_servers import sweep as sweep  # the fixture
from .test_sweep import SHOP, counted, unlocked

RACY = unlocked(SHOP)
IN_THREADS = """
import threading

def in_threads():
    before = shop.TOTAL["n"]
    threads = [threading.Thread(target=shop.sell) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shop.TOTAL["n"] == before + 2
"""


STOPPED = f"""{IN_THREADS}
def test_threads():
    in_threads()

def test_fails():
    assert False

def test_not_run():
    pass
"""


def test_a_run_that_is_stopped_before_the_search_of_a_test_with_threads_says_so(sweep):
    _, lines = sweep(STOPPED, "-x", shop=RACY)
    assert lines[0] == "1 of 3 tests swept, 1 of them with threads of their own"
    assert any("and the run ended before (test_suite.py::test_threads)" in line for line in lines)
    assert not causes(lines)


MANY = f"""{IN_THREADS}
@pytest.mark.parametrize("number", range(11))
def test_threads(number):
    in_threads() if number == 10 else threading.Thread(target=int).start()
"""


@pytest.mark.slow
def test_more_tests_with_threads_than_processes_are_kept_are_all_decided_and_the_last_one_is_found(sweep):
    result, lines = sweep(MANY, shop=RACY)
    result.assert_outcomes(passed=12)
    assert counted(lines)["broken by a schedule"] == 1
    assert sum(counted(lines).values()) == 12
    assert not any("the run ended before" in line for line in lines)
    _, lines = sweep(MANY, shop=SHOP)
    assert not causes(lines)


WIDER = f"""{IN_THREADS}
class TestFirst:
    @pytest.fixture(scope="class")
    def file(self, tmp_path_factory):
        path = tmp_path_factory.mktemp("wide") / "file"
        path.write_text("x")
        yield path
        path.unlink()

    def test_threads(self, file):
        in_threads()
        assert file.read_text() == "x"

def test_after():
    assert True
"""


def test_a_test_with_threads_is_searched_before_its_wider_fixture_ends(sweep):
    _, lines = sweep(WIDER, shop=RACY)
    assert counted(lines) == {"shares nothing that was seen": 2, "broken by a schedule": 1}
    assert all(line.startswith("cause in your package: shop.py:") for line in causes(lines))


@pytest.mark.slow
def test_a_worker_of_xdist_tells_at_its_end_what_became_of_a_test_with_threads(sweep):
    _, lines = sweep(MANY, "-n1", shop=RACY)
    assert counted(lines)["broken by a schedule"] == 1
    assert sum(counted(lines).values()) == 12
    assert not any("the run ended before" in line for line in lines)


SLEEPS = """
from concurrent.futures import ThreadPoolExecutor
import shop, time

def test_sleeps_for_a_wait():
    sold = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(shop.sell, sold)
        time.sleep(0.2)
        assert sold == ["it"]

def test_waits():
    sold = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(shop.sell, sold).result()
        assert sold == ["it"]
"""
SOLD = """
class Sale:
    def __init__(self, what):
        self.what = what

def sell(sold):
    sale = Sale("it")
    sold.append(sale.what)
"""


@pytest.mark.slow
def test_a_sleep_of_a_test_that_stands_for_a_wait_is_a_cause_in_the_tests_although_the_package_is_preempted(sweep):
    result, lines = sweep(SLEEPS, shop=SOLD)
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    assert causes(lines) == ["cause in the tests: test_suite.py:14"]
    assert "met by 1 test: test_suite.py::test_sleeps_for_a_wait" in lines
