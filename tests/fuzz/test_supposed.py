"""A step of which it is a guess what it touches is in conflict with two steps of another thread, which are interrupted."""

import pytest

from ..slow import only
from . import supposed as programs
from . import supposed_names
from .programs import counted


def judged(setup, threads, right, *, locked):
    made = [programs.beside_loops(each, locked=locked) for each in threads]
    return counted(*made, setup=setup, invariant=lambda s: s.seen[0] in right, schedules=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", only(("format_map",), programs.READ_IN_ONE_STEP))
def test_two_stores_are_interrupted_where_another_thread_reads_both_in_one_step(name):
    store, read, right = programs.READ_IN_ONE_STEP[name]
    found = judged(programs.State, [read, store], right, locked=False)
    assert found.verdict == "violated", str(found)
    fixed = judged(programs.State, [read, store], right, locked=True)
    assert fixed.verdict != "violated", str(fixed)


@pytest.mark.slow
@pytest.mark.parametrize("name", programs.CHANGED_IN_ONE_STEP)
def test_two_reads_are_interrupted_where_another_thread_changes_names_through_their_dictionary(name):
    read, change = programs.CHANGED_IN_ONE_STEP[name]
    right = (0, 0), (1, 1)
    found = judged(supposed_names.make, [read, change], right, locked=False)
    assert found.verdict == "violated", str(found)
    fixed = judged(supposed_names.make, [read, change], right, locked=True)
    assert fixed.verdict != "violated", str(fixed)
