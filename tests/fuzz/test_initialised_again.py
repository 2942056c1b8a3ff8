"""A second ``__init__`` in C of an object that threads share: it stores what no instruction names."""

import collections
import functools
import threading

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD

from ..slow import one_in
from .programs import SETTLED, counted, under_the_lock


class Failure(AttributeError):
    """An error whose ``name`` C stores."""


class Shared:
    """The names are also plain attributes here, which nothing stores beside the threads."""

    maxlen = default_factory = name = value = None

    def __init__(self):
        self.lock, self.seen, self.rows = threading.Lock(), (0, 0), [1, 2]
        self.recent, self.groups = collections.deque([1], 1), collections.defaultdict(int)
        self.limit_again = functools.partial(self.recent.__init__, [1], 4)
        self.failure, self.end = Failure("", name="old"), StopIteration(0)


def limit(s):
    s.recent.__init__([1], 4)


def limit_by_a_partial(s):
    s.limit_again()


def limits(s):
    s.seen = (s.recent.maxlen, s.recent.maxlen)


def regroup(s):
    s.groups.__init__(list)


def factories(s):
    s.seen = (s.groups.default_factory, s.groups.default_factory)


def rename(s):
    s.failure.__init__("", name="new")


def names(s):
    s.seen = (s.failure.name, s.failure.name)


def end(s):
    s.end.__init__(1)


def ends(s):
    s.seen = (s.end.value, s.end.value)


def read_the_same(s):
    return s.seen[0] == s.seen[1]


PAIRS = {
    "deque": (limit, limits),
    "deque by a partial": (limit_by_a_partial, limits),
    "defaultdict": (regroup, factories),
    "error": (rename, names),
    "end of an iteration": (end, ends),
}


@pytest.mark.parametrize("name", one_in(3, PAIRS))
def test_what_a_second_init_stores_is_no_constant_and_the_twin_with_a_lock_is_settled(name, monkeypatch):
    monkeypatch.setattr("pytest_gilcheck.search.search.Search._passes_test", lambda *ignored: True)
    result = counted(*PAIRS[name], setup=Shared, invariant=read_the_same, schedules=300)
    assert result.verdict == "violated", result.reason
    twin = counted(*map(under_the_lock, PAIRS[name]), setup=Shared, invariant=read_the_same, schedules=300)
    assert twin.verdict == "holds", twin.reason
    if name != "end of an iteration":  # C changes the value of an iteration's end by itself as well
        assert twin.bound in SETTLED


def fill_again(s):
    s.rows.__init__((3, 4))


def size(s):
    s.seen = (len(s.rows), 2)


def first(s):
    s.seen = (s.rows[0] in (1, 3), True)


@pytest.mark.slow
@pytest.mark.parametrize("reads", one_in(2, [size, first]))
def test_a_second_init_empties_a_list_first_which_is_several_steps_without_a_gil(reads):
    result = counted(fill_again, reads, setup=Shared, invariant=read_the_same, schedules=300)
    twin = counted(under_the_lock(fill_again), under_the_lock(reads), setup=Shared, invariant=read_the_same, schedules=300)
    assert twin.bound in SETTLED
    if FREE_THREADED_BUILD:
        assert result.verdict == "inconclusive", result.reason
        assert "takes several steps in C" in result.reason
    else:
        assert result.bound in SETTLED
