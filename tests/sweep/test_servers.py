"""Which process answers for a test of a sweep: none of them may know less than the plain process knew before the test's body."""

import re

import pytest

from .test_sweep import counted

LAZY = """
class Lazy:
    one = None

    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = cls()
        return cls.one
"""
TRIVIAL = """
import os, signal, unittest
import pytest, shop

def test_trivial():
    assert 1 + 1 == 2
"""


@pytest.fixture
def sweep(run, pytester):
    """Sweep a suite beside a package; returns the run, and the lines of its account."""

    def sweep(suite, *options, shop="", conftest=None):
        pytester.makepyfile(shop=shop)
        if conftest is not None:
            pytester.makeconftest(conftest)
        result = run(TRIVIAL + suite, "--gilcheck-sweep", "--gilcheck-sweep-budget=40", *options, name="test_suite", timeout=300)
        lines = result.outlines
        begins = next(index for index, line in enumerate(lines) if "= gilcheck sweep =" in line)
        return result, [line.strip() for line in lines[begins + 1 :]]

    return sweep


WARMED = """
def test_warms(capsys):  # it cannot be two clients
    shop.Lazy.get()

def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()
"""


def test_what_a_test_that_is_not_swept_has_made_once_is_raced_for_all_the_same(sweep):
    result, lines = sweep(WARMED, shop=LAZY)
    result.assert_outcomes(passed=3)
    found = counted(lines)
    assert found["shares nothing that was seen"] == 1
    assert {
        "broken by a schedule",
        "not repeatable",
        "cut short",
    } & found.keys()  # a busy machine ends the search before it finds that


def test_what_is_made_at_import_is_raced_for_by_nobody(sweep):
    result, lines = sweep(WARMED, shop=f"{LAZY}\nLazy.get()\n")
    result.assert_outcomes(passed=3)
    assert counted(lines) == {"shares nothing that was seen": 2, "refused": 1}


WIDER = """
@pytest.fixture(scope="session")
def table():
    with open("set_up", "a") as log:
        log.write("x")
    return {"a": [1]}

@pytest.fixture(scope="module")
def late(table):
    return table["a"]

class TestMethods:
    @classmethod
    def setup_class(cls):
        cls.rows = [1, 2]

    def test_one(self):
        assert sum(self.rows) == 3

    def test_two(self):
        assert sum(self.rows) == 3

class TestCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = [1, 2]

    def test_case(self):
        self.assertEqual(sum(self.rows), 3)

def test_table(table):
    assert table["a"] == [1]

def test_asks(request):
    assert request.getfixturevalue("late") == [1]

def test_both(table, late):
    assert table["a"] is late

def test_after():
    assert True
"""


def test_wider_fixtures_are_set_up_once_and_every_test_with_them_is_decided(sweep, pytester):
    result, lines = sweep(WIDER)
    result.assert_outcomes(passed=8)
    assert counted(lines) == {"shares nothing that was seen": 8}
    assert (pytester.path / "set_up").read_text() == "x"


LEFT = """
STATE = {}

def test_fills():
    STATE["rows"] = [1]

def test_needs():
    assert STATE["rows"] == [1]

def test_needs_too():
    assert STATE["rows"] == [1]

def test_fills_where_it_cannot_be_swept(capsys):
    STATE["more"] = [2]

def test_needs_more():
    assert STATE["more"] == [2]
"""


def test_what_earlier_tests_have_left_is_there(sweep):
    result, lines = sweep(LEFT)
    result.assert_outcomes(passed=6)
    assert not any("a client fails" in line for line in lines)
    assert "broken by a schedule" not in counted(lines)
    assert counted(lines)["shares nothing that was seen"] == 4


HOOK = """
import shop

def pytest_runtest_setup(item):
    shop.NOW = item.name
"""


def test_what_a_hook_of_the_user_does_for_each_test_is_done(sweep):
    suite = "def test_one():\n    assert shop.NOW == 'test_one'\n\ndef test_two():\n    assert shop.NOW == 'test_two'\n"
    result, lines = sweep(suite, conftest=HOOK)
    result.assert_outcomes(passed=3)
    assert counted(lines) == {"shares nothing that was seen": 3}


KILLS = """
import psutil
MAIN = os.getpid()

def test_kills():
    if os.getpid() == MAIN:
        for each in psutil.Process().children():
            each.kill()

def test_after_it():
    assert 2 + 2 == 4

def test_after_both():
    assert 2 + 2 == 4
"""


def test_a_process_that_is_killed_costs_the_outcome_of_one_test(sweep):
    result, lines = sweep(KILLS)
    result.assert_outcomes(passed=4)
    assert counted(lines)["shares nothing that was seen"] == 3
    killed = r"1 the process of its sweep was killed by SIGKILL, as the system does where memory runs out \(process \d+\)"
    assert any(re.match(killed, line) for line in lines)


MARKS = """
import warnings

@pytest.mark.filterwarnings("ignore:old")
def test_ignores():
    warnings.warn("old")

def test_plain():
    with pytest.warns(UserWarning):
        warnings.warn("old")
"""


def test_filters_of_warnings_are_those_of_the_test(sweep):
    result, lines = sweep(MARKS, "-W", "error")
    result.assert_outcomes(passed=3)
    assert "not repeatable" not in counted(lines)


def test_a_test_that_dies_as_two_clients_leaves_the_records_of_the_others(sweep):
    suite = """
RUNS = []
MAIN = os.getpid()

def test_dies():
    if os.getpid() != MAIN:
        os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.parametrize("number", range(3))
def test_number(number):
    assert number < 3
"""
    result, lines = sweep(suite)
    result.assert_outcomes(passed=5)
    assert counted(lines)["shares nothing that was seen"] == 4
    assert any(re.search(r"test_dies", line) for line in lines)


FOLDERS = """
MAIN = os.getpid()

def test_asks(request):
    folder = request.getfixturevalue("tmp_path_factory").getbasetemp()
    if os.getpid() == MAIN:
        folder.joinpath("kept").write_text("x")

def test_own(tmp_path):
    assert tmp_path

def test_kept(tmp_path_factory):
    assert tmp_path_factory.getbasetemp().joinpath("kept").read_text() == "x"
"""


def test_the_folder_of_a_run_is_there_for_all_its_processes_and_none_of_them_empties_it(sweep):
    result, lines = sweep(FOLDERS, "--basetemp=folders", "--gilcheck-sweep-budget=3")
    result.assert_outcomes(passed=4)
    assert counted(lines)["shares nothing that was seen"] >= 2
