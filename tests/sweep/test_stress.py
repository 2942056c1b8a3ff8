"""``pytest --gilcheck-sweep=stress``: the clients of each test with real threads."""

import pytest

from pytest_gilcheck.core.cores import usable_cores
from pytest_gilcheck.core.evidence_files import read
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from pytest_gilcheck.sweep.remembered import Remembered
from pytest_gilcheck.sweep.swept import SweepOutcome, Swept

FREE = build() == FREE_THREADED
for_real = pytest.mark.skipif(
    not FREE or usable_cores() < 2 or can_fork() is not None, reason="real threads need a build without a GIL, two cores and a fork"
)
SUITE = """
import os, threading, pytest

INSIDE, SEEN, LOCK = [], [], threading.Lock()

def meet(what):
    INSIDE.append(1)
    for _ in range(3000):
        if len(INSIDE) > 1:
            what()
    INSIDE.pop()

def clash():
    raise RuntimeError("two at once")

@pytest.fixture
def own(tmp_path):
    tmp_path.joinpath("file").write_text("1")
    return tmp_path

@pytest.mark.parametrize("number", [1, 2])
def test_own(own, number):
    assert own.joinpath("file").read_text() == "1" and number

def test_locked():
    with LOCK:
        meet(clash)

def test_chdir(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

def test_once():
    assert not SEEN
    SEEN.append(1)

def test_threads():
    thread = threading.Thread(target=LOCK.locked)
    thread.start()
    thread.join()
"""
RAISES = """

def test_raises():
    meet(clash)
"""
BROKEN = f"""{RAISES}

def test_exits():
    meet(lambda: os._exit(9))
"""


@pytest.fixture
def sweep(run, pytester):
    """Sweep a suite with real threads; returns the run, and what became of each test by its name."""

    def sweep(suite, budget, *options):
        result = run(
            suite,
            "--gilcheck-sweep=stress",
            f"--gilcheck-sweep-budget={budget}",
            "--gilcheck-json=e.json",
            *options,
            name="test_suite",
            timeout=400,
        )
        records = read(pytester.path / "e.json")
        tests = next(record for record in records if record["subject"] == "all tests")["details"]["tests"]
        return result, {test["test"].partition("::")[2]: test for test in tests}

    return sweep


@for_real
def test_a_sound_suite_keeps_its_outcomes_and_nothing_is_condemned(sweep):
    result, tests = sweep(SUITE, 15, "--gilcheck-sweep-min=10")
    result.assert_outcomes(passed=6)
    assert result.ret == 0, result.stdout.str()
    assert tests["test_chdir"]["outcome"] == "refused"
    assert tests["test_once"]["outcome"] == "not repeatable"
    assert tests["test_threads"]["outcome"] == "nothing seen with real threads"
    may_be = {"nothing seen with real threads", "cut short"}  # on a busy machine, few runs overlap
    assert {tests[name]["outcome"] for name in ("test_own[1]", "test_own[2]", "test_locked")} <= may_be


@for_real
def test_what_breaks_and_what_ends_its_process_is_told_with_its_test_and_the_rest_goes_on(sweep):
    result, tests = sweep(SUITE + BROKEN, 40)
    result.assert_outcomes(passed=8)
    assert result.ret == 1
    assert tests["test_raises"]["outcome"] in ("broken by real threads", "broken by a schedule"), tests
    assert tests["test_exits"]["outcome"] == "broken by real threads"
    assert "exited with status 9" in tests["test_exits"]["reason"]
    result.stdout.fnmatch_lines(["*met by 1 test: test_suite.py::test_exits", "*C-LEVEL: crashed: *by chance*", "*mode='stress')"])


LEAVES = """
import threading

def test_before():
    assert 2 + 2 == 4

def test_leaves():
    threading.Thread(target=threading.Event().wait, name="left-behind", daemon=True).start()
"""


@for_real
def test_after_a_thread_was_left_running_a_process_from_before_it_runs_the_clients(sweep):
    _, tests = sweep(LEAVES + SUITE + RAISES, 40)
    assert tests["test_raises"]["outcome"] in ("broken by real threads", "broken by a schedule"), tests
    assert tests["test_locked"]["outcome"] in ("nothing seen with real threads", "cut short")
    assert "left-behind; a test with threads of its own" in tests["test_threads"]["reason"]


@pytest.mark.skipif(FREE, reason="for builds with a GIL")
def test_a_build_with_a_gil_is_a_usage_error_that_names_what_to_run(run):
    result = run("def test_it(): pass", "--gilcheck-sweep=stress")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert "python3.13t" in line
    assert "--gilcheck-sweep" in line


def test_another_word_is_refused_and_a_path_is_no_word(run, pytester):
    assert run("def test_it(): pass", "--gilcheck-sweep=real", name="test_suite").ret == pytest.ExitCode.USAGE_ERROR
    result = run(None, "--gilcheck-sweep", "test_suite.py", "--gilcheck-sweep-budget=1")
    result.assert_outcomes(passed=1)


def test_what_real_threads_do_not_show_again_is_not_gone():
    remembered = Remembered([{"lines": ["shop.py: n += 1"], "tests": {"test_it": ""}}])
    unbroken, holds = (Swept(test="test_it", outcome=outcome) for outcome in (SweepOutcome.UNBROKEN, SweepOutcome.HOLDS))
    assert unbroken.decided
    assert not list(remembered.gone([], [unbroken]))
    assert list(remembered.gone([], [holds]))
