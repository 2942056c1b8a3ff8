"""Questions that C asks objects of the program in the middle of its work: of bounds, of values, and of keys that it finds."""

import collections
import functools
import sys

import pytest

from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.fuzz.result import Kind

from ..slow import one_in
from .programs import SETTLED, counted


class Index:
    def __init__(self, state, value):
        self.state, self.value = state, value

    def __index__(self):
        self.state.begun = True
        return self.value


class Key:
    """Equal to seven, and whoever compares it is seen."""

    def __init__(self, state):
        self.state = state

    def __hash__(self):
        return hash(7)

    def __eq__(self, other):
        self.state.begun = True
        return other == 7


class Row:
    @functools.singledispatchmethod
    def __eq__(self, other):
        return other is self

    @__eq__.register
    def _(self, other: int):
        self.asked = True
        return False

    __hash__ = None


class State:
    def __init__(self):
        self.rows, self.bytes, self.bad = [1, 2, 3, 4], bytearray(b"abcd"), False
        self.index, self.keys, self.begun = Index(self, 2), {Key(self)}, False
        self.mixed = [Row(), 5]
        self.begun = False


def remove_slice(s):
    s.bad = s.bad or len(s.rows[: s.index]) != 2


def clear_if_begun(s):
    if s.begun:
        s.rows.clear()


def append_byte(s):
    s.bytes.append(s.index)


def store_byte(s):
    s.bytes[0] = s.index


def look_at_bytes(s):
    if s.begun:
        s.bad = bytes(s.bytes) == b"abcd"


def forget_key(s):
    s.keys.discard(7)


def look_at_keys(s):
    if s.begun:
        s.bad = len(s.keys) == 1


def remove_five(s):
    s.mixed.remove(5)


def take_row(s):
    s.mixed.pop(0)


def good(s):
    return not s.bad


PROGRAMS = {
    "a bound of a slice": (remove_slice, clear_if_begun),
    "a byte that is appended": (append_byte, look_at_bytes),
    "a byte that is stored": (store_byte, look_at_bytes),
    "a key that is there already": (forget_key, look_at_keys),
    "a comparison that a descriptor gives": (remove_five, take_row),
}


@pytest.mark.parametrize("name", one_in(3, PROGRAMS))
def test_what_c_asks_in_the_middle_of_its_work_makes_it_more_than_one_step(name):
    one, other = PROGRAMS[name]
    found = counted(one, other, setup=State, invariant=good, schedules=300)
    assert found.verdict is Verdict.VIOLATED, str(found)


class Plain(State):
    def __init__(self):
        super().__init__()
        self.index, self.keys, self.mixed = 2, {7}, [3, 5]


@pytest.mark.parametrize("name", one_in(3, PROGRAMS))
def test_plain_numbers_are_asked_for_nothing(name):
    one, other = PROGRAMS[name]
    held = counted(one, other, setup=Plain, invariant=good, schedules=300)
    assert held.verdict is Verdict.HOLDS, str(held)
    assert held.bound in SETTLED


class Counting:
    def __init__(self, text):
        self.text, self.compared = text, 0

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        self.compared += 1
        return self.text == other


class Counted:
    def __init__(self):
        self.key, self.other = Counting("b"), 0
        self.kept = {self.key: 1}


def store(s):
    s.kept["b"] = 2


def do_something_else(s):
    s.other = 1


def test_a_search_asks_no_key_whether_it_is_equal():
    held = counted(store, do_something_else, setup=Counted, invariant=lambda s: s.key.compared == 1, schedules=300)
    assert held.verdict is Verdict.HOLDS, str(held)


class Owner:
    def __init__(self):
        self.rows, self.seen, self.begun, self.same = [10, 20, 30], None, False, None


def length(s):
    s.seen = len(s.rows)


def look_in_own(s):
    s.begun = 5 in [1, 2]


def sort_own(s):
    own = [3, 1, 2]
    own.sort()
    s.seen = own


def update_own(s):
    own = {1: 2}
    own.update({2: 3})
    s.same = own


@pytest.mark.slow
def test_what_calls_no_code_in_the_middle_is_still_settled():
    for one, other in ((length, look_in_own), (sort_own, update_own)):
        result = counted(one, other, setup=Owner, schedules=50)
        assert result.bound in SETTLED, str(result)


class Grouped:
    def __init__(self):
        self.groups = collections.defaultdict(list)


def add_to_group(s):
    s.groups["a"].append(1)


def both_are_there(s):
    return s.groups == {"a": [1, 1]}


@pytest.mark.slow
def test_a_missing_key_of_a_defaultdict_is_made_in_one_step_only_with_a_gil():
    """Without one, another thread can make it between the look and the store: real threads lose an item once in some 100 runs."""

    def check(**mode):
        return counted(add_to_group, add_to_group, setup=Grouped, invariant=both_are_there, schedules=600, **mode)

    if sys.version_info >= (3, 14):  # no operand can be replaced there
        assert check().verdict == "inconclusive"
        assert "takes several steps in C" in check().reason
    else:
        assert (check().verdict, check().kind) == ("violated", Kind.GIL_MASKED)
    assert check(mode="gil").verdict == "holds"
