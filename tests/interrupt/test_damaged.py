"""A workload that damages the process it runs in: nothing holds because our code failed there, and a good reaction holds."""

import builtins
import itertools
import os
import signal
import sys
import time
from dataclasses import replace

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.system import HAS_PROC
from pytest_gilcheck.interrupt.claim import InterruptClaim
from pytest_gilcheck.interrupt.delivery import deliver
from pytest_gilcheck.interrupt.starting import Starter

from ..slow import only
from . import importable

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")

FEW = {"repeats": 1, "over": 0.1}


def nothing_is_an_instance():
    builtins.isinstance = None


def no_memoryview():
    builtins.memoryview = None


def no_exceptions():
    builtins.Exception = builtins.OSError = None


def no_library():
    sys.modules.clear()


def no_functions_of_os():
    for name in ("write", "fstat", "_exit", "getpid", "getpgrp"):
        setattr(os, name, None)


def hardly_any_room():
    for limit in itertools.count(10):
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:  # it is lower than the depth of this call, with calls of C code on 3.11
            continue
        sys.setrecursionlimit(limit + 2)
        return


def no_new_hooks():
    """Raises for what our handler does; a hook of a program that allows only what it knows."""

    def refuse(event, arguments):
        if event == "marshal.dumps":
            raise RuntimeError(event)

    sys.addaudithook(refuse)


def all_closed():
    os.closerange(3, 5000)


MENDED = [nothing_is_an_instance, no_memoryview, no_exceptions, no_library, no_functions_of_os, hardly_any_room]
DAMAGES = {damage.__name__: damage for damage in MENDED}
SAMPLE = {"nothing_is_an_instance", "hardly_any_room"}


def sleeping(damage):
    def work():
        damage()
        time.sleep(60)

    return work


def swallowing(damage):
    def work():
        damage()
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                pass

    return work


@pytest.mark.parametrize("damage", only(SAMPLE, DAMAGES))
def test_a_workload_that_reacts_well_holds_after_it_has_damaged_its_process(damage):
    result = gilcheck.interrupt(sleeping(DAMAGES[damage]), **FEW)
    result.assert_holds()
    assert result.reason.startswith("1 trial of SIGINT in its first 0.1 s: handled within ")


@pytest.mark.parametrize("damage", only(SAMPLE, DAMAGES))
def test_a_workload_that_swallows_the_signal_is_violated_after_it_has_damaged_its_process(damage):
    result = gilcheck.interrupt(swallowing(DAMAGES[damage]), exits_within=0.4, **FEW)
    result.assert_violated()
    assert result.outcome == "swallowed"
    assert "`except KeyboardInterrupt:`" in result.reason


@pytest.mark.parametrize("body", [pytest.param(sleeping, marks=pytest.mark.slow), swallowing])
@pytest.mark.parametrize(
    ("damage", "why"),
    [(no_new_hooks, "it changed what pytest-gilcheck needs there"), (all_closed, "it closed descriptors that it did not open")],
)
def test_where_our_code_in_the_process_fails_or_cannot_report_nothing_is_decided(damage, why, body):
    result = gilcheck.interrupt(body(damage), **FEW)
    assert result.verdict == "inconclusive"
    assert f"the process could not report: {why}" in result.reason


def test_a_new_interpreter_reports_without_the_built_in_names_that_its_connection_needs():
    starter = replace(Starter(importable.sleeps_without_len, None, (signal.SIGINT,)), spawn=True)
    claim = InterruptClaim(1.0, 5.0, (signal.SIGINT,))
    trial = deliver(starter, signal.SIGINT, 0.05, claim, 20.0)
    assert (trial.left_by, trial.outcome) == ("KeyboardInterrupt", None)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring")
@pytest.mark.parametrize("event", ["CALL", "PY_START"])
def test_a_tool_that_raises_in_our_code_lets_no_second_process_run_on(event):
    ours = os.path.dirname(sys.modules["pytest_gilcheck"].__file__)

    def raising(code, *values):
        if code.co_filename.startswith(ours):
            raise ValueError(code)

    def tool():
        monitoring = sys.monitoring
        monitoring.use_tool_id(2, "raising")
        monitoring.register_callback(2, getattr(monitoring.events, event), raising)
        monitoring.set_events(2, getattr(monitoring.events, event))

    pid = os.getpid()
    result = gilcheck.interrupt(swallowing(tool), **FEW)
    assert os.getpid() == pid, "the fork came back to the test"
    assert result.verdict == "inconclusive"
    assert "the process could not report: it changed what pytest-gilcheck needs there" in result.reason


class Unspeakable(Exception):
    def __str__(self):
        raise SystemExit("not even that is an error")

    __repr__ = __str__


def test_an_exception_that_cannot_be_told_ends_the_workload_as_any_other():
    def work():
        try:
            time.sleep(60)
        finally:
            raise Unspeakable

    gilcheck.interrupt(work, **FEW).assert_holds()

    def fails():
        raise LookupError(Unspeakable())

    with pytest.raises(LookupError):
        gilcheck.interrupt(fails, **FEW)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT], ids=["SIGKILL", "SIGTERM", "SIGABRT"])
def test_a_signal_that_the_workload_sends_to_itself_is_named(number):
    result = gilcheck.interrupt(lambda: os.kill(os.getpid(), number), **FEW)
    assert result.verdict == ("violated" if number == signal.SIGABRT else "inconclusive")
    assert f"was killed by {number.name}" in result.reason
    assert "os._exit" not in result.reason


@pytest.mark.skipif(not HAS_PROC, reason="a stopped process is told by /proc")
def test_a_workload_that_stops_itself_is_not_called_deaf():
    result = gilcheck.interrupt(lambda: os.kill(os.getpid(), signal.SIGSTOP), **FEW)
    assert result.verdict == "inconclusive"
    assert result.reason.startswith("no signal could be sent: the process was stopped by a signal (SIGSTOP")


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PROC, reason="a stopped process is told by /proc")
def test_a_workload_that_stops_itself_after_the_signal_has_not_swallowed_it():
    def work():
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGSTOP)

    result = gilcheck.interrupt(work, exits_within=0.4, **FEW)
    assert result.verdict == "inconclusive"
    assert "the process was stopped by a signal (SIGSTOP" in result.reason


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a call of C code needs room as well")
def test_a_signal_that_finds_no_room_for_its_handler_decides_nothing():
    def work():
        reached = []

        def deeper():
            try:
                deeper()
            except RecursionError:
                if reached:
                    raise
                reached.append(True)
                time.sleep(60)

        deeper()

    result = gilcheck.interrupt(work, **FEW)
    assert result.verdict == "inconclusive"
    assert "the workload ended with RecursionError" in result.reason


@pytest.mark.slow
def test_a_handler_of_the_workload_that_raises_is_no_failure_of_ours():
    def work():
        def stop(number, frame):
            raise ValueError("stop")

        signal.signal(signal.SIGINT, stop)
        time.sleep(60)

    gilcheck.interrupt(work, **FEW).assert_holds()
