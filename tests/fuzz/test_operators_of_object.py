"""``object.__ne__``, which asks ``__eq__`` of the class and negates the answer."""

import threading

import pytest

from ..slow import one_in
from .programs import SETTLED, counted, under_the_lock


class Answers:
    """What is equal answers with a list, of which C asks whether it is empty."""

    def __init__(self):
        self.found = []

    def __eq__(self, other):
        return self.found

    __hash__ = None


class State:
    def __init__(self):
        self.lock, self.seen, self.rows, self.answers = threading.Lock(), (), [1], Answers()


def compare_rows(s):
    s.seen = (object.__ne__(s.rows, [1]), object.__ne__(s.rows, [1]))


def compare_with_rows(s):
    s.seen = (object.__ne__([1], s.rows), object.__ne__([1], s.rows))


def ask(s):
    s.seen = (object.__ne__(s.answers, 1), object.__ne__(s.answers, 1))


def change_row(s):
    s.rows[0] = 2


def find(s):
    s.answers.found.append(1)


def same(s):
    return s.seen[0] == s.seen[1]


PAIRS = {"of a list": (compare_rows, change_row), "with a list": (compare_with_rows, change_row)}


@pytest.mark.parametrize("name", one_in(3, PAIRS))
def test_what_object_ne_asks_of_the_class_is_touched(name, monkeypatch):
    monkeypatch.setattr("pytest_gilcheck.search.search.Search._passes_test", lambda *ignored: True)
    result = counted(*PAIRS[name], setup=State, invariant=same, schedules=300)
    assert result.bound not in SETTLED, result.reason
    twin = counted(*map(under_the_lock, PAIRS[name]), setup=State, invariant=same, schedules=300)
    assert twin.verdict == "holds", twin.reason
    assert twin.bound in SETTLED


@pytest.mark.slow
def test_what_c_asks_of_an_answer_is_found_by_samples():
    assert counted(ask, find, setup=State, invariant=same, schedules=300).verdict == "violated"
    counted(under_the_lock(ask), under_the_lock(find), setup=State, invariant=same, schedules=300).assert_holds()


def test_object_ne_of_what_is_equal_to_itself_alone_touches_nothing():
    def ask_twice(s):
        s.seen = (object.__ne__(s, 1), object.__ne__(s, 1))

    result = counted(ask_twice, change_row, setup=State, invariant=same, schedules=300)
    assert result.bound in SETTLED, result.reason
