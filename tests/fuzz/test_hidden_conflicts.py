"""Conflicts that no instruction shows at first sight: each of these programs fails, and a proof of it would be wrong."""

import collections
import itertools
import operator
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from pytest_gilcheck.core.verdict import Verdict

from ..slow import one_in
from . import keyed_attributes
from .programs import SETTLED, counted

DELTA = collections.Counter(a=1)


class Sum:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Sum(self.value + other)


class Called:
    """A key, an iterator, a mapping, an index and an element, each of which code under test computes."""

    def __init__(self, state=None, value=0):
        self.state, self.value, self.left = state, value, 2

    def __call__(self, row):
        self.left -= 1
        return -row

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    def keys(self):
        return ["a", "b"]

    def __getitem__(self, key):
        return self.value

    def __index__(self):
        self.state.begun = True
        return self.value

    def __eq__(self, other):
        self.left -= 1
        return other == self.value

    __hash__ = None


class Job:
    def __init__(self):
        self._status = "new"

    def run(self):
        self._status = "run"
        self._status = "new"


Job.status = property(operator.attrgetter("_status"))


class Point:
    __slots__ = ("x",)

    def __init__(self):
        self.x = 0


class Renamed(Point):
    __slots__ = ()
    value = Point.x


class State:
    def __init__(self):
        self.rows, self.kept, self.counts = [10, 20, 30], {"a": 0, "b": 0}, collections.Counter(a=1)
        self.seen, self.begun, self.same = None, False, True
        self.job, self.element = Job(), ElementTree.fromstring("<a>b</a>")


def add_up(s):
    s.seen = sum(s.rows, Sum(0)).value


def exchange(s):
    s.rows[:] = [0, 20, 40]


def sort(s):
    s.rows.sort(key=Called())


def grow(s):
    s.rows += Called()


def update(s):
    s.kept.update(Called(value=1))


def values(s):
    s.seen = list(s.kept.values())


def remove(s):
    s.rows.remove(Called(value=20))


def take_first(s):
    s.rows.pop(0)


def look_for(s):
    s.seen = Called(value=30) in s.rows


def turn(s):
    s.rows[:] = [30, 10, 20]


def make_class(s):
    s.seen = type("Row", (), s.kept)


def run_job(s):
    s.job.run()


def clear_element(s):
    s.element.clear()


def add_to_slot(slots):
    slots.x += 1


def add_to_renamed(slots):
    slots.value += 1


def length(s):
    s.seen = len(s.rows)


def fill(s):
    s.kept["a"] = 1
    s.kept["b"] = 1


def read_status(s):
    first = s.job.status
    second = s.job.status
    s.same = first is second


def length_of_text(s):
    if s.element.text is not None:
        s.seen = len(s.element.text)


def drop(s):
    try:
        del s.counts["a"]
    except KeyError:  # Counter never raises it, without a race
        s.seen = "missing"


def add_to_counter(s):
    counts = s.counts
    counts += DELTA


def first_of_chain(s):
    chained = itertools.chain(s.rows)
    s.begun = True
    s.seen = next(chained)


def change_if_begun(s):
    if s.begun:
        s.rows[0] = 99


def insert_at(s):
    s.rows.insert(Called(s), 5)


def length_if_begun(s):
    if s.begun:
        s.seen = len(s.rows)


PROGRAMS = {
    "a sum of objects": (add_up, exchange, lambda s: s.seen == 60),
    "a sort by a key": (sort, length, lambda s: s.seen == 3),
    "a list that grows by an iterator": (grow, length, lambda s: s.seen in (3, 5)),
    "a dict that grows by a mapping": (update, values, lambda s: len(set(s.seen)) == 1),
    "an element that is looked for": (remove, take_first, lambda s: s.rows == [30]),
    "an element that is in a list": (look_for, turn, lambda s: s.seen),
    "an index that is computed": (insert_at, length_if_begun, lambda s: s.seen in (None, 4)),
    "the first element of a chain": (first_of_chain, change_if_begun, lambda s: s.seen == 10),
    "a class made of a dict": (fill, make_class, lambda s: s.seen.a == s.seen.b),
    "a property with a getter in C": (run_job, read_status, lambda s: s.same),
    "an attribute of a type in C": (clear_element, length_of_text, None),
    "attributes that are keys": (keyed_attributes.unset_title, keyed_attributes.length_of_title, None),
    "a slot with two names": (add_to_slot, add_to_renamed, lambda s: s.x == 2),
}


SETUPS = {"a slot with two names": Renamed, "attributes that are keys": keyed_attributes.State}


@pytest.mark.parametrize("name", one_in(40, PROGRAMS))
def test_a_conflict_in_the_middle_of_what_looks_like_one_step_or_under_another_name_is_found(name):
    one, other, invariant = PROGRAMS[name]
    found = counted(one, other, setup=SETUPS.get(name, State), invariant=invariant, schedules=300)
    assert found.verdict is Verdict.VIOLATED, str(found)


IN_THE_LIBRARY = {
    "a counter that is added to": (add_to_counter, add_to_counter, lambda s: s.counts["a"] == 3),
    "a key of a counter that is deleted": (drop, drop, lambda s: s.seen is None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(2, IN_THE_LIBRARY))
def test_what_the_standard_library_does_in_python_is_never_settled(name):
    one, other, invariant = IN_THE_LIBRARY[name]
    result = counted(one, other, setup=State, invariant=invariant, schedules=50)
    assert result.bound not in SETTLED, str(result)


def test_attributes_of_a_type_in_c_that_is_imported_later_may_change_as_well():
    program = """
from pytest_gilcheck.engine.bytecode.computed import computed_elsewhere
before = "attrib" in computed_elsewhere()
import xml.etree.ElementTree
assert not before
assert "attrib" in computed_elsewhere()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
