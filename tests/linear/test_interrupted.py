"""Ctrl-C ends a campaign with what was found so far: a real signal to a real process, at a terminal of its own."""

import json
import os
import signal
import subprocess
import sys

import pytest

from ..slow import one_in

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

CLASSES = """
    import threading

    class Counter:
        work = 5_000_000
        def __init__(self):
            sum(range(self.work))  # so that there is time for Ctrl-C: a terminal shows nothing in the first second
            self.count = 0
        def add(self):
            self.count += 1
            return self.count

    class Locked(Counter):
        work = 1_000_000
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()
        def add(self):
            with self.lock:
                return super().add()
"""
TESTS = """
    from pytest_gilcheck import linearizable
    from counters import NAME

    test_it = linearizable(NAME, seed=1, examples=5000)

    def test_after_it():
        pass
"""
WHILE_DRAWING, WHILE_TELLING = b"10 programs", b"making the program smaller"
CASES = [
    pytest.param("Locked", WHILE_DRAWING, "inconclusive", id="while drawing"),
    pytest.param("Counter", WHILE_TELLING, "violated", id="while telling"),
]


@pytest.fixture
def counters(pytester, monkeypatch):
    pytester.makepyfile(counters=CLASSES)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pytester


def interrupted(command, awaited, folder):
    """Run a command at a terminal, and press Ctrl-C when it has shown this; returns its exit status and all that it has shown."""
    ours, its = os.openpty()
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, cwd=folder, start_new_session=True) as process:
        os.close(its)
        shown, sent = b"", False
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # the last process has closed the terminal
                break
            shown += data
            if not sent and awaited in shown:
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does: its guarded child is in another group
                sent = True
    os.close(ours)
    assert sent, shown.decode()
    return process.returncode, shown.decode()


@pytest.mark.parametrize(("name", "awaited", "verdict"), CASES)
def test_the_command_reports_what_was_found_and_covered_so_far(counters, name, awaited, verdict):
    command = [sys.executable, "-m", "pytest_gilcheck", "fuzz", f"counters:{name}"]
    status, shown = interrupted([*command, "--json=e.json", "--seed=1", "--examples=5000"], awaited, counters.path)
    assert status == 130, shown
    [record] = json.loads((counters.path / "e.json").read_text())["records"]
    assert record["verdict"] == verdict, shown
    assert record["figures"]["programs"]
    assert f"{name}: {verdict}" in shown
    assert "Ctrl-C ended the campaign" in shown


@pytest.mark.parametrize("isolate", ["fork", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "awaited", "verdict"), one_in(2, reversed(CASES)))
def test_a_test_reports_what_was_found_and_the_run_ends_after_it(counters, name, awaited, verdict, isolate):
    counters.makepyfile(test_counters=TESTS.replace("NAME", name))
    options = ["-p", "no:cacheprovider", f"--gilcheck-isolate={isolate}", "--gilcheck-json=e.json", "-rs"]
    status, shown = interrupted([sys.executable, "-m", "pytest", *options, "test_counters.py"], awaited, counters.path)
    assert status == pytest.ExitCode.INTERRUPTED, shown
    [record] = json.loads((counters.path / "e.json").read_text())["records"]
    assert record["verdict"] == verdict, shown
    assert "Ctrl-C ended the campaign" in shown
    assert "Interrupted: Ctrl-C" in shown
    assert "passed" not in shown  # of the next test


def test_before_a_campaign_has_begun_it_ends_the_command_with_one_line(counters):
    counters.makepyfile(slow_import="import sys, threading\nprint('importing', flush=True)\nthreading.Event().wait()")
    status, shown = interrupted([sys.executable, "-m", "pytest_gilcheck", "fuzz", "slow_import:C"], b"importing\r\n", counters.path)
    assert status == 130
    assert shown.split() == ["importing", "gilcheck:", "interrupted"]
