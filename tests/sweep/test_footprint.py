"""What two clients contend for, what of that is harmless, and which test need not be searched after another one."""

import functools
import io
import itertools
import json
import linecache
import logging
import operator
import os
import re
import sys
import threading
import time
import urllib.parse
import uuid
from dataclasses import asdict, replace

import pytest

from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.sweep.causes import Whose, causes_of
from pytest_gilcheck.sweep.contended import Met, Use, packed_things, unpacked_things
from pytest_gilcheck.sweep.footprint import footprint
from pytest_gilcheck.sweep.swept import Failed, SweepOutcome, Swept

from .test_accounting import broken

TABLE = {"a": [1]}
COUNT = itertools.count()
LOCK = threading.Lock()


def of_clients(body):
    """The footprint of two clients that do this."""
    return footprint(Program((body, body), name="clients"), 20.0)


def adds():
    TABLE["n"] = TABLE.get("n", 0) + 1


def added(rows, row):
    rows.append(row)


class Kept(list):
    """Code answers with an instance that others may have, which C initialises again."""

    one = None

    def __new__(cls, *given):
        cls.one = cls.one or super().__new__(cls)
        return cls.one


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
    "have C call code and go on": lambda: {}.update((number, number) for number in range(2)),
    "have C call code with what is behind a star": lambda: {}.update(*[((number, number) for number in range(2))]),
    "call code by a partial with a star": lambda: functools.partial(added, [])(*[1]),
    "log": lambda: LOG.warning("x"),
    "log over several lines": lambda: LOG.warning(
        "%s of %s",
        "x",
        "y",
    ),
    "call a method of their own by a methodcaller": lambda: (UPPER("a"), ADDS([])),
    "read lines of source": lambda: linecache.getline(__file__, 1),
}
SOMETHING = {
    "change a table": adds,
    "take the next number": lambda: next(COUNT),
    "use a cache of their own": lambda: made_once("a"),
    "change the modules": lambda: sys.modules.pop("no such module", None),
    "append to a list": lambda: ROWS.append("x"),
    "have C call code and go on with a table": lambda: TABLE.update((number, number) for number in range(2)),
    "have C call code and go on with a table, with a star": lambda: TABLE.update(*[((number, number) for number in range(2))]),
    "call code by a partial with a star and a table": lambda: functools.partial(added, ROWS)(*[1]),
    "call a method of a list by a methodcaller": lambda: ADDS(ROWS),
    "give a method a list by a methodcaller": lambda: ADDS_ROWS(ROWS_OF_ROWS),
    "change a logger": lambda: LOG.setLevel(30),
    "change a logger over several lines": lambda: LOG.setLevel(
        30  # a comment that says LOG.warning(x)
    ),
}
ROWS = []
ROWS_OF_ROWS = []
UPPER, ADDS, ADDS_ROWS = operator.methodcaller("upper"), operator.methodcaller("append", 1), operator.methodcaller("append", ROWS)
LOG = logging.getLogger(f"{__name__}.log")


@pytest.mark.parametrize("name", NOTHING)
def test_clients_that_only_read_or_meet_in_what_is_harmless_share_nothing(name):
    if "star" in name and sys.version_info < (3, 12):
        pytest.skip("a call is told of before what is behind its star is known")
    assert of_clients(NOTHING[name])[:2] == ("", ())


@pytest.mark.parametrize("name", SOMETHING)
def test_clients_that_change_the_same_share_it(name):
    why = of_clients(SOMETHING[name]).why
    if "star" in name and sys.version_info < (3, 12):
        assert why  # that it is not known what the call touches
    else:
        assert why == "its threads touch the same, and one changes it"


def test_clients_that_log_to_what_they_can_read_share_it():
    handler = logging.StreamHandler(io.StringIO())
    logs = (lambda _: LOG.warning("x"),) * 2
    program = Program(logs, lambda: LOG.addHandler(handler), None, "clients", lambda: LOG.removeHandler(handler))
    assert footprint(program, 20.0).why == "its threads touch the same, and one changes it"


def test_c_code_of_a_dependency_is_named_and_that_of_the_library_is_not():
    pytest.importorskip("markupsafe._speedups")
    markupsafe = pytest.importorskip("markupsafe")
    assert of_clients(lambda: markupsafe.escape("<"))[:3] == ("", (), ["markupsafe._speedups"])
    assert of_clients(lambda: json.loads("[1]"))[:3] == ("", (), [])


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
        Kept([1])

    found = of_clients(unknown)
    assert found.why
    assert found.things == ()


def thing(*lines):
    return frozenset(Use("shop.py", line, 1) for line in lines)


def instead(things, *searched):
    met = Met()
    for number, (has, outcome) in enumerate(searched):
        is_broken = isinstance(outcome, list)
        met.add(broken(str(number), outcome) if is_broken else Swept(test=str(number), outcome=outcome), has)
    found = met.instead(things)
    return None if found is None else (found.outcome, found.like)


BOTH = [thing(1, 2), thing(5)]
HOLDS, UNDECIDED, MET = SweepOutcome.HOLDS, SweepOutcome.NOT_REPEATABLE, SweepOutcome.MET
HELD = [(BOTH, HOLDS)] * 3
AT_2 = [("shop.py", 2)]


@pytest.mark.parametrize(
    ("things", "searched", "becomes"),
    [
        ([thing(1, 2)], HELD, (MET, "0")),
        ([thing(1)], HELD, (MET, "0")),
        ([thing(1, 2)], HELD[:2], None),  # each has asserts of its own
        ([thing(1, 3)], HELD, None),  # another line
        ([thing(1, 2, 5)], HELD, None),  # one thing where those were two, such as locks that are taken in turn
        ([thing(1), thing(2)], HELD, None),  # two things where that was one
        ([frozenset({Use("shop.py", 1, 0)})], HELD, None),  # another access
        ([thing(1, 2), thing(7)], [*HELD, *[([thing(7)], HOLDS)] * 3], None),  # no test meets both
        ([], HELD, None),
        ([thing(5)], [*HELD[:2], (BOTH, UNDECIDED)], (SweepOutcome.CUT_SHORT, "")),
        ([thing(5)], [*HELD, (BOTH, UNDECIDED)], (MET, "0")),
        ([thing(5)], [(BOTH, UNDECIDED)] * 2, None),
        ([thing(5)], [(BOTH, SweepOutcome.REFUSED)] * 3, None),
        ([thing(1, 2)], [(BOTH, AT_2)], (MET, "0")),
        ([thing(1)], [(BOTH, AT_2)] * 3, None),  # it does not meet what breaks that one
        ([thing(5)], [(BOTH, AT_2)] * 3, None),  # that one was searched no further than to its failure
        ([thing(1, 2)], [([thing(1, 2)], [])], None),  # of which no place is known
        ([thing(1, 2)], [([], AT_2)], None),
    ],
)
def test_a_test_is_not_searched_only_if_one_that_was_meets_all_that_it_meets(things, searched, becomes):
    assert instead(things, *searched) == becomes


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


@pytest.mark.parametrize(("through", "whose"), [((), Whose.TESTS), (("test_shop.py",), Whose.TESTS), (("shop.py",), Whose.UNKNOWN)])
def test_where_a_test_was_preempted_makes_no_cause_its_own_if_the_package_ran_too(tmp_path, through, whose):
    """The pair that decides is not known: nothing says that the race is in the tests."""
    test = broken("t", [(str(tmp_path / "test_shop.py"), 1)])
    test = replace(test, failed=replace(test.failed, through=tuple(str(tmp_path / file) for file in through)))
    (cause,) = causes_of([test], str(tmp_path))
    assert cause.whose is whose
    assert cause.fails_the_run == (whose is Whose.UNKNOWN)
    assert str(cause) == "a thread was preempted first at test_shop.py:1" if through else "test_shop.py:1"
    assert Failed.unpacked(json.loads(json.dumps(asdict(test.failed)))) == test.failed


def test_where_a_test_was_preempted_is_not_told_as_a_cause_in_the_package(tmp_path):
    shop = str(tmp_path / "shop.py")
    test = broken("t", [(shop, 1)])
    (known,) = causes_of([test], str(tmp_path))
    assert (known.whose, str(known)) == (Whose.PACKAGE, "shop.py:1")
    (guessed,) = causes_of([replace(test, failed=replace(test.failed, through=(shop,)))], str(tmp_path))
    assert (guessed.whose, str(guessed)) == (Whose.UNKNOWN, "a thread was preempted first at shop.py:1")
    assert guessed.fails_the_run
