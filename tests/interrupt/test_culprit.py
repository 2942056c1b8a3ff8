"""Names of places, made of stacks and source lines."""

from pytest_gilcheck.interrupt.culprit import Frame, call_text, clause_around, own_frame, slow_part, stop, threads, trimmed

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


def test_a_call_is_shown_as_written_in_the_source(tmp_path):
    path = source(tmp_path)
    assert call_text(Frame(path, 4, "work"), "max") == "max(items)"
    assert call_text(Frame(path, 4, "work"), "_json.Encoder") == "_json.Encoder() in `both = sum(items) + max(items)`"


def test_an_operator_is_named_only_if_the_line_has_one(tmp_path):
    path = source(tmp_path)
    assert slow_part(Frame(path, 3, "work")) == "5 in items"
    assert slow_part(Frame(path, 2, "work")) == ""


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
