"""Programs that meet by a feature of the language or of the standard library: the broken are found, and with a lock they hold."""

import sys

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD

from ..slow import one_in
from .features import NAMED_WHEN_CALLED, PROGRAMS, SEVERAL_STEPS_WITHOUT_A_GIL, Shared
from .programs import counted, under_the_lock

KEPT_BY_THE_LIBRARY = {"a logger that is switched off"}  # it is a guess that a call changes it, and the next run finds it


@pytest.mark.parametrize("name", one_in(18, PROGRAMS))
def test_a_program_that_meets_by_a_feature_is_found_and_its_twin_with_a_lock_holds(name):
    thread, invariant = PROGRAMS[name]
    result = counted(thread, thread, setup=Shared, invariant=invariant, schedules=600)
    assert result.verdict == "violated", result.reason
    twin = counted(*[under_the_lock(thread)] * 2, setup=Shared, invariant=invariant, schedules=600)
    unknown = SEVERAL_STEPS_WITHOUT_A_GIL if FREE_THREADED_BUILD else NAMED_WHEN_CALLED if sys.version_info < (3, 12) else ()
    if name in unknown or name in KEPT_BY_THE_LIBRARY:
        assert twin.verdict != "violated"
    else:
        assert twin.verdict == "holds", twin.reason
