"""Processes that end themselves, what an interpreter does on its way out, and imports on the way in."""

import importlib
import os
import signal
import sys
import time

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork

from . import importable

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


def dies_by_a_timer():
    signal.signal(signal.SIGINT, lambda number, frame: signal.setitimer(signal.ITIMER_REAL, 0.05))
    while True:
        time.sleep(60)


def kills_its_group_by_a_negative_number():
    signal.signal(signal.SIGINT, lambda number, frame: os.kill(-os.getpgrp(), signal.SIGKILL))
    time.sleep(60)


def has_a_quick_hook():
    sys.excepthook = lambda kind, error, trace: None
    time.sleep(60)


def has_a_slow_hook():
    def slow_hook(kind, error, trace):
        time.sleep(60)

    sys.excepthook = slow_hook
    time.sleep(60)


@pytest.mark.parametrize("work", [dies_by_a_timer, kills_its_group_by_a_negative_number, has_a_quick_hook])
def test_a_process_that_ends_itself_after_the_signal_holds(work):
    gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=2.0).assert_holds()


def test_the_hook_that_shows_the_interrupt_belongs_to_the_end_of_a_program():
    result = gilcheck.interrupt(has_a_slow_hook, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert result.outcome == "lingers"
    assert "sys.excepthook, which is has_a_slow_hook.<locals>.slow_hook" in result.culprit


@pytest.mark.slow
def test_a_hook_that_a_module_sets_when_it_is_imported_is_called_in_a_new_interpreter(monkeypatch):
    monkeypatch.setenv("GILCHECK_TEST_SLOW_HOOK", "1")
    result = gilcheck.interrupt(importable.sleeps, repeats=1, over=0.1, exits_within=1.0)
    result.assert_violated()
    assert result.outcome == "lingers"
    assert "sys.excepthook" in result.culprit


SLOW_MODULE = """
import time
until = time.monotonic() + 0.5
while time.monotonic() < until:
    try:
        time.sleep(0.01)
    except BaseException:
        pass
"""


@pytest.fixture
def late_module(tmp_path):
    """The folder of a module that only the workload can find, and that swallows all signals while it is imported."""
    (tmp_path / "late_module_of_a_workload.py").write_text(SLOW_MODULE)
    return str(tmp_path)


@pytest.mark.slow
def test_what_a_signal_does_in_the_middle_of_an_import_is_no_violation(late_module):
    def work():
        sys.path.insert(0, late_module)
        importlib.import_module("late_module_of_a_workload")
        time.sleep(60)

    result = gilcheck.interrupt(work, repeats=1, over=0.2, exits_within=0.5)
    assert (result.verdict, result.outcome) == ("inconclusive", "unreported"), str(result)
    assert "while late_module_of_a_workload was being imported" in result.reason


@pytest.mark.slow
def test_what_a_signal_does_after_an_import_is_judged(late_module):
    def work():
        sys.path.insert(0, late_module)
        importlib.import_module("late_module_of_a_workload")
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                continue

    result = gilcheck.interrupt(work, repeats=2, over=2.0, exits_within=0.5, seed=1)
    result.assert_violated()
    assert result.outcome == "swallowed"
