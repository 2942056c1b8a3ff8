"""Whether an instruction may end an object: a plain value and one that others refer to do not end where they are dropped."""

import sys

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode.code_facts import instruction_at
from pytest_gilcheck.engine.touched.ends import may_end

KEPT = object()


def drops_a_plain_value():
    print_nothing()


def drops_what_others_refer_to():
    kept()


def drops_the_last_reference():
    made()


def overwrites_a_plain_value():
    one = 1
    one = 2  # noqa: F841


def overwrites_the_last_reference():
    one = object()
    one = 2  # noqa: F841


def returns_with_the_last_reference():
    one = object()  # noqa: F841


def returns_with_what_others_refer_to():
    one = KEPT  # noqa: F841


def print_nothing():
    return None


def kept():
    return KEPT


def made():
    return object()


DROPS = ("POP_TOP", "STORE_FAST", "RETURN_VALUE", "RETURN_CONST", "STORE_FAST_LOAD_FAST")


def asked(function):
    """Whether some instruction of a function that only drops something may end an object."""
    answers = []

    def look(frame, event, argument):
        if frame.f_code is not function.__code__:
            return None
        frame.f_trace_opcodes = True
        name, operand, _ = instruction_at(frame.f_code, frame.f_lasti)
        if event == "opcode" and name in DROPS:
            answers.append(may_end(frame, name, operand))
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        function()
    finally:
        sys.settrace(before)
    assert answers
    return any(answers)


@pytest.mark.parametrize("function", [drops_a_plain_value, overwrites_a_plain_value])
def test_nothing_ends_where_a_plain_value_is_dropped(function):
    assert not asked(function)


@pytest.mark.parametrize("function", [drops_what_others_refer_to, returns_with_what_others_refer_to])
def test_nothing_ends_where_others_refer_to_what_is_dropped(function):
    assert asked(function) == FREE_THREADED_BUILD  # where not each reference is counted, it cannot be told


@pytest.mark.parametrize("function", [drops_the_last_reference, overwrites_the_last_reference, returns_with_the_last_reference])
def test_an_object_may_end_where_its_last_reference_is_dropped(function):
    assert asked(function)
