"""What an instruction touches: attributes, names and elements of a key are exact; calls are known by their names, or guessed."""

import collections
import functools
import gc
import itertools
import logging
import operator
import re
import sys
import threading
from types import CodeType

import pytest

from pytest_gilcheck.engine.bytecode.code_facts import instruction_at
from pytest_gilcheck.engine.bytecode.effects import touches_of
from pytest_gilcheck.engine.bytecode.touch import ALL

READ, WRITE = False, True


def under_test(file):
    return file == __file__


def touched_by(function, *arguments):
    """What the last instruction of each kind in a function touches, by the name of the instruction, right before it runs."""
    found = {}

    def trace(frame, event, _):
        if frame.f_code is not function.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            name, argument, value = instruction_at(frame.f_code, frame.f_lasti)
            found[name] = touches_of(frame, name, argument, value, under_test)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    except (KeyError, ValueError, StopIteration, TypeError):
        pass
    finally:
        sys.settrace(before)
    return found


def of_call(function, *arguments):
    found = touched_by(function, *arguments)
    return next(found[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") if name in found)


def parts_of(thing, touches):
    return {(each.part, each.changes) for each in touches if each.holder is thing}


class Point:
    kind = 1
    __slots__ = ("__dict__", "x")
    same = property(operator.attrgetter("y"))

    def __init__(self):
        self.x, self.y, self.rows = 1, 2, []

    @property
    def computed(self):
        return self.y


Point.other = Point.x  # the slot has two names


@pytest.mark.parametrize(
    ("function", "instruction", "parts"),
    [
        (lambda p: p.x, "LOAD_ATTR", {("x", READ)}),
        (lambda p: p.other, "LOAD_ATTR", {("x", READ)}),
        (lambda p: p.y, "LOAD_ATTR", {("y", READ)}),
        (lambda p: p.computed, "LOAD_ATTR", set()),
        (lambda p: p.same, "LOAD_ATTR", {(ALL, READ)}),
        (lambda p: setattr(p, "x", 2), "CALL", {("x", WRITE)}),
        (lambda p: getattr(p, "y"), "CALL", {("y", READ)}),  # noqa: B009 # that is what it is about
        (lambda p: isinstance(p, int), "CALL", set()),
        (lambda p: p == 1, "COMPARE_OP", set()),
    ],
)
def test_attributes_are_exact_unless_c_computes_them(function, instruction, parts):
    point = Point()
    assert parts_of(point, touched_by(function, point)[instruction]) == parts


def store_attribute(p):
    p.y = 3


def delete_attribute(p):
    del p.y


def replace_names(p):
    p.__dict__ = {}


@pytest.mark.parametrize(
    ("function", "parts"),
    [(store_attribute, {("y", WRITE)}), (delete_attribute, {("y", WRITE)}), (replace_names, {(ALL, WRITE)})],
)
def test_a_store_changes_the_attribute_and_the_store_of_the_dictionary_all_of_them(function, parts):
    point = Point()
    found = touched_by(function, point)
    assert parts_of(point, found.get("STORE_ATTR") or found["DELETE_ATTR"]) == parts


def store_known(d):
    d["a"] = 2


def store_new(d):
    d["b"] = 2


def remove(d):
    del d["a"]


@pytest.mark.parametrize(
    ("function", "instruction", "parts"),
    [
        (lambda d: "a" in d, "CONTAINS_OP", {(("a",), READ)}),
        (store_known, "STORE_SUBSCR", {(("a",), WRITE)}),
        (store_new, "STORE_SUBSCR", {(ALL, WRITE), (("b",), WRITE)}),
        (remove, "DELETE_SUBSCR", {(ALL, WRITE), (("a",), WRITE)}),
        (lambda d: [*d], "LIST_EXTEND", {(ALL, READ)}),
        (lambda d: d.get("a"), "CALL", {(("a",), READ)}),
        (lambda d: d.setdefault("a", 1), "CALL", {(ALL, WRITE)}),
        (lambda d: len(d), "CALL", {(ALL, READ)}),
    ],
)
def test_an_element_of_a_key_that_is_there_is_exact_and_all_else_is_the_whole(function, instruction, parts):
    table = {"a": 1}
    assert parts_of(table, touched_by(function, table)[instruction]) == parts


def test_a_container_has_attributes_that_its_initialiser_changes_and_its_methods_are_none():
    queue = collections.deque(maxlen=2)
    assert parts_of(queue, touched_by(lambda each: each.maxlen, queue)["LOAD_ATTR"]) == {("maxlen", READ)}
    found = touched_by(lambda each: each.append, queue)["LOAD_ATTR"]
    assert parts_of(queue, found) == set()


def test_a_missing_key_of_a_defaultdict_changes_it_in_several_steps_and_a_key_that_is_there_does_not():
    def get(d):
        return len(d["a"])

    name = "BINARY_SUBSCR" if sys.version_info < (3, 14) else "BINARY_OP"
    (missed,) = touched_by(get, collections.defaultdict(list))[name]
    (found,) = touched_by(get, collections.defaultdict(list, a=[]))[name]
    assert (missed.changes, missed.torn) == (True, True)
    assert (found.changes, found.torn) == (False, False)


@pytest.mark.parametrize(
    ("function", "thing", "changes"),
    [
        (lambda rows: sum(rows), [1], READ),
        (lambda rows: sorted(rows, key=lambda row: row), [1], READ),
        (lambda rows: rows.append(1), [1], WRITE),
        (lambda rows: rows.index(1), [1], READ),
        (lambda rows: rows.sort(), [1], WRITE),
        (lambda rows: list.append(rows, 1), [1], WRITE),
        (lambda rows: functools.reduce(operator.add, rows), [1], READ),
        (lambda rows: operator.iadd(rows, [1]), [1], WRITE),
        (lambda rows: functools.partial(rows.append, 1)(), [1], WRITE),
        (lambda table: max("a", "b", key=table.get), {"a": 1, "b": 2}, READ),
        (lambda rows: next(rows), iter([1]), WRITE),
        (lambda view: sum(view), {1: 1}.values(), None),
        (lambda text: text.encode(), "a", None),
        (lambda pattern: pattern.match("a"), re.compile("a"), None),
    ],
)
def test_a_method_changes_its_object_unless_it_reads_and_a_known_function_reads_its_arguments(function, thing, changes):
    found = of_call(function, thing)
    assert parts_of(thing, found) == (set() if changes is None else {(ALL, changes)})
    assert not any(each.guess for each in found)


def test_a_view_an_iterator_and_a_tuple_lead_to_their_container():
    rows, table = [1], {1: 1}
    assert parts_of(table, of_call(lambda view: sum(view), table.values())) == {(ALL, READ)}
    assert parts_of(rows, of_call(lambda each: next(each), zip(rows, strict=True))) == {(ALL, READ)}
    assert parts_of(rows, of_call(lambda pair: repr(pair), (rows,))) == {(ALL, READ)}


UNKNOWN = sys.setswitchinterval  # a function in C that is in no table


def test_a_call_that_is_not_known_is_guessed_to_change_containers_and_to_read_what_objects_hold_one_level_deep():
    rows, point = [1], Point()
    cases = [(rows, rows, WRITE), ((rows,), rows, WRITE), (point, point, READ), (point, point.rows, READ)]
    for given, thing, changes in cases:
        found = of_call(lambda each: UNKNOWN(each), given)
        assert parts_of(thing, found) == {(ALL, changes)}, given
        assert all(each.guess for each in found)


def test_a_call_that_is_not_known_is_a_guess_also_where_it_is_given_nothing():
    assert any(each.guess for each in of_call(lambda: sys.getswitchinterval()))


def test_code_under_test_touches_nothing_by_its_call_and_code_of_the_library_is_guessed():
    assert of_call(lambda function: function([1]), lambda rows: rows) == []
    rows = [1]
    found = of_call(lambda each: __import__("statistics").fmean(each), rows)
    assert parts_of(rows, found) == {(ALL, WRITE)}
    assert all(each.guess for each in found)


def test_a_named_tuple_keeps_what_it_is_given_and_an_instance_that_c_initialises_anew_is_unknown():
    pair, rows = collections.namedtuple("pair", "one other"), [1]
    found = of_call(lambda each: pair(each, 1), rows)
    assert found is not None
    assert parts_of(rows, found) <= {(ALL, READ)}

    class Kept(list):
        one = None

        def __new__(cls, *given):
            cls.one = cls.one or super().__new__(cls)
            return cls.one

    assert of_call(lambda each: Kept(each), rows) is None


def test_nothing_of_the_program_is_asked():
    class Loud:
        def __getattribute__(self, name):
            raise AssertionError(name)

        __eq__ = __hash__ = __len__ = __bool__ = __iter__ = __getattribute__

    loud = Loud()
    for function in (lambda each: [each].count, lambda each: (lambda *given: None)(each), lambda each: type(each)):
        touched_by(function, loud)
    assert of_call(lambda each: UNKNOWN(each), loud)


def test_a_pattern_of_a_mapping_reads_the_elements_of_its_keys_and_no_others():
    def matched(rows):
        match rows:
            case {"a": 1, "b": 2}:
                pass

    rows = {"a": 1, "b": 2, "c": 3}
    assert parts_of(rows, touched_by(matched, rows)["MATCH_KEYS"]) == {(("a",), READ), (("b",), READ)}


def test_object_ne_reads_what_the_class_compares_and_nothing_of_what_is_equal_to_itself_alone():
    def differs(one, other):
        return object.__ne__(one, other)

    rows, other = [1], [2]
    assert parts_of(rows, of_call(differs, rows, other)) == parts_of(other, of_call(differs, rows, other)) == {(ALL, READ)}
    assert not of_call(differs, object(), 1)


def namespace_of_body(source):
    """The namespace of the last code object inside this source, or of itself, and what its stores to names touch."""
    outer = compile(source, __file__, "exec")
    inner = [each for each in outer.co_consts if isinstance(each, CodeType)]
    names, code, found = {}, [outer, *inner][-1], []

    def trace(frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_code is code:
            name, argument, value = instruction_at(frame.f_code, frame.f_lasti)
            if name in ("STORE_NAME", "LOAD_NAME"):
                found.extend(touches_of(frame, name, argument, value, under_test))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(outer, names)
    finally:
        sys.settrace(before)
    return names, found


def test_the_body_of_a_class_stores_to_its_own_namespace_and_that_of_a_module_to_the_module():
    names, found = namespace_of_body("x = 1\n")
    assert parts_of(names, found) == {("x", WRITE)}
    names, found = namespace_of_body("class Body:\n    x = 1\n    y = x\n")
    assert not {part for part in parts_of(names, found) if part[1] is WRITE}
    assert ("x", READ) in parts_of(names, found)  # where it looks if its own namespace has none
    assert {each.part for each in found if each.changes} >= {"x", "y"}


def test_the_start_of_a_thread_touches_that_thread_and_no_more_and_of_other_code_of_the_library_it_is_guessed():
    started, rows, logger = threading.Thread(target=len, args=([1],)), [], logging.Logger("own")
    touches = of_call(lambda: started.start())
    assert [(each.holder, each.part, each.changes) for each in touches] == [(started, ALL, WRITE)]
    started.join()
    assert any(each.holder is rows for each in of_call(lambda: logger.addHandler(rows)))


def first_of(pair):
    return pair[0]


def taken_in_turn(pair):
    for _ in pair:
        pass


def unpacked(pair):
    first, second = pair
    return first, second


@pytest.mark.parametrize("function", [first_of, taken_in_turn, unpacked, bool, len, tuple])
def test_what_a_tuple_has_never_changes_and_is_not_touched_by_who_takes_it_out(function):
    rows, ahead = [1], iter([1])
    if function in (bool, len, tuple):
        found = of_call(lambda each: function(each), (rows, ahead))
    else:
        touched = touched_by(function, (rows, ahead))
        steps = ("BINARY_SUBSCR", "BINARY_OP", "GET_ITER", "FOR_ITER", "UNPACK_SEQUENCE")
        found = [each for name in steps for each in touched.get(name, ())]
    assert parts_of(rows, found) == parts_of(ahead, found) == set()


@pytest.mark.parametrize("function", [any, all, repr, zip])
@pytest.mark.parametrize("made", [tuple, list])
def test_and_is_touched_by_who_asks_it_for_something(function, made):
    rows = [1]
    if function is zip:  # its iterators are in a tuple
        assert parts_of(rows, of_call(lambda each: next(each), zip(made([1]), rows, strict=True))) == {(ALL, READ)}
    else:
        assert parts_of(rows, of_call(lambda each: function(each), made([rows]))) == {(ALL, READ)}


def test_what_several_iterators_share_in_c_is_changed_by_who_goes_on_with_one():
    rows = [1, 2]
    one, other = itertools.tee(rows)
    [shared] = [each for each in gc.get_referents(one) if not isinstance(each, type)]
    for iterator in (one, other):
        assert parts_of(shared, of_call(lambda each: next(each), iterator)) == {(ALL, WRITE)}
    assert parts_of(rows, of_call(lambda each: next(each), zip(rows, [1], strict=True))) == {(ALL, READ)}
