"""Programs that meet in classes derived from a container in C: the broken ones are found, and with a lock they hold."""

import pytest

from ..slow import one_in
from .derived import PROGRAMS, Shared
from .programs import SETTLED, counted, under_the_lock


@pytest.mark.parametrize("name", one_in(11, PROGRAMS))
def test_a_program_that_meets_in_a_derived_class_is_found_and_its_twin_with_a_lock_is_settled(name):
    thread, invariant = PROGRAMS[name]
    result = counted(thread, thread, setup=Shared, invariant=invariant, schedules=600)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    twin = counted(*[under_the_lock(thread)] * 2, setup=Shared, invariant=invariant, schedules=600)
    assert twin.bound in SETTLED
