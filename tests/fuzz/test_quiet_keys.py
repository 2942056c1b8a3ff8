"""Large dictionaries and sets are looked through once, and again only when their keys may be others."""

import pytest

from pytest_gilcheck.engine.bytecode.quiet_keys import QuietKeys

from .programs import SETTLED, counted

MANY = 100


class Counted(dict):
    """A dict that counts how often somebody goes through it."""

    looks = 0

    def __iter__(self):
        self.looks += 1
        return super().__iter__()


def test_a_large_container_is_looked_through_once_until_it_may_have_other_keys():
    keys, container = QuietKeys(id), Counted.fromkeys(range(MANY))
    assert all(keys.of(container) for _ in range(10))
    assert container.looks == 1
    keys.changed(id(container))
    assert keys.of(container)
    assert container.looks == 2


class Key:
    """Equal to seven, and whoever compares it is seen."""

    def __init__(self, state):
        self.state = state

    def __hash__(self):
        return hash(7)

    def __eq__(self, other):
        self.state.begun = True
        return other == 7


@pytest.mark.parametrize("key", [Key(None), (Key(None),), slice(1)], ids=["a key", "in a tuple", "a slice"])
def test_a_key_that_compares_by_code_of_its_own_is_found_among_many(key):
    try:
        container = dict.fromkeys([*range(10, MANY), key])
    except TypeError:
        pytest.skip("slices have no hash before 3.12")
    assert not QuietKeys(id).of(container)


class State:
    def __init__(self):
        self.table, self.begun, self.bad = dict.fromkeys(range(10, MANY)), False, False
        self.new = {Key(self): 0}
        self.begun = False


def look_up_twice(s):
    s.table.get(12)  # all keys are quiet
    s.table.update(s.new)
    s.table.get(7)  # this one is asked


def clear_if_begun(s):
    if s.begun:
        s.begun = False
        s.bad = True


def store_and_look_up(s):
    for each in range(3):
        s.table[each] = each
        s.table.get(each)


def test_a_key_that_comes_after_the_first_look_is_seen():
    result = counted(look_up_twice, clear_if_begun, setup=State, schedules=300, invariant=lambda s: True)
    assert result.bound not in SETTLED


def test_a_large_dict_of_plain_keys_is_settled():
    result = counted(
        store_and_look_up, store_and_look_up, setup=State, schedules=3000, invariant=lambda s: len(s.table) == MANY - 7
    )
    assert result.verdict == "holds"
    assert result.bound in SETTLED, result.reason
