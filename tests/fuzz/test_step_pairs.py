"""Programs whose bug hides behind an instruction that is easily taken for private: found, and their fixed twins hold."""

import sys
from operator import attrgetter

import pytest

from .delays import breaks
from .programs import counted
from .step_pairs import PAIRS

SCHEDULES = 300
QUICK = ("SharedGenerator",)
A_FEW = PAIRS[::4]  # the truth depends on no change of ours
most_are_slow = pytest.mark.parametrize(
    "pair", [pytest.param(pair, id=pair.name, marks=[] if pair.name in QUICK else [pytest.mark.slow]) for pair in PAIRS]
)


@pytest.mark.slow
@most_are_slow
def test_the_bug_is_found_and_replays_and_the_fixed_twin_holds(pair):
    found = counted(*pair.threads, setup=pair.buggy, invariant=pair.invariant, schedules=SCHEDULES)
    found.assert_violated()
    assert found.replays == (10, 10), str(found)
    again = counted(*pair.threads, setup=pair.buggy, invariant=pair.invariant, schedules=SCHEDULES, replay=found.token)
    assert (again.verdict, again.symptom) == (found.verdict, found.symptom), str(again)
    counted(*pair.threads, setup=pair.fixed, invariant=pair.invariant, schedules=SCHEDULES).assert_holds()


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="no opcode events in the first run of a function")
@pytest.mark.parametrize("pair", A_FEW, ids=attrgetter("name"))
def test_the_truth_of_each_pair_is_shown_in_real_threads(pair):
    files = {sys.modules[kind.__module__].__file__ for kind in (*pair.buggy.__mro__, *pair.fixed.__mro__) if kind is not object}
    files.add("<string>")  # what a program makes by exec
    assert breaks(pair.threads, pair.buggy, pair.invariant, files) is not None
    assert breaks(pair.threads, pair.fixed, pair.invariant, files) is None


def test_the_pairs_are_many_and_their_names_differ():
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) >= 35
