"""What two clients contend for, what of that is harmless, and which test need not be searched after another one."""

import collections
import functools
import itertools
import linecache
import os
import re
import sys
import threading
import time
import urllib.parse
import uuid

import pytest

from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.sweep.causes import Whose, causes_of
from pytest_gilcheck.sweep.contended import Met, SearchedTest, Use, packed_things, unpacked_things
from pytest_gilcheck.sweep.footprint import footprint

from .test_accounting import broken

TABLE = {"a": [1]}
COUNT = itertools.count()
LOCK = threading.Lock()


def of_clients(body):
    """The footprint of two clients that do this."""
    return footprint(Program((body, body), name="clients"), 20.0)


def adds():
    TABLE["n"] = TABLE.get("n", 0) + 1


@functools.lru_cache
def made_once(text):
    return [text]


NOTHING = {
    "read a table": lambda: TABLE["a"][0],
    "read the environment": lambda: os.environ.get("HOME"),
    "read the clock": time.time,
    "ask for random bytes": uuid.uuid4,
    "print": lambda: print("x", end=""),  # noqa: T201 # that is what it is about
    "write to a standard stream": lambda: sys.stderr.write(""),
    "use a cache of the library": lambda: urllib.parse.urlsplit("http://a/b"),
    "use a cache of the library, by C": lambda: re.match("a+", "aa"),
    "read lines of source": lambda: linecache.getline(__file__, 1),
}
SOMETHING = {
    "change a table": adds,
    "take the next number": lambda: next(COUNT),
    "use a cache of their own": lambda: made_once("a"),
    "change the modules": lambda: sys.modules.pop("no such module", None),
    "write to a stream of their own": lambda: STREAM.append("x"),
}
STREAM = []


@pytest.mark.parametrize("name", NOTHING)
def test_clients_that_only_read_or_meet_in_what_is_harmless_share_nothing(name):
    assert of_clients(NOTHING[name]) == ("", ())


@pytest.mark.parametrize("name", SOMETHING)
def test_clients_that_change_the_same_share_it(name):
    assert of_clients(SOMETHING[name]).why == "its threads touch the same, and one changes it"


def test_what_is_contended_for_is_known_by_its_lines_in_whatever_test_meets_it():
    def one():
        rows = [1]
        adds()
        rows.append(2)

    def other():
        adds()

    def guarded():
        with LOCK:
            adds()

    (things,) = (footprint.things for footprint in [of_clients(one)])
    assert of_clients(other).things == things == unpacked_things(packed_things(things))
    assert {(use.file, use.line) for thing in things for use in thing} == {(__file__, adds.__code__.co_firstlineno + 1)}
    locked = of_clients(guarded).things
    assert len(locked) == len(things) + 1
    assert set(things) < set(locked)


def test_nothing_is_known_of_what_a_step_touches_that_cannot_be_told():
    def unknown():
        adds()
        collections.namedtuple("Point", "x y")(1, 2)  # a class whose `__new__` is code that is made at run time

    found = of_clients(unknown)
    assert found.why
    assert found.things == ()


def thing(*lines):
    return frozenset(Use("shop.py", line, 1) for line in lines)


def by(things, *searched):
    met = Met()
    for number, (has, places) in enumerate(searched):
        met.add(SearchedTest(str(number), has, places))
    found = met.by(things)
    return None if found is None else found.test


HELD = [([thing(1, 2), thing(5)], None)] * 3
AT_2 = [("shop.py", 2)]


@pytest.mark.parametrize(
    ("things", "searched", "like"),
    [
        ([thing(1, 2)], HELD, "0"),
        ([thing(1)], HELD, "0"),
        ([thing(1, 2)], HELD[:2], None),  # each has asserts of its own
        ([thing(1, 3)], HELD, None),  # another line
        ([thing(1, 2, 5)], HELD, None),  # one thing where those were two, such as locks that are taken in turn
        ([thing(1), thing(2)], HELD, None),  # two things where that was one
        ([frozenset({Use("shop.py", 1, 0)})], HELD, None),  # another access
        ([thing(1, 2), thing(7)], [*HELD, *[([thing(7)], None)] * 3], None),  # no test meets both
        ([], HELD, None),
        ([thing(1, 2)], [([thing(1, 2), thing(5)], AT_2)], "0"),
        ([thing(1)], [([thing(1, 2), thing(5)], AT_2)], None),  # it does not meet what breaks that one
        ([thing(5)], [([thing(1, 2), thing(5)], AT_2)], None),  # that one was searched no further than to its failure
        ([thing(1, 2)], [([thing(1, 2)], ())], None),  # of which no place is known
        ([thing(1, 2)], [([], AT_2)], None),
    ],
)
def test_a_test_is_not_searched_only_if_one_that_was_meets_all_that_it_meets(things, searched, like):
    assert by(things, *searched) == like


LIBRARY = [(linecache.__file__, 50), (re.__file__, 60)]


@pytest.mark.parametrize(
    ("places", "symptom", "whose"),
    [
        (LIBRARY, "exception", Whose.HARMLESS),
        (LIBRARY, "deadlock", Whose.DEPENDENCY),
        ([*LIBRARY, (os.__file__, 1)], "exception", Whose.DEPENDENCY),
        ([*LIBRARY, ("shop.py", 1)], "exception", Whose.PACKAGE),
        ([*LIBRARY, ("test_shop.py", 1)], "exception", Whose.TESTS),
        ([("<frozen importlib._bootstrap>", 1)], "exception", Whose.HARMLESS),
    ],
)
def test_a_cause_is_harmless_only_if_all_of_it_is_in_code_of_the_list(tmp_path, places, symptom, whose):
    places = [(str(tmp_path / file) if file.endswith("shop.py") else file, line) for file, line in places]
    (cause,) = causes_of([broken("t", places, symptom=symptom)], str(tmp_path))
    assert cause.whose is whose
    assert cause.fails_the_run == (whose is Whose.PACKAGE)
    assert bool(cause.harmless) == (whose is Whose.HARMLESS)
