"""Visible steps: the same on every run, and an exception raised at one comes out of that very line."""

import sys
import threading

import pytest

from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.steps import Steps

from .forked_call import call

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, n):
        for _ in range(n):
            self.value += 1

    def look(self):
        return len(str(self.value))


def in_child(function):
    """Stepping removes other tools, so it belongs into a child."""
    outcome, value = call(function, limit=60)
    assert str(outcome.ending) == "answered", outcome
    return value


def steps_of(work):
    def run():
        seen = []
        with Steps(lambda step: seen.append((step.line, step.kind, step.reachable))):
            work()
        return seen

    return in_child(run)


def test_every_attribute_that_is_stored_is_a_step_and_none_of_them_is_reachable():
    counter = Counter()
    seen = steps_of(lambda: counter.add(3))
    stores = [step for step in seen if step[1] == "before STORE_ATTR"]
    assert len(stores) == 3
    assert not any(reachable for _, _, reachable in stores)


def test_function_entry_loops_and_calls_are_where_signals_land():
    counter = Counter()

    def work():
        counter.add(2)
        counter.look()

    kinds = {kind for _, kind, reachable in steps_of(work) if reachable}
    assert kinds == {"at function entry", "in a loop", "after a call"}


def test_two_runs_have_the_same_steps():
    counter = Counter()
    assert steps_of(lambda: counter.add(5)) == steps_of(lambda: counter.add(5))


def test_functions_made_during_the_run_are_stepped_through_too():
    def work():
        def inner():
            Counter().look()

        inner()

    lines = {line for line, _, _ in steps_of(work)}
    assert Counter.look.__code__.co_firstlineno + 1 in lines
    assert work.__code__.co_firstlineno + 2 in lines


def test_other_threads_are_not_stepped():
    def work():
        thread = threading.Thread(target=Counter().add, args=(50,))
        thread.start()
        thread.join()

    assert len(steps_of(work)) < 40


def test_an_exception_raised_at_a_step_comes_out_of_that_line():
    counter = Counter()

    def run():
        def at(step):
            if step.kind == "before STORE_ATTR" and counter.value == 2:
                raise KeyError(step.place)

        with pytest.raises(KeyError) as caught, Steps(at):
            counter.add(5)
        return counter.value, caught.value.args[0], caught.traceback[-2].lineno + 1, caught.traceback[-1].name

    value, place, _, _ = in_child(run)
    assert value == 2
    assert f"{__file__}:{Counter.add.__code__.co_firstlineno + 2} (Counter.add)" == place


def test_nothing_is_left_watching():
    counter = Counter()

    def run():
        seen = []
        with Steps(seen.append):
            counter.look()
        before = len(seen)
        counter.look()
        return before, len(seen)

    before, after = in_child(run)
    assert before == after > 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, nobody reports what is called")
def test_the_return_of_a_python_function_is_no_place_for_signals_and_that_of_c_code_is():
    def called():
        return 1

    def work():
        called()
        len("")
        sorted([2, 1], key=lambda number: number)

    def steps():
        found = []
        with Steps(found.append):
            work()
        return [step.reachable for step in found if step.kind == "after a call" and step.code is work.__code__]

    assert in_child(steps) == [False, True, True]
