"""What counts as a value that never changes, and what does not."""

import contextlib
import datetime
import decimal
import enum
import fractions
import sys
import uuid
from importlib.machinery import ModuleSpec

import pytest

from pytest_gilcheck.engine.bytecode import contexts, in_c, values


class Color(enum.Enum):
    RED = 1


class Held(enum.Enum):
    ROWS = object()


class Compared(enum.Enum):
    ONE = 1

    def __eq__(self, other):
        return True

    __hash__ = enum.Enum.__hash__


class Ordered(enum.Enum):
    ONE = 1

    def __lt__(self, other):
        return True


class OwnZone(datetime.tzinfo):
    def utcoffset(self, when):
        return datetime.timedelta(hours=1)


class OwnSpan(datetime.timedelta):
    pass


NOON = datetime.datetime(2020, 1, 1, 12)
VALUES = [
    datetime.timedelta(1), datetime.date(2020, 1, 1), NOON, NOON.replace(tzinfo=datetime.UTC), NOON.time(), decimal.Decimal(1),
    fractions.Fraction(1, 2), uuid.UUID(int=1), Color.RED,
]  # fmt: skip
OTHERS = [NOON.replace(tzinfo=OwnZone()), OwnSpan(1), Held.ROWS, Compared.ONE, [], Color]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_operators_of_a_value_look_at_nothing_else(value):
    assert values.is_value(value)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
def test_what_may_run_other_code_or_change_is_no_value(other):
    assert not values.is_value(other)


def test_a_member_with_an_order_of_its_own_is_a_value_where_nobody_asks_for_the_order():
    assert values.is_value(Ordered.ONE, ordered=False)
    assert not values.is_value(Ordered.ONE)


def test_the_attributes_of_a_member_may_change():
    assert values.has_constant_attributes(datetime.timedelta(1))
    assert not values.has_constant_attributes(Color.RED)


@pytest.mark.parametrize(
    ("kind", "method", "arguments", "makes"),
    [
        (datetime.timedelta, "", [1], True),
        (decimal.Decimal, "from_float", [0.5], True),
        (datetime.date, "fromisoformat", ["2020-01-01"], True),
        (datetime.date, "today", [], False),
        (datetime.datetime, "now", [], False),
        (decimal.Decimal, "", [[]], False),
        (OwnSpan, "", [1], False),
        (uuid.UUID, "", ["0" * 32], False),
        (dict, "", [], False),
    ],
)
def test_a_call_makes_a_value_of_values_if_no_clock_and_no_code_of_the_program_plays_a_part(kind, method, arguments, makes):
    assert values.makes_value(kind, method, arguments) is makes


def test_an_import_statement_finds_a_module_with_all_that_is_wanted():
    assert in_c.is_imported("collections.abc", None)
    assert in_c.is_imported("collections", ("OrderedDict", "abc"))
    assert not in_c.is_imported("collections", ("none_of_its_names",))
    assert not in_c.is_imported("collections", ("*",))
    assert not in_c.is_imported("none_of_the_modules", None)


def test_a_module_that_is_being_imported_has_not_been_imported(monkeypatch):
    module = type(sys)("half_made")
    module.__spec__ = ModuleSpec("half_made", None)
    monkeypatch.setitem(sys.modules, "half_made", module)
    assert in_c.is_imported("half_made", None)
    module.__spec__._initializing = True
    assert not in_c.is_imported("half_made", None)


@pytest.mark.parametrize(
    ("package", "level", "name", "full"),
    [
        ("a.b", 0, "x.y", "x.y"),
        ("a.b", 1, "c", "a.b.c"),
        ("a.b", 2, "c", "a.c"),
        ("a.b", 1, "", "a.b"),
        ("a.b", 3, "c", None),
        (None, 1, "c", None),
    ],
)
def test_the_full_name_of_an_import_follows_from_the_package(package, level, name, full):
    assert in_c.imported_name({"__package__": package}, level, name) == full


def test_a_context_manager_of_a_generator_is_known_and_others_are_not():
    @contextlib.contextmanager
    def made():
        yield

    manager = made()
    assert contexts.made_by(made) is made.__wrapped__
    assert contexts.generator_of(manager) is manager.gen
    assert contexts.left(manager.__exit__) is manager
    assert contexts.made_by(test_the_attributes_of_a_member_may_change) is None
    assert contexts.generator_of(contextlib.nullcontext()) is None
    assert contexts.left(contextlib.nullcontext().__exit__) is None
    manager.__enter__()
