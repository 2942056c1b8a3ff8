"""`print` writes into what is under a text stream, which threads may have by itself."""

import io
import sys
import threading

import pytest

from pytest_gilcheck import Kind
from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode import apart, torn
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


class Lines:
    def __init__(self):
        self.lock, self.rows = threading.Lock(), io.StringIO()


def writes_one(s):
    print("a", 1, file=s.rows)


def writes_another(s):
    print("b", 2, sep=" ", end="\n", file=s.rows)


def lines_are_whole(s):
    return sorted(s.rows.getvalue().splitlines()) == ["a 1", "b 2"]


def test_without_a_gil_lines_that_two_threads_print_to_one_stream_are_mixed_unless_a_lock_is_held():
    threads = writes_one, writes_another
    result = counted(*threads, setup=Lines, invariant=lines_are_whole, schedules=300)
    assert result.verdict == "violated", result.reason
    assert result.kind == Kind.GIL_MASKED
    assert "simulated: this call is several steps without a GIL" in result.reason
    again = counted(*threads, setup=Lines, invariant=lines_are_whole, replay=result.token)
    assert again.verdict == "violated"
    counted(*threads, setup=Lines, invariant=lines_are_whole, schedules=300, mode="gil").assert_holds()
    locked = map(under_the_lock, threads)
    counted(*locked, setup=Lines, invariant=lines_are_whole, schedules=300).assert_holds()


@pytest.mark.parametrize("given", [{}, {"sep": "-"}, {"end": ""}, {"sep": "-", "end": "!", "flush": True}])
@pytest.mark.parametrize("values", [(), (1,), ("a", None, [2])])
def test_print_in_pieces_writes_the_same(given, values):
    plain, pieces = io.StringIO(), io.StringIO()
    print(*values, file=plain, **given)
    apart._printing(apart.ApartCall())(*values, file=pieces, **given)
    assert pieces.getvalue() == plain.getvalue()


@pytest.mark.parametrize("given", [{"sep": 1}, {"end": b""}])
def test_print_in_pieces_refuses_the_same(given):
    with pytest.raises(TypeError, match="must be None or a string"):
        apart._printing(apart.ApartCall())("a", file=io.StringIO(), **given)


def test_the_streams_of_the_process_are_not_taken_apart():
    assert torn.streams_of([1, "a", sys.stdout, sys.stderr]) == []
    own = io.StringIO()
    assert torn.streams_of([own, sys.stdout]) == [own]
