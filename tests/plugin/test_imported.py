"""A test that imports the object judges its results as one that asks for the fixture; a script judges its own."""

import json
import subprocess
import sys

import pytest

from tests.slow import one_in

from .test_judged import CHECKS

TESTS = """
def test_violated_and_not_judged(): gilcheck().fuzz(**VIOLATED)

def test_undecided_and_not_judged(): gilcheck().fuzz(**UNDECIDED)

def test_violated_and_asserted_so(): gilcheck().fuzz(**VIOLATED).assert_violated()

def test_violated_and_asserted_to_hold(): gilcheck().fuzz(**VIOLATED).assert_holds()

def test_violated_and_not_asked(): gilcheck().fuzz(**VIOLATED, judge=False)

def test_holds_and_not_judged(): gilcheck().fuzz(**HOLDS)
"""

AT_THE_TOP = "from pytest_gilcheck import gilcheck as imported\ngilcheck = lambda: imported\n"
IN_THE_TEST = "def gilcheck():\n    from pytest_gilcheck import gilcheck\n    return gilcheck\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "errors"),
    one_in(2, [pytest.param(AT_THE_TOP, 0, id="at the top"), pytest.param(IN_THE_TEST, 1, id="in the test")]),
)
def test_what_nobody_judges_is_never_green_and_everything_is_on_record(pytester, where, errors):
    pytester.makepyfile(where + CHECKS + TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--gilcheck-json=evidence.json", "-rs")
    # The checks are loaded by the first call of a run, so in the second case the first test has passed when its result is judged.
    result.assert_outcomes(passed=3 + errors, failed=2 - errors, errors=errors, skipped=1)
    result.stdout.fnmatch_lines(["*nobody judged this result*", "SKIPPED * inconclusive: *"])
    records = json.loads((pytester.path / "evidence.json").read_text())["records"]
    assert len(records) == 6
    assert {record["judged"] for record in records if record["subject"].endswith("asserted_so")} == {"assert_violated"}


@pytest.mark.slow
@pytest.mark.parametrize("test", one_in(2, ["asserted_to_hold", "asserted_so"]))
def test_a_test_that_fails_by_its_own_assertion_fails_once_also_if_it_makes_the_first_call_of_a_run(pytester, test):
    pytester.makepyfile(IN_THE_TEST + CHECKS + TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", test)
    result.assert_outcomes(**{"failed" if test == "asserted_to_hold" else "passed": 1}, deselected=5)


NAMELESS = """
import os
from unittest import mock
pytest_plugins = ["pytester"]

@mock.patch.dict(os.environ, clear=True)
def test_without_environment(): gilcheck().fuzz(**VIOLATED)

def test_after_another_pytest(pytester):
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_inprocess("-p", "no:cacheprovider")
    gilcheck().fuzz(**VIOLATED)

def test_beside_another_session(pytester):
    pytester.parseconfigure()
    gilcheck().fuzz(**VIOLATED)
"""
WAYS = [
    "without_environment",
    *(pytest.param(way, marks=pytest.mark.slow) for way in ("after_another_pytest", "beside_another_session")),
]


@pytest.mark.parametrize("way", WAYS)
def test_a_test_is_known_also_where_its_name_is_gone_from_the_environment(run, way):
    result = run(AT_THE_TOP + CHECKS + NAMELESS, "-k", way)
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*nobody judged this result*"])


def test_in_a_script_the_caller_judges(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(AT_THE_TOP + CHECKS + "print(gilcheck().fuzz(**VIOLATED).verdict)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "violated\n"), done.stderr


@pytest.mark.slow
def test_a_script_that_a_test_starts_is_not_that_test(pytester):
    (pytester.path / "script.py").write_text(AT_THE_TOP + CHECKS + "print(gilcheck().fuzz(**VIOLATED).verdict)\n")
    pytester.makepyfile("""
        import subprocess, sys
        from pytest_gilcheck import gilcheck

        def test_it():
            assert subprocess.run([sys.executable, "script.py"], capture_output=True, text=True).stdout == "violated\\n"
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
