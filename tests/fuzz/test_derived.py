"""Classes derived from a container in C: what operators and methods do with them is known, as far as the class leaves it to C."""

import collections
import io

import pytest

from pytest_gilcheck.engine.bytecode import attributes, operators

from ..slow import one_in
from . import derived
from .derived import NOT_KNOWN, PROGRAMS, Overridden, Shared, fill
from .programs import SETTLED, assert_no_more_than_holds, counted, under_the_lock


@pytest.mark.parametrize("name", one_in(11, PROGRAMS))
def test_a_program_that_meets_in_a_derived_class_is_found_and_its_twin_with_a_lock_is_settled(name):
    thread, invariant = PROGRAMS[name]
    result = counted(thread, thread, setup=Shared, invariant=invariant, schedules=600)
    assert (result.verdict, result.preemptions) == ("violated", 1), result.reason
    twin = counted(*[under_the_lock(thread)] * 2, setup=Shared, invariant=invariant, schedules=600)
    assert twin.bound in SETTLED


@pytest.mark.parametrize("name", one_in(10, NOT_KNOWN))
def test_nothing_is_settled_where_c_calls_what_the_class_has_of_its_own(name):
    assert_no_more_than_holds(counted(NOT_KNOWN[name], fill, setup=Overridden, schedules=60))


class Shown(list):
    def __repr__(self):
        return ""


class Ordered(list):
    def __lt__(self, other):
        return True


class Mixed(Shown, list):
    name: str = ""


class Truthful:
    def __bool__(self):
        return True


class Behind(list, Truthful):
    pass


class Keyed(dict):
    def keys(self):
        return []


class Stored(dict):
    def __setitem__(self, key, value):
        pass


class StoredInOrder(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


class Copied(list):
    def copy(self):
        return 0


class Out(io.StringIO):
    pass


@pytest.mark.parametrize(
    ("thing", "asked", "kind"),
    [
        (derived.Rows(), {"compared": True, "shown": True}, list),
        (derived.Groups(list), {"compared": True, "shown": True}, collections.defaultdict),
        (Shown(), {}, list),
        (Shown(), {"compared": True}, list),
        (Shown(), {"shown": True}, Shown),
        (Mixed(), {"compared": True}, list),
        (Mixed(), {"shown": True}, Mixed),
        (Ordered(), {"compared": True}, Ordered),
        (Ordered(), {"asks": "__len__"}, list),
        (Behind(), {}, Behind),
        (Behind(), {"asks": "__bool__"}, Behind),
        (Behind(), {"asks": "__len__"}, list),
        (Keyed(), {}, Keyed),
        (Keyed(), {"asks": "__getitem__"}, Keyed),
        (Stored(), {}, Stored),
        (Stored(), {"asks": "__getitem__"}, dict),
        (Stored(), {"asks": "__setitem__"}, Stored),
        (collections.Counter(), {}, collections.Counter),
        (derived.OwnBag(), {}, derived.OwnBag),
        (Out(), {}, Out),
        ([], {"compared": True}, list),
    ],
)
def test_what_a_class_has_of_its_own_decides_whether_operators_see_its_container(thing, asked, kind):
    assert operators.kind_of(thing, **asked) is kind


@pytest.mark.parametrize(
    ("thing", "method", "kind"),
    [
        (Stored(), "__setitem__", dict),
        (Stored(), "pop", dict),
        (StoredInOrder(), "__setitem__", collections.OrderedDict),
        (StoredInOrder(), "update", StoredInOrder),
        (StoredInOrder(), "popitem", StoredInOrder),
        (Keyed(), "get", Keyed),
        (derived.Loud(), "append", derived.Loud),
        (Copied(), "append", list),
        (derived.Line(), "copy", derived.Line),
        (derived.Line(), "popleft", collections.deque),
    ],
)
def test_a_method_in_c_is_that_of_the_container_unless_it_asks_for_what_the_class_has_of_its_own(thing, method, kind):
    assert operators.kind_for_method(thing, method) is kind


@pytest.mark.parametrize(
    ("kind", "maker"),
    [(derived.Rows, list), (Shown, list), (Stored, None), (derived.Recent, None), (derived.OwnBag, None), (list, None)],
)
def test_an_instance_is_made_by_the_container_if_the_class_has_no_code_for_that(kind, maker):
    assert operators.made_as(kind) is maker


class Base(type):
    tool = len


class Meta(Base):
    def __eq__(cls, other):
        raise AssertionError("a class was compared")

    def __hash__(cls):
        return 1


class Compares(list, metaclass=Meta):
    pass


def test_super_of_a_class_looks_in_its_metaclasses_too():
    found = attributes.of_super(Compares, "tool", lambda file: True)
    assert {each.holder.__name__ for each in found} == {"Compares", "Meta", "Base"}


def test_no_class_is_compared_to_find_its_container():
    assert operators.container_of(Compares) is list
    assert operators.kind_of(Compares(), asks="__len__") is list
