"""Objects from before a check keep their hash, and code that asks the collector for objects finds them."""

import gc

import pytest

from ..fuzz.programs import Counter, add_locked, counted
from ..slow import one_in


class Thing:
    pass


OLD = Thing()
KEPT = {OLD}


def look_up(counter):
    assert OLD in KEPT
    assert Thing() not in KEPT
    add_locked(counter)


def lose_it(counter):
    assert Thing() in KEPT


def ask_for_all():
    assert id(OLD) in map(id, gc.get_objects())


def ask_who_refers():
    assert id(KEPT) in map(id, gc.get_referrers(OLD))


def test_an_object_from_before_is_found_in_a_set_from_before_and_a_new_one_is_not():
    counted(look_up, look_up, setup=Counter, schedules=10).assert_holds()
    with pytest.raises(AssertionError):
        counted(lose_it, lose_it, setup=Counter, schedules=10)


@pytest.mark.parametrize("ask", one_in(2, [ask_for_all, ask_who_refers]))
@pytest.mark.parametrize("in_setup", [True, False])
def test_the_collector_tells_the_program_of_objects_from_before(ask, in_setup):
    def setup():
        if in_setup:
            ask()
        return Counter()

    def asks(counter):
        if not in_setup:
            ask()
        add_locked(counter)

    counted(asks, asks, setup=setup, schedules=1).assert_holds()


def test_after_a_check_the_collector_has_all_objects_again():
    counted(add_locked, add_locked, setup=Counter, schedules=10).assert_holds()
    assert gc.get_freeze_count() == 0
