import sys

import pytest

from pytest_gilcheck.core.origin import under_test
from pytest_gilcheck.fuzz.steps.visible import Access, Visibility, gil_is_checked_after, is_step

total = 0
NEVER_REBOUND = {}


class Thing:
    def __init__(self):
        self.constant = 1
        self.changing = 2

    def change(self):
        self.changing += 1

    def method(self):
        return self.constant


def steps(function):
    """The accesses of a function, in order, as words."""
    table = Visibility().table(function.__code__, function.__globals__)
    return [f"{access.kind} {access.name}" for _, access in sorted(table.steps.items()) if access.kind != "call"]


def rebinds_a_global():
    global total
    total += 1


def test_a_global_that_is_rebound_is_read_and_written_visibly_and_any_other_is_not():
    assert steps(rebinds_a_global) == ["read global total", "write global total"]
    assert steps(lambda: NEVER_REBOUND) == []


def test_an_attribute_that_only_constructors_store_is_constant():
    assert steps(lambda thing: thing.constant) == []
    assert steps(lambda thing: thing.changing) == ["read .changing"]
    assert steps(Thing.change) == ["read .changing", "write .changing"]


def test_a_method_that_nobody_stores_is_no_step():
    assert steps(lambda thing: thing.method()) == []


def test_an_attribute_of_unknown_code_may_change():
    assert steps(lambda file: file.closed) == ["read .closed"]


def test_subscripts_and_membership_are_steps_and_arithmetic_is_not():
    assert steps(lambda kept, key: kept[key]) == ["read []"]
    assert steps(lambda kept, key: key in kept) == ["read []"]
    assert steps(lambda left, right: left + right) == []


def test_adding_in_place_may_change_a_container_unless_it_is_a_constant_that_is_added():
    def container(left, right):
        left += right

    def number(left):
        left += 1

    assert steps(container) == ["write []"]
    assert steps(number) == []


def test_a_loop_over_a_range_or_a_literal_is_private():
    def private():
        for _ in range(3):
            pass
        for _ in (1, 2):
            pass

    def shared(things):
        for _ in things:
            pass

    assert steps(private) == []
    assert steps(shared) == ["read []", "read []"]


def test_a_cell_is_a_step_only_if_somebody_rebinds_it():
    fixed, moving = 1, 1

    def reads():
        return fixed, moving

    def rebinds():
        nonlocal moving
        moving += 1

    rebinds()
    assert steps(reads) == ["read cell moving"]


@pytest.mark.parametrize(
    ("callee", "first", "expected"),
    [
        (list.append, [], True),
        (isinstance, [], False),
        (len, [], True),
        (len, "text", False),
        (int, "7", False),
        (dict, {}, True),
        (Thing, None, False),
        (Thing.method, None, False),
        (ValueError, "text", False),
        (sys.exc_info, None, True),
        ([].append, 1, True),
    ],
)
def test_a_call_is_a_step_if_it_may_touch_what_is_shared_and_makes_no_steps_itself(callee, first, expected):
    assert is_step(callee, first, under_test) is expected


def test_after_most_calls_of_c_the_gil_may_go():
    assert gil_is_checked_after(dict.get, under_test)
    assert not gil_is_checked_after(len, under_test)
    assert not gil_is_checked_after([].append, under_test)
    assert not gil_is_checked_after(Thing.method, under_test), "its own entry is where it looks"


def test_accesses_conflict_if_one_writes_what_the_other_touches():
    assert Access("write", ".x", 1).conflicts(Access("read", ".x", 2))
    assert not Access("read", ".x", 1).conflicts(Access("read", ".x", 2))
    assert not Access("write", ".x", 1).conflicts(Access("write", ".y", 2))
    assert Access("call", "call", 1).conflicts(Access("read", "[]", 2))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="calls are told by their source text here")
def test_the_steps_have_the_same_numbers_on_every_version_with_call_events():
    assert len(steps(Thing.change)) == 2
