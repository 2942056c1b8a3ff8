"""Every bug of the corpus is found, called what it is, and replayed; the fixed twins and the correct programs give no alarm.

By default, the first bug of each kind and symptom and one correct program. These searches end after a number of schedules,
so their verdicts do not depend on the speed of the machine. With ``-m slow`` every fourth has `BUDGET` instead, as a search
whose number of schedules nobody gave. A machine that does not get through leaves a test undecided.
"""

from collections import Counter
from operator import attrgetter

import pytest

from pytest_gilcheck import gilcheck
from tests.slow import one_in
from tests.undecided import undecided

from .corpus import CASES
from .correct import PROGRAMS

TO_FIND = 1000  # schedules; most bugs take less than 100
TO_FIND_NOTHING = 200  # schedules: in nine of ten programs more than all of at most 1 preemption
BUDGET = 1.0  # second
REPLAYS = 2
LONG = ("executor_jobs", "polled_for_ever", "threads_of_its_own")  # bugs whose searches take seconds: with -m slow only


def core(programs, kind=lambda program: None):
    """The first program of each kind."""
    first = {}
    for program in programs:
        first.setdefault(kind(program), program)
    return list(first.values())


def limited(name, programs, by_default, schedules):
    """The parameters ``name`` and ``limit``: of half of the core by default, of the other half, and of every fourth program,
    for a time, with ``-m slow``.

    `benchmarks/fuzz_quality.py` runs all of them.
    """
    by_count = one_in(
        2, [pytest.param(each, {"schedules": schedules}, id=f"{each.name}-{schedules} schedules") for each in by_default]
    )
    by_time = [
        pytest.param(each, {"budget": BUDGET}, id=f"{each.name}-{BUDGET:g} s", marks=pytest.mark.slow) for each in programs[::4]
    ]
    return pytest.mark.parametrize((name, "limit"), by_count + by_time)


CORE = core(CASES, attrgetter("kind", "symptom"))


# One preemption is enough for this deadlock of four threads. Minimising cannot exchange the threads of a schedule, and by count it
# starts from another sample than by time. The lost update of two jobs is found by a sample, too, and keeps a switch between the
# starts of its executors.
MOST_PREEMPTIONS = {"dining_4": 4, "executor_jobs": 3}


def fuzzed(twin, **more):
    return gilcheck.fuzz(setup=twin.setup, threads=twin.threads, invariant=twin.invariant, seed=1, **more)


def cut_short(result):
    """Leave the test undecided if the time ended before the search, or the machine kept a thread from running."""
    if result.verdict == "inconclusive" and result.reason.startswith(
        ("cut short", "partly uncontrolled", "not explorable: a run of it has not ended")
    ):
        undecided(result.reason)  # on a busy machine, an import may look like a thread that waits in C


def expect_nothing(twin, limit):
    result = fuzzed(twin, **limit)
    cut_short(result)
    assert result.verdict == "holds", str(result)


@limited("case", CASES, [case for case in CORE[::2] if case.name not in LONG], TO_FIND)
def test_the_bug_is_found_and_called_what_it_is_and_replays(case, limit):
    result = fuzzed(case.buggy, preemptions=max(2, case.preemptions), **limit)
    cut_short(result)
    if case.preemptions > 2 and result.verdict != "violated":
        undecided(f"it needs {case.preemptions} preemptions, and was not drawn: {result.reason}")
    if result.kind is None and result.verdict == "violated":
        undecided(f"this machine was too slow to tell its kind: {result.reason}")
    assert (result.verdict, result.kind, result.symptom) == ("violated", case.kind, case.symptom), str(result)
    for _ in range(REPLAYS):
        again = fuzzed(case.buggy, replay=result.token)
        assert (again.verdict, again.kind, again.symptom) == ("violated", case.kind, case.symptom), str(again)
    if case.preemptions <= 2:
        more = 1 if "schedules" in limit else 2  # there may be no time to make it smaller
        assert result.preemptions <= MOST_PREEMPTIONS.get(case.name, case.preemptions + more), str(result)


@limited("case", CASES, CORE[::2], TO_FIND_NOTHING)
def test_the_fixed_twin_gives_no_alarm(case, limit):
    expect_nothing(case.fixed, limit)


@pytest.mark.filterwarnings("ignore:gilcheck. the program changed 'INBOX':RuntimeWarning")
@limited("correct", PROGRAMS, core(PROGRAMS), TO_FIND_NOTHING)
def test_a_correct_program_gives_no_alarm(correct, limit):
    expect_nothing(correct.program, limit)


def test_the_corpus_is_what_it_is_said_to_be():
    names = Counter(case.name for case in CASES)
    kinds = Counter(case.kind for case in CASES)
    assert len(CASES) >= 40
    assert max(names.values()) == 1
    assert min(kinds["GIL-MASKED"], kinds["BREAKS-TODAY"]) >= len(CASES) / 3
    assert {case.symptom for case in CASES} == {"invariant", "exception", "deadlock", "never ends", "livelock"}
