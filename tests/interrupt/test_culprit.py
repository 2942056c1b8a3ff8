"""Names of places, made of stacks and source lines."""

import ast
from pathlib import Path

import pytest

from pytest_gilcheck.core.source import Position
from pytest_gilcheck.interrupt.ccalls import CCall
from pytest_gilcheck.interrupt.culprit import Frame, call_text, clause_around, left_at, own_frame, statement, stop, threads, trimmed

SOURCE = """\
def work(items):
    total = sum(items)
    found = 5 in items
    both = sum(items) + max(items)
    try:
        total += 1
    except ValueError:
        pass
    except BaseException:
        total = 0
    finally:
        total += 2
    with open("x") as file:
        file.read()
"""
DUMP = """\
Thread 0x00007f6c3d49f6c0 (most recent call first):
  File "/code/other.py", line 5 in helper

Current thread 0x00007f6c3eff5c40 (most recent call first):
  File "{library}", line 359 in wait
  File "/code/mine.py", line 28 in work
  File "{own}", line 78 in run
  File "/code/caller.py", line 1 in <module>
"""


def dump():
    import threading

    from pytest_gilcheck.interrupt import target

    return DUMP.format(library=threading.__file__, own=target.__file__)


def source(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return str(path)


def test_the_main_thread_comes_first_and_without_our_frames():
    main, other = threads(dump())
    assert [frame.line for frame in main] == [359, 28]
    assert str(other[0]) == "/code/other.py:5 (helper)"
    assert own_frame(main).file == "/code/mine.py"
    assert "caller.py" not in trimmed(dump())
    assert "other.py" in trimmed(dump())


def position_of(path, call, line):
    """The position of this call in the source, as a code object has it."""
    tree = ast.parse(Path(path).read_text())
    found = [part for part in ast.walk(tree) if isinstance(part, ast.Call) and ast.unparse(part) == call and part.lineno == line]
    [node] = found
    return Position(node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


CALLS = """\
def work(items):
    found = sum([1]) + sum(items)
    a(); b(items)
    if c(): d()
    for x in e(): f()
    with g() as h: i()
    total = (
        j(1)
        + k(2)
    ); l(3)
    x = a in items and b(x)
    def m(): return n(items)
    if c():
        x = (items)
"""


@pytest.fixture
def calls(tmp_path):
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    return str(path)


@pytest.mark.parametrize("text", ["sum([1])", "sum(items)"])
def test_of_two_calls_of_one_name_in_a_line_the_one_at_the_position_is_shown(calls, text):
    call = CCall(1, 1, "sum", calls, position_of(calls, text, 2))
    assert call_text(Frame(calls, 2, "work"), call) == text


def test_a_call_without_columns_is_shown_by_its_name_and_one_at_another_line_not_at_all(calls):
    frame = Frame(calls, 2, "work")
    assert call_text(frame, CCall(1, 1, "sum", calls, Position(2))) == "sum() in `found = sum([1]) + sum(items)`"
    assert call_text(frame, CCall(1, 1, "sum", calls, Position(3))) == ""
    assert call_text(frame, CCall(1, 1, "sum", "other.py", Position(2))) == ""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "found = sum([1]) + sum(items)"),
        (3, "a(); b(items)"),
        (4, "if c(): d()"),
        (5, "for x in e(): f()"),
        (6, "with g() as h: i()"),
        (8, "total = j(1) + k(2)"),
        (10, "); l(3)"),
        (11, "x = a in items and b(x)"),
        (12, "return n(items)"),
        (13, "if c():"),
        (14, "x = items"),
    ],
)
def test_a_line_is_shown_as_a_statement_only_if_it_has_no_other(calls, line, text):
    assert statement(Frame(calls, line, "work")) == text


def test_the_lines_that_ran_show_which_clause_stopped_an_exception(tmp_path):
    path = source(tmp_path)
    caught = stop(path, "work", [7, 9, 10])
    assert (caught.kind, caught.where.line) == ("except", 9)
    assert stop(path, "work", [12]).kind == "finally"
    assert stop(path, "work", [13]).kind == "with"
    assert stop(path, "work", []) is None


AROUND = """\
def goes_on():
    while True:
        try:
            work()
        except (ValueError, KeyboardInterrupt):
            pass

def leaves():
    while True:
        try:
            work()
        except KeyboardInterrupt:
            return

def cleans_up():
    try:
        pass
    finally:
        work()

def ends():
    try:
        while True:
            work()
    except KeyboardInterrupt:
        pass

class Thing:
    def __del__(self):
        work()
"""


LEAVES = """\
def work():
    for number in range(9):
        try:
            wait()
        finally:
            if number:
                return 1
            tidy()
            continue
"""


@pytest.mark.parametrize(("lines", "line"), [([6, 7], 7), ([6, 8, 9], 9), ([6, 8], 6)])
def test_a_finally_that_discards_is_shown_at_the_statement_that_left_it(tmp_path, lines, line):
    path = tmp_path / "leaves.py"
    path.write_text(LEAVES)
    assert left_at(stop(str(path), "work", lines), lines).where.line == line


def test_without_a_trace_the_stack_shows_the_handler_around_the_line_if_that_goes_on(tmp_path):
    path = tmp_path / "around.py"
    path.write_text(AROUND)
    inside, leaving, cleaning = Frame(str(path), 4, "goes_on"), Frame(str(path), 11, "leaves"), Frame(str(path), 19, "cleans_up")
    found = clause_around([leaving, inside])
    assert (found.kind, found.where.line) == ("except", 5)
    assert clause_around([cleaning, inside]).kind == "finally"
    assert clause_around([leaving]) is None
    assert clause_around([Frame(str(path), 24, "ends")]) is None
    assert clause_around([Frame(str(path), 30, "Thing.__del__"), inside]) is None
