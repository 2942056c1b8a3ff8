"""What people read: in a terminal, in the lines that point at a test, and at the end of a run."""

import json
import os
import re
import subprocess
import sys

import pytest

FAILING = """
import pytest

class Counter:
    value = 0

@pytest.fixture
def counter(): return Counter()

@pytest.mark.gil_fuzz(invariant=lambda counter: counter.value == 2, schedules=50)
def test_counts(counter):
    counter.value += 1

@pytest.mark.gil_scaling(min_spedup=2)
def test_misspelt():
    pass

def test_called(gilcheck, counter):
    def add(): counter.value += 1
    gilcheck.fuzz(threads=[add, add], invariant=lambda: False, schedules=20, name="called").assert_holds()

@pytest.mark.gil_scaling(threads=2)
def test_nothing():
    pass
"""
ALONE = ("-p", "no:cacheprovider", "-p", "gilcheck")


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "80")

    def run(source, *options):
        pytester.makepyfile(test_it=source)
        return pytester.runpytest_subprocess(*ALONE, *options)

    return run


@pytest.mark.slow
def test_a_failure_says_its_headline_once_and_how_to_mend_it(run):
    text = run(FAILING).stdout.str()
    headline = "test_counts: violated GIL-MASKED: invariant: counter.value == 2 is False (counter.value = 1)"
    assert text.count(headline) == 1
    assert "  help: gilcheck explain GC507, or https://" in text
    assert "test_counts - violated GIL-MASKED" in text
    assert re.search(r"^inconclusive +scaling .*\n  GC901 ", text, re.MULTILINE)


@pytest.mark.slow
def test_the_story_fits_80_columns_and_has_the_place_of_each_step(run):
    text = run(FAILING).stdout.str()
    story = text[text.index("      T0      T1") : text.index("  decided by")].splitlines()
    assert max(map(len, story)) <= 80
    assert sum(line.endswith("test_it.py:11") for line in story) == 3


@pytest.mark.slow
def test_tb_line_and_refused_arguments_point_at_the_users_test(run):
    text = run(FAILING, "--tb=line").stdout.str()
    assert re.search(r"/test_it\.py:9: violated GIL-MASKED", text)
    assert re.search(r"/test_it\.py:13: gilcheck: gil_scaling: unknown argument 'min_spedup', did you mean 'min_speedup'\?", text)
    assert re.search(r"/test_it\.py:19: .*called: violated: it fails without any concurrency", text)
    assert "pytest_gilcheck/" not in text.partition("= FAILURES =")[2].partition("= gilcheck: ")[0]


def test_files_are_announced_and_records_have_their_code_and_the_command_to_run_again(run, pytester):
    result = run(FAILING, "--gilcheck-json=e.json")
    assert f"generated gilcheck evidence: {pytester.path / 'e.json'}" in result.stdout.str()
    found = {each["subject"].partition("::")[2]: each for each in json.loads((pytester.path / "e.json").read_text())["records"]}
    assert {name: each["code"] for name, each in found.items()} == {
        "test_counts": "GC507",
        "test_misspelt": "GC904",
        "test_called": "GC508",
        "test_nothing": "GC901",
    }
    assert found["test_counts"]["rerun"] == f"gilcheck replay {found['test_counts']['token']}"
    assert found["test_nothing"]["rerun"].startswith("pytest test_it.py::test_nothing")


def test_the_command_to_run_again_starts_from_the_folder_of_the_run(run, pytester):
    pytester.makeini("[pytest]")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_deep.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", *ALONE, "-k", "nothing", "--gilcheck-json=e.json", "test_deep.py"]
    subprocess.run(command, cwd=pytester.path / "tests", check=False, capture_output=True)
    [record] = json.loads((pytester.path / "tests" / "e.json").read_text())["records"]
    assert record["rerun"] == "pytest test_deep.py::test_nothing"


def in_a_terminal(path, *options):
    """The output of pytest in a terminal of 100 columns."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", *ALONE, *options]
    process = subprocess.Popen(
        command, cwd=path, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"COLUMNS": "100", "TERM": "xterm"}
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # Linux: the other side is closed
        pass
    os.close(ours)
    process.wait()
    return text.decode()


@pytest.mark.slow
def test_a_check_that_takes_long_shows_what_it_does_in_a_terminal_alone(run, pytester):
    slow = """
import pytest, time

@pytest.mark.gil_interrupt(repeats=4, over=1.5)
def test_waits():
    time.sleep(30)
"""
    assert "\x1b7" not in run(slow).stdout.str()
    shown = in_a_terminal(pytester.path)
    assert re.search(r"\x1b7 \d s: SIGINT \d of 4, .*?\x1b\[K\x1b8", shown)
    assert shown.rindex("\x1b[K") > shown.rindex("\x1b8")  # it is gone when the check is over


@pytest.mark.slow
def test_the_threads_of_a_story_are_coloured_in_a_terminal_alone(run, pytester):
    assert "\x1b" not in run(FAILING).stdout.str()
    shown = in_a_terminal(pytester.path, "-k", "counts", "--color=yes")
    assert "\x1b[36m   2  counter.value += 1" in shown
    assert "\x1b[35m   4          counter.value += 1" in shown
    assert re.search(r"\x1b\[33m.*-- T0 is preempted", shown)
