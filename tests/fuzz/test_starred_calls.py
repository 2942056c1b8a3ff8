"""A call with a star: what is behind the star may be gone when the interpreter reports the call, and is not looked at then."""

import datetime
import sys

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.fuzz.steps.stack import operands_of
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


@pytest.mark.parametrize("way", one_in(3, WAYS))
def test_what_is_behind_a_star_crashes_nothing(way):
    make = WAYS[way]

    def work(shared):
        for key in range(3):
            shared.made[key] = make()

    result = gilcheck.fuzz(
        setup=Shared, threads=[work, work], invariant=lambda shared: len(shared.made) == 3, schedules=30, budget=30, judge=False
    )
    assert result.verdict == "holds", str(result)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the call is reported before it begins")
def test_a_tuple_of_arguments_is_still_read():
    seen = []

    def passes(function, *arguments, **named):
        return function(*arguments, **named)

    def changes(function, *arguments):
        arguments = list(arguments)
        return function(*arguments)

    def chooses(function, other, *arguments):
        return function(*(other or arguments))

    def called(code, offset, function, first):
        if code in (passes.__code__, changes.__code__, chooses.__code__):
            seen.append(operands_of(sys._getframe(1), 4 if code is passes.__code__ or sys.version_info >= (3, 14) else 3))

    monitoring = sys.monitoring
    tool = next(each for each in (3, 4) if monitoring.get_tool(each) is None)
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, monitoring.events.CALL, called)
        for code in (passes.__code__, changes.__code__, chooses.__code__):
            monitoring.set_local_events(tool, code, monitoring.events.CALL)
        passes(divmod, 7, 2)
        changes(divmod, 7, 2)
        chooses(divmod, [7, 2])
    finally:
        monitoring.free_tool_id(tool)
    kept, *gone = ([each for each in operands if type(each) in (tuple, list)] for operands in (seen[0], seen[-2], seen[-1]))
    assert kept == [(7, 2)]
    assert gone == [[], []]
