"""What is a visible step: the table of instructions, what is known of operands, of names and of callees."""

import dis
import sys

import pytest

from pytest_gilcheck.core.origin import under_test
from pytest_gilcheck.engine.bytecode.calls import gil_is_checked_after, global_callee, is_step
from pytest_gilcheck.engine.bytecode.visible import Access, Visibility

total = 0
LIMIT = 5
NEVER_REBOUND = {}


class Thing:
    def __init__(self):
        self.constant = 1
        self.changing = 2

    def change(self):
        self.changing += 1

    def method(self):
        return self.constant


class Built(tuple):
    pass


class Refused(ValueError):
    pass


def steps(function, *started):
    """The accesses of a function, in order, as words; ``started`` are other functions that have started beside the threads."""
    visibility = Visibility()
    for each in (function, *started):
        visibility.names.started(each.__code__, under_test=True)
    visibility.names.anything = False  # this file has names that may store anything
    table = visibility.table(function.__code__, function.__globals__)
    return [f"{access.kind} {access.name}" for _, access in sorted(table.steps.items()) if access.kind != "call"]


@pytest.mark.parametrize(
    ("statement", "anything"),
    [
        ("name = thing.__class__.__name__", False),
        ("bases = kind.__bases__", False),
        ("thing.__class__ = kind", True),
        ("kind.__bases__ = (thing,)", True),
        ("del thing.__class__", True),
        ("class Kind:\n    __class__ = property(str)", True),
    ],
)
def test_who_reads_the_class_of_an_object_stores_no_name_and_who_changes_it_stores_any(tmp_path, statement, anything):
    (tmp_path / "program.py").write_text(statement)
    names = Visibility().names
    names.file(str(tmp_path / "program.py"))
    assert names.anything is anything


def rebinds_a_global():
    global total
    total += 1


def reads_globals():
    return total, NEVER_REBOUND


def test_a_global_is_a_step_if_code_that_has_run_beside_the_threads_rebinds_it():
    assert steps(reads_globals) == []
    assert steps(reads_globals, rebinds_a_global) == ["read global total"]


def test_an_attribute_is_a_step_if_code_that_has_run_beside_the_threads_stores_it_be_it_a_constructor():
    assert steps(lambda thing: thing.constant) == []
    assert steps(lambda thing: thing.changing, Thing.method) == []
    assert steps(lambda thing: thing.changing, Thing.change) == ["read .changing"]
    assert steps(lambda thing: thing.constant, Thing.__init__) == ["read .constant"]


def test_a_method_that_nobody_stores_is_no_step_but_an_attribute_of_unknown_code_is():
    assert steps(lambda thing: thing.method()) == []
    assert steps(lambda file: file.closed) == ["read .closed"]
    assert steps(lambda thing: thing.a_method_of_unknown_code()) == ["read .a_method_of_unknown_code"]


def test_operators_are_steps_unless_their_operands_are_known_to_be_immutable():
    def numbers():
        count = 3
        for each in range(count):
            count = -each + 2 * LIMIT
            if count > 7 and each == 1:
                count = len("text")
        return f"{count} {count:>3}"

    for function in (
        lambda left, right: left + right,
        lambda left: left + 1,
        lambda left: left * 2,
        lambda left, right: left < right,
        lambda kept, key: kept[key],
        lambda kept, key: key in kept,
        lambda left: -left,
        lambda left: not left,
        lambda left: f"{left}",
        lambda left: f"{left!r:>3}",
        lambda left, right: {left: right},
        lambda left, right: {left, right},
        lambda left: [*left],
    ):
        assert steps(function) in (["read []"], ["read []", "read []"]), dis.dis(function)
    assert steps(numbers) == []


def test_a_local_variable_is_known_only_if_every_store_to_it_is():
    def function(unknown):
        count = 3
        doubled = count * 2
        count = unknown
        return count * 2, doubled

    assert steps(function) == ["read []"] * 2


def test_a_second_loop_is_no_more_private_for_coming_after_one_over_a_range():
    def function(things):
        for _ in range(3):
            pass
        for _ in (1, 2):
            pass
        for _ in things:
            pass

    assert steps(function) == ["read []", "read []"]


def test_a_loop_within_try_and_with_stays_private():
    def function():
        for index in range(3):
            try:
                index += 1
            except ValueError:
                continue
            finally:
                index = 0

    assert "read []" not in steps(function)  # RERAISE is a step, which writes


def test_a_range_that_is_shadowed_may_be_anything():
    namespace = {"range": lambda count: NEVER_REBOUND}
    code = compile("def function():\n    for _ in range(3): pass", __file__, "exec").co_consts[0]
    visibility = Visibility()
    visibility.names.file(__file__)
    visibility.names.anything = False
    table = visibility.table(code, namespace)
    assert "read []" in [f"{access.kind} {access.name}" for access in table.steps.values()]


def test_a_cell_is_a_step_if_code_that_has_run_beside_the_threads_rebinds_it():
    fixed, moving = 1, 1

    def reads():
        return fixed, moving

    def rebinds():
        nonlocal moving
        moving += 1

    rebinds()
    assert steps(reads) == []
    assert steps(reads, rebinds) == ["read cell moving"]


def test_the_end_of_a_generator_can_be_seen_and_that_of_a_function_cannot():
    def generator():
        yield 1

    assert steps(generator).count("write []") >= 2
    assert steps(lambda: 1) == []


@pytest.mark.parametrize(
    ("callee", "first", "expected"),
    [
        (list.append, [], True),
        (isinstance, [], True),
        (len, [], True),
        (len, "text", False),
        (int, "7", False),
        (dict, {}, True),
        (range, 3, False),
        (type, {}, False),
        (Thing, None, False),
        (Thing.method, None, False),
        (ValueError, "text", False),
        (Refused, [], False),
        (Built, [], True),
        (ExceptionGroup, "text", True),
        (sys.exc_info, None, True),
        ([].append, 1, True),
        (print, "text", True),
    ],
)
def test_a_call_is_a_step_if_it_may_touch_what_is_shared_and_makes_no_steps_itself(callee, first, expected):
    assert is_step(callee, first, under_test, alone=True) is expected


def test_a_call_with_more_arguments_reads_those_as_well():
    assert is_step(int, "7", under_test)
    assert is_step(type, "Name", under_test)


def test_classifying_a_callee_runs_no_code_of_the_program():
    class Hostile:
        def __getattribute__(self, name):
            raise AssertionError(name)

        def __eq__(self, other):
            raise AssertionError("compared")

        def __hash__(self):
            raise AssertionError("hashed")

    assert is_step(Hostile(), Hostile(), under_test)
    assert gil_is_checked_after(Hostile(), under_test)


@pytest.mark.parametrize(
    ("text", "name"),
    [("f(x)", "f"), ("f(x)(y)", None), ("a.f(x)", None), ("f(g(x))", "f"), ("f", None), ("(f or g)(x)", None), ("f(", None)],
)
def test_the_callee_in_a_source_text_is_the_one_of_the_outermost_call(text, name):
    assert global_callee(text) == name


def test_after_each_call_of_c_the_gil_may_go():
    for callee in (dict.get, len, isinstance, [].append):
        assert gil_is_checked_after(callee, under_test), "a call that is not specialised yet looks"
    assert not gil_is_checked_after(Thing.method, under_test), "its own entry is where it looks"


def test_accesses_conflict_if_one_writes_what_the_other_touches():
    assert Access("write", ".x", 1).conflicts(Access("read", ".x", 2))
    assert not Access("read", ".x", 1).conflicts(Access("read", ".x", 2))
    assert not Access("write", ".x", 1).conflicts(Access("write", ".y", 2))
    assert Access("call", "call", 1).conflicts(Access("read", "[]", 2))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="calls are told by their source text here")
def test_the_steps_have_the_same_numbers_on_every_version_with_call_events():
    assert len(steps(Thing.change)) == 3
