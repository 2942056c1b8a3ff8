"""Every bug of the corpus is found, called what it is, and replayed; the fixed twins and the correct programs give no alarm.

A search that must find nothing uses up its budget wherever the schedules are many. The default suite gives it `SHORT` seconds, and
leaves out the programs of `NEED_THE_FULL_BUDGET`, which that cannot decide, but for `REPRESENTATIVES`. With ``-m slow`` every
program has `FULL` seconds. A machine that does not get through leaves a test undecided, and never gives a wrong answer.
"""

from collections import Counter
from operator import attrgetter

import pytest

from pytest_gilcheck import gilcheck
from tests.undecided import undecided

from .corpus import CASES
from .correct import PROGRAMS

SHORT, FULL = 0.5, 2.0  # seconds
REPLAYS = 2
# 50 to 1,000 schedules a second are not enough for all schedules of at most 2 preemptions in `SHORT` seconds
NEED_THE_FULL_BUDGET = {
    "dining_3",
    "executor_jobs",
    "queue",
    "cancelled timer",
    "daemon that polls",
    "thread that ends late",
    "thread joined in vain",
    "executor",
    "executor's map",
    "nested executors",
    "futures as they complete",
}
# one of each way to start a thread that the list above would leave out: by hand, by a timer, by an executor
REPRESENTATIVES = {"queue", "cancelled timer", "executor"}


def no_alarm(programs):
    """The parameters ``program, budget`` of the searches that must find nothing, by the program's name."""
    parameters = []
    for name, program in programs:
        if name not in NEED_THE_FULL_BUDGET:
            parameters.append(pytest.param(program, SHORT, id=name))
        slow = [] if name in REPRESENTATIVES else [pytest.mark.slow]
        parameters.append(pytest.param(program, FULL, id=f"{name}, full budget", marks=slow))
    return pytest.mark.parametrize(("program", "budget"), parameters)


def fuzzed(twin, budget=FULL, **more):
    return gilcheck.fuzz(setup=twin.setup, threads=twin.threads, invariant=twin.invariant, budget=budget, seed=1, **more)


def expect_nothing(twin, budget):
    result = fuzzed(twin, budget)
    if result.verdict == "inconclusive" and result.reason.startswith("cut short"):
        undecided(result.reason)
    assert result.verdict == "holds", str(result)


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
def test_the_bug_is_found_and_called_what_it_is_and_replays(case):
    result = fuzzed(case.buggy, preemptions=max(2, case.preemptions))
    if case.preemptions > 2 and result.verdict != "violated":
        undecided(f"it needs {case.preemptions} preemptions, and was not drawn: {result.reason}")
    if result.kind is None and result.verdict == "violated":
        undecided(f"this machine was too slow to tell its kind: {result.reason}")
    assert (result.verdict, result.kind, result.symptom) == ("violated", case.kind, case.symptom), str(result)
    for _ in range(REPLAYS):
        again = fuzzed(case.buggy, replay=result.token)
        assert (again.verdict, again.kind, again.symptom) == ("violated", case.kind, case.symptom), str(again)
    if case.preemptions <= 2:
        assert result.preemptions <= case.preemptions + 1, str(result)


@no_alarm((case.name, case.fixed) for case in CASES)
def test_the_fixed_twin_gives_no_alarm(program, budget):
    expect_nothing(program, budget)


@no_alarm((correct.name, correct.program) for correct in PROGRAMS)
def test_a_correct_program_gives_no_alarm(program, budget):
    expect_nothing(program, budget)


def test_the_programs_that_need_the_full_budget_exist():
    names = {case.name for case in CASES} | {correct.name for correct in PROGRAMS}
    assert REPRESENTATIVES <= NEED_THE_FULL_BUDGET <= names


def test_the_corpus_is_what_it_is_said_to_be():
    names = Counter(case.name for case in CASES)
    kinds = Counter(case.kind for case in CASES)
    assert len(CASES) >= 40
    assert max(names.values()) == 1
    assert min(kinds["GIL-MASKED"], kinds["BREAKS-TODAY"]) >= len(CASES) / 3
    assert {case.symptom for case in CASES} == {"invariant", "exception", "deadlock", "never ends", "livelock"}
