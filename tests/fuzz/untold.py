"""Programs that use a feature in a way of which nobody can tell what it touches: C calls code, or a name stands for another."""

import io
import itertools
import operator

from .features import QUIET, Line, Point

SHARED = []  # what code answers that C compares


class Answering:
    """An object of which code computes what a pattern asks for, in the middle of it."""

    __match_args__ = ("first", "second")

    def __init__(self, s):
        self.s = s

    @property
    def first(self):
        self.s.n += 1
        return 0

    @property
    def second(self):
        return self.s.n


class Equal(str):
    def __eq__(self, other):
        return len(SHARED) == 0

    __hash__ = str.__hash__


class Comparing(type):
    def __eq__(cls, other):
        return len(SHARED) == 0

    def __hash__(cls):
        return 1


class Compared(metaclass=Comparing):
    pass


class Sized(Line):
    def __len__(self):
        return len(SHARED)


class Items:
    def __getitem__(self, place):
        SHARED.append(place)
        return len(SHARED)


class Written(io.TextIOWrapper):
    def write(self, text):
        SHARED.append(text)
        return len(text)


def match_computed(s):
    match Answering(s):
        case Answering(first, second):
            s.seen = first + second


def sort_by_what_is_shared(s):
    s.seen = sorted([1, 2], key=lambda row: SHARED)


def most_by_code(s):
    s.seen = max([1, 2], key=lambda row: -row)


def sort_in_place_by_code(s):
    s.rows.sort(key=lambda row: -row)


def chain_generators(s):
    s.seen = list(itertools.chain((row for row in s.rows), s.rows))


def compare_as_it_likes(s):
    s.table[Equal("a")] = 1


def compare_classes(s):
    s.table[Compared] = 1


def measure(s):
    s.seen = list(Sized([1]))


def get_two(s):
    s.seen = operator.itemgetter(0, 1)(Items())


def log_aloud(s):
    QUIET.error("%s", 1)


def alias(s, put=setattr):
    put(s, "n", s.n + 1)


def store_by_a_name_of_a_class(s):
    s.seen = Point.__dict__["y"]


NOT_KNOWN = {
    "a pattern whose attributes code computes": match_computed,
    "sorted by what others reach": sort_by_what_is_shared,
    "max by code": most_by_code,
    "a sort in place by code": sort_in_place_by_code,
    "a chain of generators": chain_generators,
    "a text that compares as it likes": compare_as_it_likes,
    "a class that compares as it likes": compare_classes,
    "an object that is asked for its size first": measure,
    "two items by code": get_two,
    "a logger that is switched on": log_aloud,
    "setattr by another name": alias,
    "a class's own dict": store_by_a_name_of_a_class,
}


def change(s):
    """What all of these may meet with."""
    SHARED.append(1)
    s.rows.append(1)
    s.n = s.n + 1
