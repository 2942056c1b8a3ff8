"""Who swallowed the interrupt, where neither a line of its own nor a raised exception tells."""

import asyncio
import gc
import os
import queue
import signal
import subprocess
import time
import unittest

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.fork_safety import can_fork

from ..undecided import decided, undecided
from . import holder
from .sentences import contradictions

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *details):
        return True


def with_on_one_line():
    while True:
        with Swallows(): time.sleep(0.02)  # fmt: skip # noqa: E701


def with_in_a_function_that_returns_nothing():
    def step():
        with Swallows():
            time.sleep(0.02)

    while True:
        step()


def generator_that_is_freed():
    def numbers():
        try:
            yield 1
        finally:
            time.sleep(0.03)

    while True:
        for _ in numbers():
            break


def callback_of_the_collector():
    def slow_callback(phase, details):
        time.sleep(0.02)

    gc.callbacks.append(slow_callback)
    while True:
        gc.collect(0)


def handler_of_unittest():
    unittest.installHandler()
    time.sleep(60)


def handler_that_becomes_another_program():
    signal.signal(signal.SIGINT, lambda number, frame: os.execv("/bin/sleep", ["sleep", "60"]))
    time.sleep(60)


class Failed(Exception):
    pass


def exception_that_a_step_makes_of_it():
    def step():
        try:
            time.sleep(0.02)
        except BaseException as error:
            raise Failed from error

    while True:
        try:
            step()
        except Exception:
            pass


def cleanup_that_fails():
    def step():
        try:
            time.sleep(0.02)
        finally:
            os.close(-1)

    while True:
        try:
            step()
        except OSError:
            pass


def error_that_is_handled_in_the_clause():
    while True:
        try:
            time.sleep(0.02)
        except KeyboardInterrupt:
            try:
                os.close(-1)
            except OSError:
                failed = True
                assert failed
            time.sleep(0)


def finally_that_returns_at_its_end():
    def step():
        done = False
        try:
            time.sleep(0.02)
            done = True
        finally:
            if not done:
                return "not done"  # noqa: B012
        return "done"

    while True:
        step()


def finalizer_of_a_temporary():
    class Slow:
        def __del__(self):
            time.sleep(0.03)

    while True:
        Slow()


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (exception_that_a_step_makes_of_it, "(exception_that_a_step_makes_of_it), after `raise Failed from error` at "),
        pytest.param(cleanup_that_fails, "`except OSError:` at ", marks=pytest.mark.slow),
        pytest.param(cleanup_that_fails, "after `os.close(-1)` at ", marks=pytest.mark.slow),
        pytest.param(error_that_is_handled_in_the_clause, "`except KeyboardInterrupt:` at ", marks=pytest.mark.slow),
        pytest.param(finally_that_returns_at_its_end, '(`return "not done"', marks=pytest.mark.slow),
        pytest.param(finalizer_of_a_temporary, f"in which it came at {__file__}:", marks=pytest.mark.slow),
        pytest.param(with_on_one_line, "(`with Swallows(): time.sleep(0.02)", marks=pytest.mark.slow),
        pytest.param(with_in_a_function_that_returns_nothing, "(`with Swallows():`), which suppresses it", marks=pytest.mark.slow),
        pytest.param(generator_that_is_freed, "it called generator_that_is_freed.<locals>.numbers", marks=pytest.mark.slow),
        pytest.param(
            callback_of_the_collector, "it called callback_of_the_collector.<locals>.slow_callback", marks=pytest.mark.slow
        ),
        pytest.param(handler_of_unittest, "signals.py", marks=pytest.mark.slow),
        pytest.param(
            handler_that_becomes_another_program, "the program /bin/sleep, which the process became", marks=pytest.mark.slow
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_swallows_is_named_and_called_swallowed(work, said):
    result = decided(gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5))
    result.assert_violated()
    assert result.outcome == "swallowed"
    assert said in result.culprit
    assert contradictions(result) == []


@pytest.mark.slow
def test_what_starts_a_process_that_is_left_behind_is_named_and_one_that_is_ended_holds(tmp_path):
    def work(ended=False):
        child = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
        try:
            (tmp_path / str(os.getpid())).touch()
            time.sleep(60)
        finally:
            if ended:
                child.kill()
            child.returncode = 0  # nobody waits for it, and its finalizer must not warn

    result = decided(gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5))
    if not all((tmp_path / str(trial.pid)).exists() for trial in result.trials):
        undecided("the signal came before the process was started")
    result.assert_violated()
    assert f"starts processes at {__file__}:{work.__code__.co_firstlineno + 1} " in result.culprit
    gilcheck.interrupt(lambda: work(ended=True), repeats=1, over=0.1).assert_holds()


@pytest.mark.slow
def test_a_handler_of_a_library_that_returned_is_said_to_have_returned():
    result = gilcheck.interrupt(handler_of_unittest, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert "it returned, and nothing ended the workload" in result.culprit


def test_a_with_that_lets_the_interrupt_pass_holds_on_one_line_too():
    def work():
        while True:
            with open(os.devnull): time.sleep(0.02)  # fmt: skip # noqa: E701

    gilcheck.interrupt(work, repeats=1, over=0.1).assert_holds()


@pytest.mark.slow
def test_a_worker_thread_in_a_function_of_a_library_is_named_with_that_function():
    async def work():
        await asyncio.to_thread(queue.Queue().get)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert "a worker thread of an executor" in result.culprit
    assert "(Queue.get)" in result.culprit or "(get)" in result.culprit


@pytest.mark.skipif(holder.compiler()[0] is None, reason="no C compiler")
@pytest.mark.slow
def test_a_call_of_c_in_which_the_signal_was_handled_and_that_does_not_return_is_named():
    extension = holder.built()

    def work():
        extension.ignore(60.0)

    result = gilcheck.interrupt(work, repeats=1, over=0.1, exits_within=0.5)
    result.assert_violated()
    assert result.outcome == "stuck in cleanup"
    assert f"`extension.ignore(60.0)` at {__file__}" in result.culprit
    assert "out of which no exception came" in result.culprit
