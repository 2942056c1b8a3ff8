"""Programs in which two threads meet by one feature of the language or of the standard library each."""

import collections
import contextlib
import enum
import functools
import io
import itertools
import logging
import operator
import os
import re
import threading
import types
from dataclasses import dataclass
from typing import NamedTuple

OWN = threading.local()
QUIET = logging.getLogger("tests.fuzz.features")
QUIET.setLevel(logging.ERROR)


class Pair(NamedTuple):
    x: int
    y: int = 0


@dataclass(frozen=True)
class Frozen:
    x: int


@dataclass
class Point:
    x: int
    y: int = 0


class Key(str):
    pass


class Number(int):
    pass


class Couple(tuple):
    def __new__(cls, *elements):
        return super().__new__(cls, elements)


class Making(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Made(metaclass=Making):
    def __init__(self, value):
        self.value = value


class Step(enum.IntEnum):
    ONE = 1


class Stored:
    def __init__(self):
        self.value = 0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Line:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        yield from self.rows


class Lazy:
    @functools.cached_property
    def size(self):
        return 1


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.n = 0
        self.pair, self.frozen, self.point, self.stored = Pair(0), Frozen(0), Point(0), Stored()
        self.couple, self.number, self.text, self.out = Couple(0, 1), Number(0), "", io.StringIO()
        self.rows, self.table, self.counts = [], {"a": 0}, collections.Counter()
        self.view, self.lazy = types.MappingProxyType(self.table), Lazy()
        self.seen, self.adding = self.lazy.size, functools.partial(add, more=1)
        self.keywords = self.adding.keywords


def values(s):
    yield s.n
    return 1


def relay(s):
    yield (yield from values(s))


def delegate(s):
    first, second = relay(s)
    s.n = first + second


def match_keys(s):
    match s.table:
        case {"a": value, **others} if not others:
            s.table["a"] = value + 1


def match_class(s):
    match s.point:
        case Point(x, y=0):
            s.point.x = x + 1


def match_number(s):
    match s.n:
        case int(value):
            s.n = value + 1


def replace_pair(s):
    s.pair = Pair(s.pair.x + 1, s.pair.y)


def unpack_pair(s):
    x, y = s.pair
    s.pair = Pair(x + 1, y)


def freeze(s):
    s.frozen = Frozen(s.frozen.x + 1)


def count_by_key(s):
    s.table[Key("a")] = s.table[Key("a")] + 1


def count_number(s):
    s.number = Number(s.number + 1)


def count_couple(s):
    s.couple = Couple(s.couple[0] + 1, 1)


def look_through_view(s):
    s.table["a"] = s.view["a"] + 1 if "a" in s.view else 0


def make(s):
    s.n = Made(s.n).value + 1


def suppress(s):
    with contextlib.suppress(KeyError), contextlib.nullcontext():
        s.n += s.table["a"] + 1
        s.n += s.table["b"]  # there is none


def ask_environment(s):
    s.n += 1 + len(os.environ.get("GILCHECK_NOWHERE", "")) + ("GILCHECK_NOWHERE" in os.environ)


def operate(s):
    s.n = operator.add(s.n, operator.itemgetter(0)([1]))


def sort_by_code(s):
    s.rows = sorted([*s.rows, (0, len(s.rows))], key=lambda row: (-row[1], row[0]))


def sort_in_c(s):
    rows = s.rows
    rows.append((0, len(rows)))
    rows.sort(key=operator.itemgetter(1), reverse=True)


def most_frequent(s):
    s.table[max(s.table, key=s.table.get)] += 1


def chain(s):
    total = 1
    for row in itertools.chain(s.rows, (0,), s.rows):
        total += row
    for left, right in itertools.product(s.rows, [0]):
        total += left + right
    s.rows = [total]


def join(s):
    s.text = ",".join(map(str, [len(s.text), *s.rows]))
    s.rows.append(1)


def make_of_pairs(s):
    s.table = dict(zip(["a"], [s.table["a"] + 1], strict=True))


def set_by_name(s):
    setattr(s, "n", getattr(s, "n", 0) + 1)  # noqa: B010 # that is the feature


def set_by_own_method(s):
    s.stored.value = s.stored.value + 1


def keep_for_itself(s):
    OWN.x = s.n
    s.n = OWN.x + 1


def know_itself(s):
    s.table[threading.get_ident()] = s.n = s.n + len(threading.current_thread().name[:1])


def print_into(s):
    print(len(s.out.getvalue()), file=s.out)


def log(s):
    QUIET.info("%s", s.n)
    s.n += 1


def add_member(s):
    s.n += Step.ONE


def add_counts(s):
    s.counts = s.counts + collections.Counter("a")


def gather(s):
    s.rows = [*Line(s.rows), *(row for row in list(Line([]))), 1]


def read_cached(s):
    s.n += s.lazy.size


def add(value, more):
    return value + more


add_one = functools.partial(add, more=1)


def call_partial(s):
    s.n = add_one(s.n)


def change_keywords(s):
    added = s.keywords["more"]
    s.keywords["more"] = added + 1
    s.n = s.adding(added)


def count(*rows, more=0):
    return len(rows) + more


def call_with_list(s):
    """What is behind the star is a list of all threads: the call reads it."""
    rows = s.rows
    before = len(rows)
    rows.append(count(*rows) - before)


def call_with_names(s):
    """Names are put together between the star and the call."""
    pair, names = [s.n, 0], {}
    s.n = Pair(*pair).x + count(*pair, more=count(more=0), **names) - 1


def match_text(s):
    s.n += bool(re.match("a", "a")) + "a".startswith(("b", "c"))


PROGRAMS = {
    "yield from": (delegate, lambda s: s.n == 2),
    "a pattern of keys": (match_keys, lambda s: s.table == {"a": 2}),
    "a pattern of a class": (match_class, lambda s: s.point.x == 2),
    "a pattern of a built-in class": (match_number, lambda s: s.n == 2),
    "attributes of a named tuple": (replace_pair, lambda s: s.pair == (2, 0)),
    "a named tuple unpacked": (unpack_pair, lambda s: s.pair == (2, 0)),
    "a frozen dataclass": (freeze, lambda s: s.frozen.x == 2),
    "a key derived from str": (count_by_key, lambda s: s.table == {"a": 2}),
    "a number derived from int": (count_number, lambda s: s.number == 2),
    "a class derived from tuple": (count_couple, lambda s: s.couple == (2, 1)),
    "a read-only view": (look_through_view, lambda s: s.table == {"a": 2}),
    "a metaclass": (make, lambda s: s.n == 2),
    "suppress and nullcontext": (suppress, lambda s: s.n == 2),
    "the environment": (ask_environment, lambda s: s.n == 2),
    "functions of operator": (operate, lambda s: s.n == 2),
    "sorted by code": (sort_by_code, lambda s: len(s.rows) == 2),
    "a sort by a function in C": (sort_in_c, lambda s: s.rows == [(0, 1), (0, 0)]),
    "max by a method of a dict": (most_frequent, lambda s: s.table == {"a": 2}),
    "chain and product": (chain, lambda s: s.rows == [4]),
    "join of a map": (join, lambda s: s.text == "1,1"),
    "dict of zip": (make_of_pairs, lambda s: s.table == {"a": 2}),
    "setattr": (set_by_name, lambda s: s.n == 2),
    "a __setattr__ of its own": (set_by_own_method, lambda s: s.stored.value == 2),
    "threading.local": (keep_for_itself, lambda s: s.n == 2),
    "the current thread": (know_itself, lambda s: s.n == 2),
    "print into a stream": (print_into, lambda s: s.out.getvalue() == "0\n2\n"),
    "a logger that is switched off": (log, lambda s: s.n == 2),
    "IntEnum": (add_member, lambda s: s.n == 2),
    "sums of Counters": (add_counts, lambda s: s.counts == {"a": 2}),
    "list of an object with a generator": (gather, lambda s: s.rows == [1, 1]),
    "cached_property": (read_cached, lambda s: s.n == 2),
    "partial with keywords": (call_partial, lambda s: s.n == 2),
    "keywords of a partial": (change_keywords, lambda s: s.keywords == {"more": 3} and s.n == 5),
    "a list behind a star": (call_with_list, lambda s: s.rows == [0, 0]),
    "names behind a star": (call_with_names, lambda s: s.n == 2),
    "a match of re": (match_text, lambda s: s.n == 2),
}
NAMED_WHEN_CALLED = {"setattr", "a __setattr__ of its own", "a frozen dataclass"}  # from 3.12 on
SEVERAL_STEPS_WITHOUT_A_GIL = {
    "print into a stream", "a sort by a function in C", "sums of Counters", "max by a method of a dict",
}  # fmt: skip
