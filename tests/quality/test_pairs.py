"""Programs that were written before the engine was read: each buggy one is found, and no fixed one is condemned.

One by default, in a search that ends after a number of schedules. With ``-m slow`` every twelfth.
`benchmarks/fuzz_pairs.py` compares with other tools, and `benchmarks/fuzz_pairs_truth.py` shows the truth in real threads.
"""

import gc
import importlib.util
from functools import partial

import pytest

from pytest_gilcheck import gilcheck

from .pairs.declare import load

SCHEDULES = 250  # most failures take less than 50
NOTHING = 30  # schedules of a fixed program
PAIRS = load()
# A pair with a database does not close it, and another test would be told.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
LONG = {"ChecksumBeforeUpdate": "32,000 steps, of which one matters"}
QUICK = ("LengthAndLast",)
TORN = {"RoundRobinDeque"}  # the fixed twin calls `next` of a `cycle` without a lock, which is several steps without a GIL


def sampled():
    """The parameters of a test: one by default, every twelfth with ``-m slow``. `benchmarks/fuzz_pairs.py` runs all of them."""
    out = []
    for index, pair in enumerate(PAIRS):
        if index % 12 and pair.name not in QUICK:
            continue
        if pair.kind == "loops" or pair.name in LONG:  # event loops are refused
            continue
        marks = [] if pair.name in QUICK else [pytest.mark.slow]
        if pair.requires is not None and importlib.util.find_spec(pair.requires) is None:
            marks.append(pytest.mark.skip(reason=f"needs {pair.requires}"))
        out.append(pytest.param(pair, marks=marks, id=pair.name))
    return out


def fuzzed(program, **more):
    return gilcheck.fuzz(setup=program.setup, threads=program.threads, invariant=program.invariant, seed=3, **more)


@pytest.mark.slow
@pytest.mark.parametrize("pair", sampled())
def test_the_buggy_program_is_found_and_the_fixed_one_holds(pair):
    try:
        result = fuzzed(pair.buggy, schedules=6 * SCHEDULES if pair.kind in ("chance", "time") or pair.needs > 1 else SCHEDULES)
    except RuntimeError:
        assert pair.needs == 0, "it fails in every order"
    else:
        assert result.verdict == "violated", f"{pair.why}\n{result}"
        if not result.token:
            assert "every sequential order fails" in result.reason, str(result)
        elif result.replays[0] < result.replays[1]:  # an address decides, which nobody controls: that is said
            assert f"only {result.replays[0]} of {result.replays[1]} replays failed" in result.reason, str(result)
        else:
            again = fuzzed(pair.buggy, replay=result.token)
            assert (again.verdict, again.symptom) == ("violated", result.symptom), str(again)
    fixed = fuzzed(pair.fixed, schedules=NOTHING)
    assert fixed.verdict == ("inconclusive" if pair.name in TORN else "holds"), f"{pair.why}\n{fixed}"
    assert (" takes several steps in C" in fixed.reason) == (pair.name in TORN)
    gc.collect()


def test_the_pairs_are_what_they_are_said_to_be():
    assert len(PAIRS) >= 100
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
    assert sum(pair.kind == "time" for pair in PAIRS) >= 20
    assert sum(pair.kind == "chance" for pair in PAIRS) >= 10
    assert all(pair.why for pair in PAIRS)
    assert set(LONG) <= {pair.name for pair in PAIRS}


@pytest.mark.slow
def test_a_failure_is_reported_with_the_fewest_preemptions_also_if_another_schedule_has_them():
    [pair] = [pair for pair in PAIRS if pair.name == "ThreePhilosophers"]
    result = fuzzed(pair.buggy, schedules=SCHEDULES, budget=60)
    result.assert_violated()
    assert result.preemptions == 1, str(result)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning")
def test_what_each_run_uses_up_is_no_finding_and_the_race_of_the_first_run_is_one():
    """A list of three that is made once and shrinks in each run: then every order fails."""
    [pair] = [pair for pair in PAIRS if pair.name == "LengthAndLast"]
    for program, verdict, budget in ((pair.fixed, "inconclusive", 5), (pair.buggy, "violated", 20)):
        state = program.setup()
        threads = [partial(thread, state) for thread in program.threads]
        try:
            result = gilcheck.fuzz(threads=threads, budget=budget, seed=1, judge=False)
        except IndexError:  # it fails when it runs again, without any concurrency
            assert verdict == "inconclusive"
        else:
            assert (result.verdict, result.preemptions) == (verdict, 1), str(result)
