"""`print` writes into what is under a text stream, which threads may have by itself."""

import io
import sys
import threading

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.search.search import Search

from .programs import SETTLED, counted, under_the_lock

STREAM = type(sys.__stdout__)  # its name in a file under test is taken for one of who notices the end of an object


class Printing:
    def __init__(self):
        self.lock, self.seen = threading.Lock(), (0, 0)
        self.written = io.BytesIO()
        sys.stdout = STREAM(self.written, write_through=True)


def show(s):
    print("a")  # noqa: T201


def look_twice(s):
    s.seen = (s.written.tell(), s.written.tell())


def saw_the_same(s):
    return s.seen[0] == s.seen[1]


@pytest.fixture(autouse=True)
def stdout_and_no_samples(monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(Search, "_passes_test", lambda *ignored: True)


def test_what_is_printed_is_in_the_buffer_under_the_stream():
    result = counted(show, look_twice, setup=Printing, invariant=saw_the_same, schedules=300)
    assert result.verdict == "violated", result.reason


def test_a_lock_around_print_and_the_reads_is_settled():
    result = counted(under_the_lock(show), under_the_lock(look_twice), setup=Printing, invariant=saw_the_same, schedules=300)
    assert result.verdict == "holds", result.reason
    if not FREE_THREADED_BUILD:  # where it writes its parts one by one
        assert result.bound in SETTLED
