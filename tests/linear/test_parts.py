"""The parts of a campaign that need no engine: copies, orders, inference, programs made smaller."""

import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import pytest
from hypothesis import strategies as st

from pytest_gilcheck.linear import copies, oracle
from pytest_gilcheck.linear.inferred import inferred
from pytest_gilcheck.linear.operations import DrawnOperation, DrawnProgram, InLane, OperationKind, overlapping, pairs_of
from pytest_gilcheck.linear.smaller import smaller
from pytest_gilcheck.linear.values import values_for
from pytest_gilcheck.linear.worker import RETURNED, Event, Run

PUT, GET = OperationKind("put", (st.just(1),)), OperationKind("get")


@dataclass
class Point:
    x: int


class ByIdentity:
    pass


class Colour(Enum):
    RED = 1


def numbered(value):
    return copies.numbered(copies.copied(value), {})


def test_what_compares_by_value_is_copied_and_what_compares_by_identity_is_numbered_as_it_appears():
    one, other = ByIdentity(), ByIdentity()
    assert numbered((one, other, one)) == numbered((other, one, other)) != numbered((one, one, other))
    assert numbered(Point(1)) == numbered(Point(1)) != numbered(Point(2))
    assert numbered(Decimal("1.5")) == numbered(Decimal("1.5")) != numbered(Decimal(2))
    assert numbered({"a": 1, "b": 2}) == numbered({"b": 2, "a": 1})
    assert numbered(OrderedDict(a=1, b=2)) != numbered(OrderedDict(b=2, a=1))
    assert numbered([1]) != numbered((1,)) != numbered(deque([1]))
    assert numbered(float("nan")) == numbered(float("nan"))
    assert numbered(KeyError("a")) != numbered(KeyError("b"))


def test_a_copy_is_what_was_seen_and_not_what_it_became():
    items = [1, [2]]
    before = copies.copied(items)
    items[1].append(3)
    assert before == copies.copied([1, [2]]) != copies.copied(items)


def test_what_is_in_itself_has_an_end():
    loop = []
    loop.append(loop)
    assert copies.copied(loop) == copies.copied(loop)


@pytest.mark.parametrize(
    "value", [None, "a", [1, (2,)], {"a": {1}}, (), set(), Point(3), Decimal(1), ValueError("x"), Colour.RED, ByIdentity()]
)
def test_every_copy_can_be_shown(value):
    assert copies.shown(numbered(value))


def run_of(*threads):
    """A run of operations, each as (called, returned, value)."""
    run = Run(None, len(threads))
    for events, given in zip(run.threads, threads, strict=True):
        for called, returned, value in given:
            event = Event(DrawnOperation(GET), called)
            event.returned, event.outcome = returned, (RETURNED, value) if returned else event.outcome
            events.append(event)
    return run


def test_an_order_explains_a_run_only_if_it_keeps_what_came_before():
    one_then_other = run_of([(1, 2, "a")], [(3, 4, "b")])
    other_then_one = run_of([(3, 4, "a")], [(1, 2, "b")])
    beside = run_of([(1, 4, "a")], [(2, 3, "b")])
    allowed = oracle.Allowed()
    allowed.add(oracle.seen(one_then_other), oracle.order_of(one_then_other))
    answers = [
        [oracle.unexplained(allowed, oracle.seen(run), oracle.came_before(run), rule) for rule in oracle.OrderRule]
        for run in (one_then_other, other_then_one, beside)
    ]
    assert answers == [[None, None], [oracle.Why.REAL_TIME, None], [None, None]]


def test_a_wait_is_explained_only_after_the_same_results():
    waits = run_of([(1, 2, "a")], [(3, None, None)])
    allowed = oracle.Allowed(stuck={(oracle.completed(run_of([(1, 2, "b")], [(3, None, None)])), 1)})
    assert oracle.unexplained_wait(allowed, waits) == 1
    allowed.stuck.add((oracle.completed(waits), 1))
    assert oracle.unexplained_wait(allowed, waits) is None


class Slotted:
    __slots__ = ("__weakref__", "value")

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None


def test_a_weak_reference_to_an_object_is_no_part_of_its_value():
    referred, other = Slotted(1), Slotted(1)
    reference = weakref.ref(referred)
    assert copies.copied(referred) == copies.copied(other) != copies.copied(Slotted(2))
    assert reference() is referred


class Inferable:
    def __init__(self, size: int = 2):
        self.size = size

    @property
    def full(self):
        return False

    def put(self, key, value, *, priority: int, ttl=None): ...
    def coloured(self, colour: Colour): ...
    def merge(self, other): ...
    def close(self): ...
    async def later(self): ...
    def __getitem__(self, key): ...
    def __len__(self): ...
    def _private(self): ...


def test_operations_are_inferred_and_what_is_not_is_listed_with_the_line_to_write():
    found = inferred(Inferable, tuple, {})
    by_name = {kind.name: kind for kind in found.kinds}
    assert set(by_name) == {"full", "put", "coloured", "__getitem__", "__len__"}
    assert by_name["full"].is_property
    assert by_name["put"].positional == (("a", "b", "c"), (1, 2, 0))
    assert set(by_name["put"].named) == {"priority"}
    assert set(found.left_out) == {"merge", "close", "later"}
    assert "ops={'merge': {'other': st.sampled_from([...])}}" in found.left_out["merge"]


@pytest.mark.parametrize(
    ("name", "annotation", "some"),
    [
        ("key", None, "a"),
        ("key", int, 1),
        ("n", None, 1),
        ("x", str | None, "a"),
        ("odd", list[int], [1]),
        ("odd", Colour, Colour.RED),
    ],
)
def test_values_come_from_names_and_type_hints(name, annotation, some):
    assert some in values_for(name, annotation)


@pytest.mark.parametrize(
    ("name", "annotation", "boundaries"),
    [
        ("n", None, {0, 1, -1}),
        ("amount", None, {0, 1, -1}),
        ("odd", int, {0, 1, -1}),
        ("index", None, {0, 1, -1}),
        ("odd", float, {0.0, 1.0, -1.0}),
        ("item", None, {0, 1}),
        ("text", None, {"", "a"}),
        ("odd", str, {"", "a"}),
        ("odd", bytes, {b"", b"a"}),
    ],
)
def test_values_at_which_code_branches_are_among_them_but_an_object_is_not_made_with_a_size_of_zero(name, annotation, boundaries):
    assert boundaries <= set(values_for(name, annotation))
    assert values_for("size", of_constructor=True) == (1, 2)


def test_a_flag_and_a_number_that_calls_may_leave_out_are_given_in_some():
    found = {kind.name: kind for kind in inferred(Optional, tuple, {"timeout": [5]}).kinds}
    assert found["add"].optional == {"locked": (False,), "by": (2, 0, -1), "timeout": (5,)}
    assert not found["add"].named


class Optional:
    def add(self, locked=True, *, by=1, note="x", timeout=None): ...


def test_nothing_is_made_up_for_a_parameter_of_which_nothing_is_known():
    assert values_for("widget") is None
    assert values_for("widget", ByIdentity) is None


def program(*steps):
    return DrawnProgram((), tuple(InLane(lane, DrawnOperation(kind, (1,) if kind is PUT else ())) for lane, kind in steps), 2)


def test_a_program_is_written_as_python_and_its_pairs_are_those_that_overlap():
    drawn = program((0, PUT), (1, GET), (2, GET), (2, PUT), (3, GET))
    assert drawn.text == "() put(1) | get() || get(); put(1) | get()"
    assert set(overlapping(drawn, {(0, 0), (1, 0), (1, 1)})) == {frozenset({GET}), frozenset({GET, PUT})}
    assert set(overlapping(drawn, {(0, 0), (1, 0)})) == {frozenset({GET})}, "the second of thread 1 was left out"
    assert len(pairs_of([PUT, GET], 2)) == 3
    alone = PUT.with_rights(alone=True, weak=False, lanes=None)
    assert pairs_of([alone, GET], 2) == [(GET, GET)]
    item = OperationKind("__getitem__")
    assert DrawnOperation(item, (1,)).written("x") == "x[1]"


def test_a_program_is_made_smaller_by_pairs_by_lanes_and_by_threads():
    def fails(drawn):
        before, *threads, _ = drawn.lanes
        kinds = [[operation.kind for operation in lane] for lane in threads]
        return len([operation for operation in before if operation.kind is PUT]) + sum(
            lane.count(PUT) for lane in kinds
        ) >= 1 and all(GET in lane for lane in kinds)

    large = program((1, GET), (1, GET), (1, PUT), (2, PUT), (2, GET), (3, PUT), (3, GET))
    found = smaller(large, fails, lambda operation: operation)
    assert found.text == "() put(1) | get() || get()"
