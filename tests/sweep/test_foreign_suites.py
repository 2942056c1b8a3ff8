"""What suites of public packages do, and a sweep has got wrong: names of modules that a helper sets, errors of our own, reasons."""

import re
import subprocess
import sys

import pytest

from pytest_gilcheck.adaptors.sweep_child import fails_alone
from pytest_gilcheck.engine.bytecode.calls import makes_steps
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.sweep.footprint import footprint
from pytest_gilcheck.sweep.swept import SweepOutcome, Swept

from .test_accounting import account as account
from .test_sweep import SHOP, counted, unlocked
from .test_sweep import sweep as sweep

RECORD = """
import io, sys

LEVEL = 1
KINDS = {}
WRITTEN = sys.stdout

class Kind:
    default = 0

def level():
    return LEVEL

def written(function):
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        function()
        return sys.stdout.getvalue()
    finally:
        sys.stdout = before

def raised(function):
    global WRITTEN
    WRITTEN = io.StringIO()
    print(function(), file=WRITTEN)
    return WRITTEN.getvalue()
"""
SETS = """
import record

def put(level):
    record.LEVEL = level

def test_by_a_helper():
    put(2)
    assert record.level() == 2

def test_by_an_import_of_its_own():
    import record as own
    before, own.LEVEL = own.LEVEL, 3
    assert own.level() == 3
    own.LEVEL = before

def test_by_setattr():
    setattr(record.Kind, "default", 4)
    assert record.Kind.default == 4
"""
REDIRECTS = """
import record

def test_it():
    assert record.written(lambda: print("x")) == "x\\n"
"""
SETS_ITS_OWN = """
import record

def put(kind, level):
    kind.default = level

def test_a_class_of_its_own():
    class Kind(record.Kind):
        pass

    put(Kind, 2)
    assert Kind.default == 2

def test_what_the_package_sets():
    record.KINDS["a"] = record.level()
    assert record.KINDS.pop("a") == 1
"""


def test_a_name_of_a_module_or_class_that_a_helper_of_the_tests_sets_is_refused_by_its_place(sweep, pytester):
    pytester.makepyfile(record=RECORD)
    result, lines = sweep(SHOP, SETS)
    result.assert_outcomes(passed=3)
    assert counted(lines) == {"refused": 3}  # two of them for the same name
    for words in (
        "it sets record.LEVEL at test_suite.py:4 (put), which both clients share: it cannot be two clients",
        "it sets Kind.default at test_suite.py:17 (test_by_setattr), which",
    ):
        assert any(words in line for line in lines), words


def test_a_name_of_its_own_that_a_helper_sets_and_a_table_of_the_package_are_not_refused(sweep, pytester):
    pytester.makepyfile(record=RECORD)
    _, lines = sweep(SHOP, SETS_ITS_OWN, "--gilcheck-sweep-budget=10")
    assert counted(lines) == {"shares nothing that was seen": 1, "broken by a schedule": 1}


def test_a_package_that_sets_a_name_of_the_standard_library_is_refused_and_one_that_sets_its_own_is_searched(sweep, pytester):
    pytester.makepyfile(record=RECORD)
    _, lines = sweep(SHOP, REDIRECTS)
    assert counted(lines) == {"refused": 1}
    assert any("it sets sys.stdout at record.py:14 (written), which both clients share" in line for line in lines)
    result, lines = sweep(SHOP, REDIRECTS.replace("written(lambda: print", "raised(lambda: str"))
    assert counted(lines) == {"broken by a schedule": 1}
    assert result.ret == 1


def waits_for_a_process():
    assert subprocess.call([sys.executable, "-c", "import time; time.sleep(0.5)"]) == 0


def test_what_a_thread_touches_that_comes_back_from_a_wait_outside_of_control_is_known_as_its_own():
    found = footprint(Program((waits_for_a_process,) * 2, name="clients"), 20.0)
    assert found.ran
    assert found.why


def raised(function):
    try:
        function()
    except Exception as error:
        return error


def test_an_error_of_this_package_is_not_told_of_the_test_and_one_of_the_test_is():
    outcome, reason = fails_alone(raised(lambda: Swept.unpacked({"failed": {}, "outcome": ""})))
    assert outcome is SweepOutcome.NOT_REPEATABLE  # which a function of the test has called
    error = raised(lambda: Swept.unpacked({}))
    own = error.with_traceback(error.__traceback__.tb_next.tb_next)
    outcome, reason = fails_alone(own)
    assert outcome is SweepOutcome.REFUSED
    assert re.fullmatch(r"internal error of gilcheck: KeyError: 'failed' \(swept\.py:\d+\); please report it", reason)


def test_tests_that_are_refused_at_different_places_are_one_reason_with_the_place_of_the_first(account, tmp_path):
    words = "it changes the environment at {}/test_a.py:{} (put), which both clients share"
    tests = [Swept(test=f"t{line}", outcome=SweepOutcome.REFUSED, reason=words.format(tmp_path, line)) for line in (3, 4)]
    late = "a run of it has not ended after 5 s: T{} is at {}/shop.py:9 (sell)"
    tests += [Swept(test=f"c{index}", outcome=SweepOutcome.CUT_SHORT, reason=late.format(index, tmp_path)) for index in (0, 1)]
    changing = "gave different steps: step {0} is 'T0 reads a' first, then 'T{0} ends'; so {0} runs prove nothing; seed it"
    tests += [Swept(test=f"n{step}", outcome=SweepOutcome.NOT_REPEATABLE, reason=changing.format(step)) for step in (1, 2)]
    lines = [line.strip() for line in account(tests).lines()]
    assert "2 it changes the environment at test_a.py:3 (put), which both clients share (t3, ...)" in lines
    assert "2 a run of it has not ended after 5 s: T0 is at shop.py:9 (sell) (c0, ...)" in lines
    assert f"2 {changing.format(1)} (n1, ...)" in lines


SUBTESTS = """
import unittest, pytest, shop

class Test(unittest.TestCase):
    def test_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertEqual(shop.sell(), 1)
        with self.subTest("of its own"):
            self.assertEqual([], [])
"""


def test_a_subtest_that_a_schedule_breaks_fails_and_those_that_none_breaks_pass(sweep):
    _, lines = sweep(unlocked(SHOP), SUBTESTS)
    assert counted(lines) == {"broken by a schedule": 1}
    result, lines = sweep(SHOP, SUBTESTS, "--gilcheck-sweep-budget=5")
    assert "broken by a schedule" not in counted(lines)
    assert result.ret == 0


BY_A_FIXTURE = """
import pytest

@pytest.fixture
def parts(subtests):
    return subtests

def test_it(parts):
    with parts.test("one"):
        assert 1 + 1 == 2
"""


def test_subtests_of_a_fixture_are_refused_as_those_of_the_test_itself(sweep):
    pytest.importorskip("_pytest.subtests")
    _, lines = sweep(SHOP, BY_A_FIXTURE)
    assert counted(lines) == {"refused": 1}
    assert any("subtests report from one thread only" in line for line in lines)


def test_code_that_a_test_tool_makes_from_a_text_makes_no_steps_and_that_of_others_does():
    text = "def made(self): return self"
    for module, steps in (("_pytest.nodeid", False), ("hypothesis.core", False), ("shop", True), ("pytester_of_shop", True)):
        names = {"__name__": module}
        exec(text, names)  # as `dataclasses` does
        assert makes_steps(names["made"].__code__, names, lambda file: True) is steps
