"""What a program is made of must take what it is called with: said before anything runs, and not as a finding."""

import collections
import functools
from unittest import mock

import pytest

from pytest_gilcheck import BadValue
from pytest_gilcheck.fuzz.check import program

from .programs import Counter, add


def nothing():
    pass


def gives_a_counter(function):
    @functools.wraps(function)
    def called():
        return function(Counter())

    return called


@gives_a_counter
def given_a_counter(counter):
    counter.value += 1


def takes_two(counter, other):
    pass


def needs_a_keyword(counter, *, by):
    pass


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"threads": [add, nothing], "setup": Counter}, r"threads=.*nothing.* the state that setup returns"),
        ({"threads": [nothing, takes_two], "setup": Counter}, r"threads=.*nothing"),
        ({"threads": [add, needs_a_keyword], "setup": Counter}, r"threads=.*needs_a_keyword"),
        ({"threads": [nothing, add]}, r"threads=.*add.* no argument, because there is no setup"),
        ({"threads": [given_a_counter, add], "setup": Counter}, r"threads=.*given_a_counter"),
        ({"threads": [add, add], "setup": Counter, "invariant": nothing}, r"invariant=.*nothing.* the state that setup returns"),
        ({"threads": [nothing, nothing], "invariant": add}, r"invariant=.*add.* no argument"),
        ({"threads": [add, add], "setup": add}, r"setup=.*add.* without arguments"),
    ],
)
def test_a_part_that_cannot_take_what_it_is_called_with_is_refused(parts, words):
    with pytest.raises(BadValue, match=words):
        program(**{"setup": None, "invariant": None, "name": None} | parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"threads": [nothing, nothing], "invariant": lambda: True},
        {"threads": [nothing, given_a_counter]},  # what it wraps takes an argument; it does not
        {"threads": [Counter, object]},
        {"threads": [[].clear, functools.partial(add, Counter())]},
        {"threads": [dict, iter([]).__next__], "invariant": dict},  # in C: dict does not say what it takes
        {"threads": [add, len], "setup": list, "invariant": bool},
        {"threads": [add, functools.partial(takes_two, other=1)], "setup": Counter},
        {"threads": [lambda *state: None, lambda state=None: None], "setup": collections.deque},
        {"threads": [mock.Mock(), mock.MagicMock()], "setup": mock.Mock(), "invariant": mock.Mock()},
    ],
)
def test_parts_that_take_what_they_are_called_with_are_taken(parts):
    made = program(**{"setup": None, "invariant": None, "name": None} | parts)
    assert list(made.threads) == parts["threads"]
