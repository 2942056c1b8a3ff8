"""A class whose ``__new__`` answers with an instance that there is: what its ``__init__`` in C changes, other threads have."""

import threading

import pytest

from .programs import SETTLED, counted, under_the_lock


class Told(Exception):
    """An error of which there is one: C stores its arguments at each call of the class."""

    latest = None

    def __new__(cls, *details):
        return cls.latest


class State:
    args = ()

    def __init__(self):
        self.lock, self.seen = threading.Lock(), ()
        Told.latest = self.error = Exception.__new__(Told)


def tell(s):
    Told(1, 2)


def read_twice(s):
    s.seen = (s.error.args, s.error.args)


def same(s):
    return s.seen[0] == s.seen[1]


def test_the_arguments_of_an_error_that_others_have_are_changed_by_a_call_of_its_class(monkeypatch):
    monkeypatch.setattr("pytest_gilcheck.search.search.Search._passes_test", lambda *ignored: True)
    result = counted(tell, read_twice, setup=State, invariant=same, schedules=300)
    assert result.bound not in SETTLED
    twin = counted(under_the_lock(tell), under_the_lock(read_twice), setup=State, invariant=same, schedules=300)
    assert twin.verdict == "holds", twin.reason


class Plain(Exception):
    pass


@pytest.mark.parametrize("kind", [Plain, ValueError])
def test_an_error_that_a_call_makes_is_nobody_elses(kind):
    def raise_it(s):
        with s.lock:
            try:
                raise kind(1)
            except kind as error:
                s.seen = (*s.seen, error.args)

    result = counted(raise_it, raise_it, setup=State, invariant=lambda s: s.seen == ((1,), (1,)), schedules=300)
    assert result.bound in SETTLED, result.reason
