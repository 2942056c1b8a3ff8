"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED, build, watcher
from pytest_gilcheck.settings import SETTINGS, ini_name, option, variable

README = (Path(__file__).parents[2] / "README.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
TESTS = [block for block in PYTHON if "def test_" in block]
ALONE = ("-p", "no:cacheprovider", "-p", "gilcheck")  # and no other plugin that happens to be installed
PROGRAMS = [block for block in PYTHON if "def test_" not in block]


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.split("\n")[0])
def test_every_program_runs(source):
    exec(compile(source, "README.md", "exec"), {})


@pytest.mark.parametrize("source", TESTS, ids=lambda source: re.findall(r"def (test_\w+)", source)[0])
def test_every_test_runs_and_ends_in_a_verdict(pytester, monkeypatch, source):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(source)
    result = pytester.runpytest_subprocess(*ALONE, "--gilcheck-budget=5")
    result.stdout.fnmatch_lines(["*= gilcheck: 1 *="])
    assert "rror" not in result.stdout.str().replace("errors", "")


def shape(text):
    """The text with every figure, path and rule blanked."""
    text = re.sub(r"(/[\w.+-]+)+\.py:\d+", "PATH", text)
    text = re.sub(r"CPython [\d.]+", "CPython", text)
    text = re.sub(r"\d+(\.\d+)?", "0", text)
    return re.sub(r"\b(us|ms|rounds?)\b", "UNIT", text)


@pytest.mark.exclusive
@pytest.mark.skipif(build() == FREE_THREADED, reason="the README shows the output of a GIL build")
@pytest.mark.skipif(watcher() is not None, reason="this test run is itself being traced")
def test_the_output_shown_is_the_output_of_the_example(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shown = re.search(r"<!-- output of the example -->\n```\n(.*?)\n```", README, re.DOTALL)
    assert shown is not None
    pytester.makepyfile(test_report=TESTS[0])
    result = pytester.runpytest_subprocess(*ALONE)
    real = {shape(line) for line in result.outlines}
    for line in shown[1].replace("\n      ", " ").split("\n"):  # the README wraps long lines
        start = shape(line)[:40]
        assert any(candidate.startswith(start) for candidate in real), line


def test_every_setting_is_in_the_table():
    for name in SETTINGS:
        for spelling in (option(name), variable(name), ini_name(name)):
            assert f"`{spelling}" in README
