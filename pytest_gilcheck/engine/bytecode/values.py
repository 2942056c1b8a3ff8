"""Objects of the standard library that never change, and of which operators in C ask nothing but each other's values.

A date, a time span, a decimal number, a fraction, a UUID; a member of an enumeration that keeps the operators which it inherits
from `object` and `Enum`. What their classes do in Python is part of the same call, makes no steps, and touches nothing else.
"""

from __future__ import annotations

import decimal
import enum
import fractions
import uuid
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta, timezone
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

from ...core.classes import bases_of, in_class, made_at_run_time, module_of_class, names_of
from ...core.lookup import looked_up
from .operands import immutable
from .operators import OF_NO_OPERATOR, of_no_instance

_TIMED = (datetime, time)  # as they are before a check replaces their names
_KINDS = frozenset(
    {timedelta, date, timezone, decimal.Decimal, fractions.Fraction, uuid.UUID, *_TIMED}
)  # no more than the values that they are made of decides what they do
_FIXED = (type(None), timezone)  # time zones that are no code of a program
_OF_ENUM = OF_NO_OPERATOR | {"__new_member__"}
_PLAIN_READERS = tuple(in_class(kind, "__getattribute__") for kind in (object, int, str, float, bytes))
_ORDERING = frozenset({"__lt__", "__gt__", "__le__", "__ge__"})
_BY_CLOCK = frozenset({"now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp"})


def has_constant_attributes(thing: Any) -> bool:
    """Whether nobody changes what an attribute of this object is."""
    return type(thing) in _KINDS and (type(thing) not in _TIMED or type(thing.tzinfo) in _FIXED)


def is_value(thing: Any, *, ordered: bool = True) -> bool:
    """Whether operators, and what hashes or shows this object, look at nothing that can change.

    Args:
        ordered: whether ``<`` and its like are among the operators.
    """
    return has_constant_attributes(thing) or _is_plain_member(thing, ordered)


def is_constant(thing: Any) -> bool:
    """Whether this is a number, a text or a tuple of such (`immutable`), or a value."""
    return immutable(thing) or is_value(thing)


def makes_value(kind: Any, method: str, arguments: Sequence[Any]) -> bool:
    """Whether a call of this class, or of this method of the class itself, makes such an object, and touches nothing else."""
    if not isinstance(kind, type) or method in _BY_CLOCK or uuid.UUID in bases_of(kind):  # which stores its number in Python
        return False
    of_library = not _KINDS.isdisjoint(bases_of(kind)) and module_of_class(kind).partition(".")[0] in _MODULES
    return of_library and all(map(is_constant, arguments))


_MODULES = frozenset(kind.__module__.partition(".")[0] for kind in _KINDS)


def _is_plain_member(thing: Any, ordered: bool) -> bool:
    kind = type(thing)
    if type(kind) is not enum.EnumType or not any(in_class(kind, "__getattribute__") is each for each in _PLAIN_READERS):
        return False
    own = _own_operators(kind)
    if not own <= (frozenset() if ordered else _ORDERING) or type(getattr(thing, "_name_", None)) not in (str, type(None)):
        return False
    shows = in_class(kind, "_value_repr_")
    return (shows is repr or _is_inherited("_value_repr_", shows)) and immutable(getattr(thing, "_value_", thing))


def _own_operators(kind: type) -> frozenset[str]:
    """The special methods of an enumeration that are neither those of `enum` nor of a built-in class."""
    key = id(kind)
    known = looked_up(_known, key)
    if known is None:
        own = {
            name
            for base in bases_of(kind)
            if made_at_run_time(base) and module_of_class(base) != "enum"
            for name, value in list(names_of(base).items())
            if name.startswith("__") and name.endswith("__") and name not in _OF_ENUM and not _is_inherited(name, value)
        }
        known = _known[key] = kind, frozenset(own)
    return known[1]


_known: dict[int, tuple[type, frozenset[str]]] = {}  # with a reference to the class, so that its id stays in use


def _is_inherited(name: str, value: Any) -> bool:
    """Whether `enum` has put this there, or it is no method."""
    if type(value) is FunctionType:
        return value.__globals__.get("__name__") == "enum"
    return type(value) in (WrapperDescriptorType, MethodDescriptorType) or of_no_instance(name, value)
