"""A test that measures time waits for the machine before its protocol begins, and says so."""

import os
import subprocess
import sys

import pytest

from tests.core.test_machine_lock import Waiter

CONFTEST = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):  # where a plugin starts the clock of a time limit
    item.config.get_terminal_writer().line("the clock runs", flush=True)
    return (yield)
"""
MEASURES = "def test_it(gilcheck):\n    gilcheck.scaling(lambda: None, threads=2, judge=False)"
SEARCHES = """
import pytest

@pytest.mark.gil_fuzz(schedules=2)
def test_it():
    list(map(str, [1]))
"""


@pytest.fixture
def start(pytester, monkeypatch):
    """Start pytest on a source while another process has the machine: ``start(source)`` is both."""
    monkeypatch.setenv("GILCHECK_LOCK", str(pytester.path / "lock"))
    running = []

    def start(source):
        pytester.makeconftest(CONFTEST)
        pytester.makepyfile(source)
        holder = Waiter(pytester.path / "lock")
        running.append(holder.process)
        assert holder.says() == "has it"
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
        tests = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=pytester.path, env=dict(os.environ))
        running.append(tests)
        return holder, tests

    yield start
    for process in running:
        process.kill()
        process.communicate()


def lines_until(tests, text):
    lines = []
    for line in tests.stdout:
        lines.append(line)
        if text in line:
            return lines
    pytest.fail("".join(["never said: ", text, "\n", *lines]))


def test_no_time_limit_runs_while_a_test_waits_for_the_machine(start):
    holder, tests = start(MEASURES)
    before = lines_until(tests, f"waiting for another check on this machine (pid {holder.process.pid})")
    assert "the clock runs" not in "".join(before)
    holder.go_on()
    assert "the clock runs" in "".join(lines_until(tests, "1 passed"))


@pytest.mark.slow
def test_a_search_waits_for_nobody(start):
    _, tests = start(SEARCHES)
    assert "waiting" not in "".join(lines_until(tests, " in "))
    assert tests.wait() in (0, 1)
