"""Programs that meet in calls of the standard library in C: the broken ones are found, and with a lock they hold."""

import pytest

from ..slow import one_in
from .in_c import PROGRAMS
from .programs import counted, under_the_lock


@pytest.mark.parametrize("name", one_in(20, PROGRAMS))
def test_a_program_that_meets_in_c_is_found_and_its_twin_with_a_lock_holds(name):
    setup, *threads, invariant = PROGRAMS[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=600)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    twin = counted(*map(under_the_lock, threads), setup=setup, invariant=invariant, schedules=600)
    assert twin.verdict == "holds", twin.reason
