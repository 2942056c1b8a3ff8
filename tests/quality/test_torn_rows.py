"""Each row of the table of C operations: without a lock, what is several steps without a GIL is not passed, on any build; with a
lock, and where one step is known, the same holds.

By default one in many; with ``-m slow`` all of them. `benchmarks/fuzz_torn.py` counts.
"""

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.engine.bytecode.c_operations import READINGS, Effect

from ..slow import one_in
from .torn_rows import row_of
from .updatings import UPDATINGS

SCHEDULES = 150
ALL = (*READINGS, *UPDATINGS)
SEVERAL = [each for each in ALL if each.effect is not Effect.ATOMIC]
OWN_STEPS = {"dict with two values swapped"}  # none of its operations is several steps
BREAKS = {"lru_cache"}  # with a GIL too


def checked(threads, row):
    return gilcheck.fuzz(setup=row.setup, threads=threads, invariant=row.invariant, seed=1, schedules=SCHEDULES)


def programs(operation):
    row = row_of(operation)
    if row is None:
        pytest.skip("it is of a later version")
    return row


def each(count, operations):
    return pytest.mark.parametrize(
        "operation", one_in(count, [pytest.param(operation, id=operation.name) for operation in operations])
    )


@each(240, [each for each in SEVERAL if getattr(each, "container", "") not in OWN_STEPS])
def test_what_is_several_steps_without_a_gil_is_not_passed(operation):
    row = programs(operation)
    result = checked(row.threads, row)
    assert result.verdict != "holds", str(result)


@each(400, ALL)
def test_and_holds_behind_a_lock(operation):
    row = programs(operation)
    checked(row.locked, row).assert_holds()


@each(160, [each for each in ALL if each.effect is Effect.ATOMIC and each.name not in BREAKS])
def test_what_is_one_step_without_a_gil_too_holds(operation):
    row = programs(operation)
    checked(row.threads, row).assert_holds()
