"""Values for a class out of its package's own tests, which may do anything."""

import datetime
import enum
import subprocess
import sys
import threading

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.adaptors.recorded_calls import is_plain

SHELF = """
    import threading

    class Shelf:
        def __init__(self, rows, on_full):
            self.rows, self.on_full, self.books, self.lock = rows, on_full, {}, threading.Lock()
        def shelve(self, book, row):
            self.books[row] = (*self.books.get(row, ()), book)
        def find(self, book):
            return [row for row, books in tuple(self.books.items()) if book in books]

    class Locked(Shelf):
        def shelve(self, book, row):
            with self.lock:
                return super().shelve(book, row)
        def find(self, book):
            with self.lock:
                return super().find(book)

    def nothing():
        pass
"""
TESTS = """
    import os, threading
    from shelf import Locked, Shelf, nothing

    class Own:
        pass

    def test_it():
        for kind in (Shelf, Locked):
            shelf = kind(2, nothing)
            shelf.shelve(("Ulysses", 1), 1)
            shelf.shelve(("Emma", 2), 2)
            shelf.find(("Emma", 2))
            shelf.find(Own())
        print("noise")

    def test_fails():
        Shelf("never")

    def test_ends():
        END
"""


@pytest.fixture
def shelf(pytester, monkeypatch):
    pytester.makepyfile(shelf=SHELF)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))

    def run(name, end, *options):
        pytester.makepyfile(test_shelf=TESTS.replace("END", end))
        command = [sys.executable, "-m", "pytest_gilcheck", "fuzz", f"shelf:{name}", "--seed=1", "--examples=30", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=pytester.path)

    return run


def test_what_could_not_be_inferred_is_taken_from_tests_that_fail_and_exit(shelf):
    racy = shelf("Shelf", "os._exit(3)", "--from-tests=test_shelf.py")
    assert racy.returncode == 1, racy.stdout + racy.stderr
    first, *report = racy.stdout.splitlines()
    assert first.startswith("from tests  pytest exited with status 3")
    assert first.endswith("values for book, on_full, row, rows; not copied: book (a Own)")
    assert "  first   x = Shelf(2, nothing)" in report
    assert "    from shelf import nothing" in report
    assert "shelve(('Emma', 2), 1) -> None" in racy.stdout


@pytest.mark.slow
def test_the_locked_twin_holds_with_what_tests_have_called_before_they_hang(shelf):
    locked = shelf("Locked", "threading.Event().wait()", "--from-tests=test_shelf.py", "--tests-timeout=20")
    assert locked.returncode == 0, locked.stdout + locked.stderr
    assert "the tests were ended after 20 s" in locked.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tests", "text"),
    [
        ("Shelf", "nowhere", "file or directory not found: nowhere"),
        ("nothing", "test_shelf.py", "expected a class to record the calls of, and shelf:nothing is a function"),
        ("Locked.shelve", "test_shelf.py", "is a function"),
    ],
)
def test_where_nothing_is_recorded_one_line_says_why(shelf, name, tests, text):
    result = shelf(name, "pass", f"--from-tests={tests}")
    assert (result.returncode, result.stdout) == (2, "")
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize("value", [None, 1, "a", [1, {"a": (2.0, {b"x"})}], Colour.RED, datetime.date(2026, 1, 1), is_plain, int])
def test_plain_values_are_recorded(value):
    assert is_plain(value)


@pytest.mark.parametrize("value", [object(), threading.Lock(), [threading], lambda: 1, iter(()), type("C", (list,), {})()])
def test_others_are_not(value):
    assert not is_plain(value)


class Bag:
    def __init__(self):
        self.things = []

    def stow(self, widget):
        self.things.append(widget)
        return len(self.things)


def test_values_by_the_name_of_a_parameter_make_an_operation_of_a_method():
    assert gilcheck.linearizable(Bag, judge=False).left_out[0][0] == "stow"
    found = gilcheck.linearizable(Bag, values={"widget": ["w"]}, judge=False, seed=1)
    assert found.verdict == "violated"
    assert found.program == "() | stow('w') || stow('w')"
    with pytest.raises(ValueError, match="a list of values for each name of a parameter, and not for 'widget'"):
        gilcheck.linearizable(Bag, values={"widget": 3}, judge=False)
