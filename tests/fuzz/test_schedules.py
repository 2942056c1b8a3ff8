"""Searches that end after a number of schedules: the same seed gives the same result, whatever the machine is doing."""

import multiprocessing
import operator
from dataclasses import replace
from random import Random

import pytest

from pytest_gilcheck import BadValue, Kind
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.plan import DEFAULT_BUDGET, DEFAULT_COUNTED_BUDGET
from pytest_gilcheck.search.sampling import RandomWalk

from ..quality.corpus import CASES
from ..slow import one_in, only
from .programs import (
    Counter,
    Pair,
    add,
    add_after_c,
    add_locked,
    counted,
    first_second,
    is_two,
    plan,
    second_first,
)


def fuzz(*threads, **arguments):
    return counted(*threads, **{"setup": Counter, "invariant": is_two} | arguments)


def result_of(*threads, **arguments):
    """Everything in a result but the time that it took."""
    return replace(fuzz(*threads, **arguments), seconds=0.0)


class BegunInC(Counter):
    """Its threads begin in code that is not under test, which is a doubt, so no search settles."""

    def add_locked(self):
        add_locked(self)


def far_apart(counter):
    """Its bug needs two preemptions, and there are too many schedules to enumerate."""
    for _ in range(6):
        with counter.lock:
            counter.other = 1
    add(counter)


def long_and_locked(counter):
    for _ in range(8):
        add_locked(counter)


class Account:
    def __init__(self):
        self.value, self.checked = 0, 0


def update_in_c(account):
    account.value = account.value + int("1")


def spin(until):
    while not until.is_set():
        sum(range(10_000))


@pytest.fixture
def busy_machine():
    """Another process computes for as long as the test runs."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    process = context.Process(target=spin, args=(stop,), daemon=True)
    process.start()
    yield
    stop.set()
    process.join()


PROGRAMS = {
    "found by enumeration": {"threads": (add, add), "schedules": 50},
    "found by a sample": {"threads": (far_apart, far_apart), "schedules": 60},
    "a deadlock": {"threads": (first_second, second_first), "setup": Pair, "invariant": None, "schedules": 30},
    "that breaks today": {"threads": (update_in_c, update_in_c), "setup": Account, "schedules": 40},
    "that holds": {"threads": (long_and_locked, add_locked), "invariant": None, "schedules": 60},
    "sensitive to its lock": {"threads": (add_locked, add_locked), "schedules": 40, "sensitivity": True},
}


def explore(name):
    arguments = dict(PROGRAMS[name])
    return result_of(*arguments.pop("threads"), **arguments)


@pytest.mark.parametrize("name", only(("found by enumeration",), PROGRAMS))
def test_the_same_seed_gives_the_same_result_and_the_same_report(name):
    first, second = explore(name), explore(name)
    assert first == second
    assert str(first) == str(second)
    assert first.verdict == ("holds" if "holds" in name or "sensitive" in name else "violated")


@pytest.mark.slow
def test_a_busy_machine_changes_nothing(request):
    alone = {name: explore(name) for name in ("found by enumeration", "found by a sample", "that holds")}
    request.getfixturevalue("busy_machine")
    for name, expected in alone.items():
        assert str(explore(name)) == str(expected)


@pytest.mark.slow
def test_another_seed_draws_other_samples():
    with explorer_for(Program((add, add), Counter, None), plan(), lambda label: None) as explorer:
        explorer.sequential()
        drawn = {explorer.once(RandomWalk(Random(seed)))[0].schedule for seed in range(8)}
    assert len(drawn) > 1


@pytest.mark.slow
def test_exactly_so_many_schedules_are_explored_enumerated_and_sampled_ones_together():
    result = fuzz(*[operator.methodcaller("add_locked")] * 2, setup=BegunInC, schedules=1000)
    result.assert_holds()
    assert result.coverage.startswith("1,000 schedules (schedules=1000): ")
    assert " with at most 2 preemptions over " in result.coverage
    words = result.coverage.replace(",", "").split()
    by_conflicts = int(words[words.index("by") - 1])
    assert by_conflicts + int(words[words.index("all") + 1]) + int(words[words.index("sampled") - 1]) == 1000


@pytest.mark.parametrize("number", one_in(2, [1, 2, 7, 99]))
@pytest.mark.slow
def test_a_number_below_the_enumeration_is_kept_to_as_well(number):
    result = fuzz(long_and_locked, long_and_locked, invariant=None, schedules=number)
    result.assert_holds()
    assert result.coverage.startswith(f"{number} schedule{'s' * (number > 1)} (schedules={number}): ")


@pytest.mark.slow
def test_a_bug_within_the_number_is_found_and_one_beyond_it_is_not():
    found = fuzz(add, add, schedules=40)
    found.assert_violated()
    assert found.kind is Kind.GIL_MASKED
    assert found.coverage.endswith(" schedules (schedules=40) until one failed")
    number = int(found.coverage.split()[0])
    missed = fuzz(add_after_c, add_after_c, schedules=40, preemptions=0, mode="gil")
    missed.assert_holds()
    assert number > 1
    alone = fuzz(far_apart, far_apart, schedules=1)
    alone.assert_holds()
    assert alone.reason.startswith("1 schedule (schedules=1): ")


def test_a_budget_that_ends_first_makes_it_inconclusive_with_both_numbers():
    result = fuzz(long_and_locked, long_and_locked, invariant=None, schedules=10**6, budget=0.05)
    assert result.verdict == "inconclusive"
    assert "budget=0.05 s ended after " in result.reason
    assert "of 1,000,000 schedules (schedules=1000000)" in result.reason


@pytest.mark.slow
def test_an_exhaustive_search_that_the_number_ends_claims_nothing():
    result = fuzz(long_and_locked, long_and_locked, invariant=None, schedules=50, mode="exhaustive")
    assert result.verdict == "inconclusive"
    assert result.why == "cut short"
    fuzz(add_locked, add_locked, schedules=1000, mode="exhaustive").assert_holds()


@pytest.mark.slow
def test_only_gil_points_are_enumerated_up_to_the_number():
    result = fuzz(long_and_locked, long_and_locked, invariant=None, schedules=50, mode="gil")
    result.assert_holds()
    assert "50 schedules (schedules=50): " in result.coverage
    assert "sampled" not in result.coverage


@pytest.mark.slow
def test_shares_add_up_to_the_number():
    parts = [plan(schedules=1000, share=(which, 3)).own_schedules for which in range(3)]
    assert sorted(parts) == [333, 333, 334]
    result = fuzz(long_and_locked, long_and_locked, invariant=None, schedules=100, share=(0, 2))
    result.assert_holds()
    assert result.reason.startswith("50 schedules (schedules=100): ")
    assert "(share 1 of 2)" in result.reason


def test_the_budget_is_longer_where_a_number_ends_the_search():
    assert plan().budget == DEFAULT_BUDGET
    assert plan(schedules=10).budget == DEFAULT_COUNTED_BUDGET > DEFAULT_BUDGET
    assert plan(schedules=10, budget=3).budget == 3


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_bad_number_is_refused(value):
    with pytest.raises(BadValue, match=r"schedules=.* expected a whole number, at least 1"):
        plan(schedules=value)


def test_stress_refuses_it():
    with pytest.raises(BadValue, match=r"schedules=10 .*mode='stress'"):
        plan(schedules=10, mode="stress")


@pytest.mark.slow
def test_a_sample_that_breaks_today_is_minimised_as_well():
    """The first sample needs switches that a GIL does not make; it is another one that shows the deadlock with a GIL."""
    case = next(case for case in CASES if case.name == "dining_4")
    result = fuzz(*case.buggy.threads, setup=case.buggy.setup, invariant=None, schedules=1500, seed=1)
    assert (result.verdict, result.symptom, result.kind) == ("violated", "deadlock", Kind.BREAKS_TODAY)
    assert result.preemptions <= 4, str(result)
