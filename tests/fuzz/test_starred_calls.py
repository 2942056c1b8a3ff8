"""A call with a star: what is behind the star may be gone when the interpreter reports the call, and is not looked at then."""

import datetime
import sys

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.engine.bytecode.code_facts import instruction_at
from pytest_gilcheck.engine.bytecode.stack import NOTHING, operands_of
from pytest_gilcheck.engine.touched import trace
from tests.slow import one_in


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


class Parts(list):
    pass


class Fixed(tuple):
    __slots__ = ()


def numbers(text):
    for part in text.split("-"):
        yield int(part)


class Shared:
    def __init__(self):
        self.made = {}


NAMED = {"other": 2}
WAYS = {
    "a generator": lambda: Pair(*numbers("1-2")),
    "a map": lambda: datetime.date(*map(int, ["2026", "11", "25"])),
    "a dict": lambda: complex(*{1: 2, 3: 4}),
    "a list of a subclass": lambda: Pair(*Parts([1, 2])),
    "a tuple of a subclass": lambda: Pair(*Fixed([1, 2])),
    "a view": lambda: list(zip(*{"a": [1], "b": [2]}.values(), strict=True)),
    "a list and names": lambda: Pair(*Parts([1]), **NAMED),
    "a new list": lambda: Pair(*sorted((1, 2))),
}


@pytest.mark.parametrize("way", one_in(5, WAYS))
def test_what_is_behind_a_star_crashes_nothing(way):
    make = WAYS[way]

    def work(shared):
        for key in range(3):
            shared.made[key] = make()

    result = gilcheck.fuzz(
        setup=Shared, threads=[work, work], invariant=lambda shared: len(shared.made) == 3, schedules=30, budget=30, judge=False
    )
    assert result.verdict == "holds", str(result)


def passes(function, *arguments, **named):
    return function(*arguments, **named)


def passes_a_list(function, *arguments):
    arguments = list(arguments)
    return function(*arguments)


def passes_names_too(function, arguments, named):
    return function(*arguments, **{"strict": not False, **named})


def passes_some_by_place(function, one, other):
    return function(one, *other)


def passes_a_tuple_and_a_name(function, one, other, named):
    return function(one, other, strict=True, **named)


def chooses(function, other, *arguments):
    return function(*(other or arguments))


def passes_what_is_made(function, one, other):
    return function(*sorted((one, other)))


def passes_what_was_stored_before(function, arguments, other):
    return function(*arguments, **(arguments := other))


def seen_behind_the_star(*calls):
    """What the stack shows of these calls with stars, when each is reported: that of two operands and of tuples and lists alone."""
    seen, codes = [], [passes.__code__ for passes, *_ in calls]

    def called(code, offset, function, first):
        if code in codes and instruction_at(code, offset)[0] == "CALL_FUNCTION_EX":
            named = sys.version_info >= (3, 14) or instruction_at(code, offset)[1] & 1
            seen.append(operands_of(sys._getframe(1), 1 + named)[0])

    monitoring = sys.monitoring
    tool = next(each for each in (3, 4) if monitoring.get_tool(each) is None)
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, monitoring.events.CALL, called)
        for code in codes:
            monitoring.set_local_events(tool, code, monitoring.events.CALL)
        for passed, *arguments in calls:
            passed(*arguments)
    finally:
        monitoring.free_tool_id(tool)
    return seen


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the call is reported before it begins")
def test_a_tuple_and_what_a_local_refers_to_are_read_behind_a_star():
    calls = [
        (passes, divmod, 7, 2),
        (passes_a_list, divmod, 7, 2),
        (passes_names_too, zip, [[7], [2]], {}),
        (passes_some_by_place, divmod, 7, [2]),
        (passes_a_tuple_and_a_name, zip, [7], [2], {}),
    ]
    assert seen_behind_the_star(*calls) == [(7, 2), [7, 2], [[7], [2]], (7, 2), ([7], [2])]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the call is reported before it begins")
def test_what_is_made_for_a_star_or_comes_by_two_ways_is_not_read():
    calls = [(chooses, divmod, [7, 2]), (passes_what_is_made, divmod, 2, 7), (passes_what_was_stored_before, dict, [[(1, 2)]], {})]
    assert seen_behind_the_star(*calls) == [NOTHING] * 3


def one_step_of(pair):
    pair.one += 1


@pytest.mark.parametrize("make", [lambda: Pair(*numbers("1-2")), lambda: one_step_of(Pair(1, 2)), lambda: Pair(1, 2)])
def test_of_a_caller_whose_arguments_may_be_gone_no_operand_is_looked_at(make, monkeypatch):
    looked_at, real = set(), trace.touches_of

    def touches_of(frame, name, *of, **how):
        running = sys._getframe(1)
        while running.f_code.co_filename != __file__:
            running = running.f_back
        if frame is not running:
            looked_at.add(name)
        return real(frame, name, *of, **how)

    monkeypatch.setattr(trace, "touches_of", touches_of)
    setup, threads = Shared, [lambda shared: shared.made.update(a=make())] * 2
    result = gilcheck.fuzz(setup=setup, threads=threads, schedules=4, seed=1, judge=False)
    assert result.verdict != "violated", str(result)  # without a GIL, the update is several steps
    assert not looked_at & {"CALL_FUNCTION_EX", "BEFORE_WITH", ""}
