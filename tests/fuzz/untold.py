"""Programs that use a feature in a way of which nobody can tell what it touches: C calls code, or not what it seems.

Each run has classes of its own, so that nothing is left of the run before, which would keep it from a proof as well.
"""

import collections
import enum
import itertools
import json
import logging
import operator

LOUD = logging.getLogger("tests.fuzz.untold")


class Line:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        yield from self.rows


class Items:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, place):
        self.rows.append(place)
        return len(self.rows)


class Reckoned:
    """An object of which code computes what a pattern asks for, in the middle of it."""

    __match_args__ = ("first", "second")

    def __init__(self, rows):
        self.rows = rows

    @property
    def first(self):
        self.rows.append(1)
        return 0

    @property
    def second(self):
        return len(self.rows)


class Emptied:
    """An object whose slot is not set, so that code answers for it, before the next one is read."""

    __slots__ = ("first", "rows", "second")

    def __init__(self, rows):
        self.rows, self.second = rows, 0

    def __getattr__(self, name):
        return len(self.rows)


class Named(dict):
    pass


class Sink:
    """A stream whose methods are those of a list."""

    def __init__(self, rows):
        self.write = rows.append


class First:
    def __init__(self, rows):
        self.rows = rows

    def __index__(self):
        return 0 * len(self.rows)


class Untold:
    def __init__(self):
        self.n, self.seen = 0, None
        self.rows = rows = [2, 1]

        class Equal(str):
            def __eq__(self, other):
                return len(rows) == 0

            __hash__ = str.__hash__

        class Comparing(type):
            def __eq__(cls, other):
                return len(rows) == 0

            def __hash__(cls):
                return 1

        class Compared(metaclass=Comparing):
            pass

        class Answered(dict):
            __missing__ = rows.append

        class Asking(dict):
            def __missing__(self, key):
                return len(rows)

        class Placed(enum.Enum):
            ONE = 1

            def __index__(self):
                return len(rows)

            def __int__(self):
                return len(rows)

        class Copied(collections.deque):
            def __init__(self, *arguments):
                super().__init__(*arguments)

        class Answering:
            def __new__(cls, *arguments):
                return dict.__new__(Answer)

        class Answer(Answering, dict):
            pass

        class Shown(enum.Enum):
            ONE = 1

        Shown._value_repr_ = {1: "one"}.get
        self.copied, self.answering, self.shown = Copied([1, 2]), Answering, Shown.ONE
        self.computed = type("Computed", (), {"__cl" + "ass__": property(operator.attrgetter("kind"))})()
        self.computed.kind, self.ordered = int, collections.OrderedDict()
        self.with_items, self.with_keys = Named(a=1), Named(a=1, b=2)
        self.with_items.items, self.with_keys.keys = rows.copy, ["a"].copy
        Placed.ONE.rows = rows
        self.equal, self.compared, self.table = Equal("a"), Compared, {"a": 0, Compared: 0}
        self.answered, self.asking, self.member, self.members = Answered(), Asking(a=0), Placed.ONE, [Placed.ONE, Placed.ONE]
        self.sized, self.items, self.reckoned, self.emptied = Line(rows), Items(rows), Reckoned(rows), Emptied(rows)
        self.named, self.sink = Named(k=5), Sink(rows)
        self.named.get = {"k": 0}.get
        self.of_first, self.of_two = operator.itemgetter(First(rows)), operator.itemgetter("k", "a")
        self.pairs, self.by_default = [(1,), (5,)], lambda row, *, rows=rows: rows
        self.chained, self.generated = itertools.chain.from_iterable([rows]), itertools.chain((row for row in rows), [1])


def match_computed(s):
    match s.reckoned:
        case Reckoned(first, second):
            s.seen = first + second


def match_what_is_not_set(s):
    match s.emptied:
        case Emptied(first=first, second=second):
            s.seen = first + second


def match_by_another_get(s):
    match s.named:
        case {"k": value}:
            s.seen = value


def sort_by_what_is_shared(s):
    s.seen = sorted([1, 2], key=lambda row: s.rows)


def most_by_code(s):
    s.seen = max(s.rows, key=lambda row: -row)


def sort_in_place_by_code(s):
    s.pairs.sort(key=lambda pair: -pair[0])


def sort_by_an_attribute(s):
    s.seen = sorted(s.members, key=lambda member: member.rows)


NOT_KNOWN = {
    "a pattern whose attributes code computes": match_computed,
    "a pattern of a slot that is not set": match_what_is_not_set,
    "a pattern with a get of an instance": match_by_another_get,
    "sorted by what others reach": sort_by_what_is_shared,
    "sorted by a default": lambda s: sorted([1, 2], key=s.by_default),
    "sorted by an attribute of members": sort_by_an_attribute,
    "max by code": most_by_code,
    "max by an odd item": lambda s: max(s.pairs, key=s.of_first),
    "a sort in place by code": sort_in_place_by_code,
    "a sort of members with a number of their own": lambda s: s.members.sort(key=int),
    "a member with an index of its own": lambda s: s.rows * s.member,
    "a chain of generators": lambda s: next(s.generated, 0),
    "a chain of what is in a list": lambda s: next(s.chained, 0),
    "a text that compares as it likes": lambda s: s.table.get(s.equal),
    "a class that compares as it likes": lambda s: s.table.get(s.compared),
    "an object that is asked for its size first": lambda s: list(s.sized),
    "two items by code": lambda s: operator.itemgetter(0, 1)(s.items),
    "two items that code answers for": lambda s: s.of_two(s.asking),
    "a format of keys that code answers for": lambda s: "%(k)s %(a)s" % s.asking,  # noqa: UP031 # that is what it is about
    "a sum of deques that code copies": lambda s: s.copied + s.copied,
    "a class that makes another one": lambda s: s.answering([("a", 1)]),
    "a class that is computed": lambda s: isinstance(s.computed, Line),
    "a member that is shown in C": lambda s: repr(s.shown),
    "json of a dict with items of its own": lambda s: json.dumps(s.with_items),
    "an OrderedDict of a dict with keys of its own": lambda s: s.ordered.update(s.with_keys),
    "a __missing__ in C": lambda s: s.answered["k"],
    "a stream with a method of its own": lambda s: print("x", file=s.sink),
    "a logger that is switched on": lambda s: LOUD.error("%s", s.n),
}


def change(s):
    """What all of these may meet with."""
    s.rows.append(1)
    s.n = s.n + 1
