"""C that goes on with what code under test has answered: it goes through an iterator, or asks whether a list is empty.

Each broken program has a twin with a lock, which holds.
"""

import collections
import threading

import pytest

from ..slow import one_in
from .programs import SETTLED, counted, under_the_lock


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows, self.seen, self.names = [1, 2, 3], None, ["a", "b"]
        self.values = {"a": 1, "b": 1, "c": 1}
        self.index = {"a": []}
        self.pairs, self.merged = [["a", 0], ["b", 0]], {}
        self.hits = collections.defaultdict(int)


class Ledger(State):
    def __iter__(self):
        return iter(self.rows)


class Registry(State):
    def keys(self):
        return self.names

    def __getitem__(self, key):
        return self.values[key]


class Index(State):
    def __contains__(self, key):
        return self.index.get(key)


class Equal(State):
    def __eq__(self, other):
        return self.index["a"]

    __hash__ = None


class Context(State):
    def __getitem__(self, key):
        return self.rows


def total(s):
    s.seen = sum(s)


def contains_two(s):
    s.seen = 6 if 2 in s else 0


def transfer(s):
    s.rows[0] -= 1
    s.rows[1] += 1


def take_two(s):
    s.rows[1] = 0
    s.rows[1] = 2


def export(s):
    s.seen = dict(s)


def display(s):
    s.seen = {**s}


def rename(s):
    s.names.remove("a")
    s.names.append("c")


def look(s):
    s.seen = "a" in s


def compare(s):
    s.seen = 1 if s == 3 else 0


def differ(s):
    s.seen = s != 3


def flicker(s):
    s.index["a"].append(1)
    s.index["a"].clear()


def show(s):
    s.seen = "%(rows)s" % s  # noqa: UP031 # this operator is what is tested


def update(s):
    s.rows[0] = 7
    s.rows[1] = 7


def merge(s):
    s.merged |= s.pairs


def update_pairs(s):
    s.pairs[0][1] = 1
    s.pairs[1][1] = 1


def show_hit(s):
    "%(x)s" % s.hits  # noqa: UP031


def look_at_size(s):
    before = len(s.hits)
    s.seen = before == len(s.hits)


PROGRAMS = {
    "sum": (Ledger, total, transfer, lambda s: s.seen == 6),
    "in, by its iterator": (Ledger, contains_two, take_two, lambda s: s.seen == 6),
    "dict": (Registry, export, rename, lambda s: len(s.seen) == 2),
    "display": (Registry, display, rename, lambda s: len(s.seen) == 2),
    "in": (Index, look, flicker, lambda s: s.seen is False),
    "==": (Equal, compare, flicker, lambda s: s.seen == 0),
    "!=": (Equal, differ, flicker, lambda s: s.seen is True),
    "% of an object": (Context, show, update, lambda s: s.seen in ("[1, 2, 3]", "[7, 7, 3]")),
    "|= of pairs": (State, merge, update_pairs, lambda s: s.merged["a"] == s.merged["b"]),
    "% of a defaultdict": (State, show_hit, look_at_size, lambda s: s.seen),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(8, PROGRAMS))
def test_what_c_reads_of_an_answer_is_raced_for(name):
    setup, *threads, invariant = PROGRAMS[name]
    result = counted(*threads, setup=setup, invariant=invariant, schedules=2000)
    assert result.verdict == "violated", result.reason
    twin = counted(*map(under_the_lock, threads), setup=setup, invariant=invariant, schedules=60)
    assert twin.verdict == "holds", twin.reason


class Cache:
    def __init__(self):
        self.values, self.made, self.lock = {}, 0, threading.Lock()

    def __contains__(self, key):
        return key in self.values

    def make(self):
        with self.lock:
            if "a" not in self:
                self.values["a"] = 1
                self.made += 1


def test_a_method_that_surely_answers_true_or_false_leaves_a_proof():
    result = counted(Cache.make, Cache.make, setup=Cache, invariant=lambda cache: cache.made == 1, schedules=2000)
    assert result.verdict == "holds"
    assert result.bound in SETTLED, result.reason
