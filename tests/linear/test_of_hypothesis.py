"""Hypothesis' profiles, its seed and its decorators, for each way to check a class."""

import json

import pytest
from hypothesis import core, settings

from pytest_gilcheck import gilcheck

from . import classes

CONFTEST = """
    from hypothesis import settings
    settings.register_profile("few", max_examples=3, deadline=1, print_blob=True, derandomize=False)
"""
TESTS = """
    import threading
    import pytest
    from hypothesis import reproduce_failure, seed, settings
    from hypothesis.stateful import rule
    from pytest_gilcheck import ConcurrentMachine, linearizable

    class Counter:
        def __init__(self):
            self.count, self.lock = 0, threading.Lock()
        def add(self):
            with self.lock:
                self.count += 1
                return self.count

    test_assigned = linearizable(Counter)
    test_given = linearizable(Counter, settings=settings(max_examples=2))

    @pytest.mark.gil_linearizable
    def test_marked():
        return Counter()

    def test_called(gilcheck):
        gilcheck.linearizable(Counter).assert_holds()

    class Machine(ConcurrentMachine):
        def __init__(self):
            super().__init__()
            self.counter = Counter()
        @rule()
        def add(self):
            return self.counter.add()

    class WithSettings(Machine): ...
    class WithSeed(Machine): ...
    class WithBlob(Machine): ...
    TestMachine = Machine.TestCase
    TestSettings = settings(max_examples=4)(WithSettings).TestCase
    TestSeed = seed(8)(WithSeed.TestCase)
    TestBlob = reproduce_failure("6.140.0", b"AAA=")(WithBlob.TestCase)
"""


@pytest.fixture
def profile():
    before = settings.get_current_profile_name()

    def load(**given):
        settings.register_profile("of this test", settings.get_profile("default"), **given)
        settings.load_profile("of this test")

    yield load
    settings.load_profile(before)


def checked(**given):
    return gilcheck.linearizable(classes.Counter, judge=False, ops={"value": []}, budget=1000, **given)


@pytest.mark.slow
def test_the_profile_and_the_seed_of_the_command_line_count_for_every_way(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest_subprocess("--hypothesis-profile=few", "--hypothesis-seed=5", "--gilcheck-json=e.json")
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["*reproduce_failure=*expected no decorator of a machine: options = {'replay': *"])
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    found = {
        each["subject"].split("::", 1)[1]: (each["figures"]["programs"], each["figures"]["seed"])
        for each in records
        if each["check"] == "linearizable"
    }
    assert found == {
        "test_assigned": (3, 5), "test_given": (2, 5), "test_marked": (3, 5), "test_called": (3, 5),
        "TestMachine::test_concurrently": (3, 5), "TestSettings::test_concurrently": (4, 5), "TestSeed::test_concurrently": (3, 8),
    }  # fmt: skip


def test_an_argument_goes_before_the_profile(profile):
    profile(max_examples=3)
    assert (checked().programs, checked(examples=2).programs) == (3, 2)


def test_a_derandomized_profile_fixes_the_seed(profile):
    profile(max_examples=2, derandomize=True)
    assert checked().seed == checked().seed == 0
    assert checked(seed=4).seed == 4


@pytest.mark.slow
def test_a_seed_of_the_command_line_that_is_no_number_is_fixed_too(profile, monkeypatch):
    profile(max_examples=2, derandomize=False, database=None)
    monkeypatch.setattr(core, "global_force_seed", "random words")
    assert checked().seed == checked().seed
