"""Every bug of the corpus is found, called what it is, and replayed; the fixed twins and the correct programs give no alarm.

A slow machine may not get through with a search that must find nothing; that is a skip, and never a wrong answer.
"""

from collections import Counter
from operator import attrgetter

import pytest

from pytest_gilcheck import gilcheck

from .corpus import CASES
from .correct import PROGRAMS

BUDGET = 2.0
REPLAYS = 2


def fuzzed(twin, **more):
    return gilcheck.fuzz(setup=twin.setup, threads=twin.threads, invariant=twin.invariant, budget=BUDGET, seed=1, **more)


def expect_nothing(twin):
    result = fuzzed(twin)
    if result.verdict == "inconclusive" and result.reason.startswith("cut short"):
        pytest.skip(result.reason)
    assert result.verdict == "holds", str(result)


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_the_bug_is_found_and_called_what_it_is_and_replays(case):
    result = fuzzed(case.buggy, preemptions=max(2, case.preemptions))
    if case.preemptions > 2 and result.verdict != "violated":
        pytest.skip(f"it needs {case.preemptions} preemptions, and was not drawn: {result.reason}")
    if result.kind is None and result.verdict == "violated":
        pytest.skip(f"this machine was too slow to tell its kind: {result.reason}")
    assert (result.verdict, result.kind, result.symptom) == ("violated", case.kind, case.symptom), str(result)
    for _ in range(REPLAYS):
        again = fuzzed(case.buggy, replay=result.token)
        assert (again.verdict, again.kind, again.symptom) == ("violated", case.kind, case.symptom), str(again)
    if case.preemptions <= 2:
        assert result.preemptions <= case.preemptions + 1, str(result)


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_the_fixed_twin_gives_no_alarm(case):
    expect_nothing(case.fixed)


@pytest.mark.parametrize("correct", PROGRAMS, ids=attrgetter("name"))
def test_a_correct_program_gives_no_alarm(correct):
    expect_nothing(correct.program)


def test_the_corpus_is_what_it_is_said_to_be():
    names = Counter(case.name for case in CASES)
    kinds = Counter(case.kind for case in CASES)
    assert len(CASES) >= 40
    assert max(names.values()) == 1
    assert min(kinds["GIL-MASKED"], kinds["BREAKS-TODAY"]) >= len(CASES) / 3
    assert {case.symptom for case in CASES} == {"invariant", "exception", "deadlock", "never ends", "livelock"}
