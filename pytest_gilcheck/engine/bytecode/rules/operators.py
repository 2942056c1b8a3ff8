"""Operators, comparisons, tests of truth, and formatting."""

from __future__ import annotations

import collections
import sys
from typing import Any

from ....core.build_flags import FREE_THREADED_BUILD
from ....core.classes import in_class
from .. import values
from ..answers import answers_with_truths, sought, truth_of
from ..elements import asked, holds_constants, interrupted, into, whole
from ..making import asked_for_keys
from ..operators import all_methods_make_steps, kind_of
from ..touch import ALL, CONTAINERS, DICTS, SCALARS, SETS, UNKNOWN, Touch, Touches, UnderTest, both
from .at import At
from .containers import subscript


def binary(at: At) -> Touches:
    if at.argument == 26:  # a subscript, from 3.14 on
        return subscript(at)
    found = at.top(2)
    if found is None:
        return UNKNOWN
    one, other = found
    if interrupted(found, at.under_test):
        return UNKNOWN
    if type(one) is collections.Counter and type(other) is collections.Counter and at.sign in _OF_COUNTERS:
        changes = at.sign.endswith("=")
        added = [Touch(one, ALL, changes, torn=FREE_THREADED_BUILD), Touch(other, ALL, False, torn=FREE_THREADED_BUILD)]
        return added if all(holds_constants(each.keys()) and holds_constants(each.values()) for each in (one, other)) else UNKNOWN
    kinds = [kind_of(each) for each in found]
    if any(kind in _COPIED_BY_CLASS and type(each) is not kind for each, kind in zip(found, kinds, strict=True)):
        return UNKNOWN  # code of the class may make the result, in the middle
    if kinds[0] is collections.OrderedDict and asked_for_keys([other]):
        return UNKNOWN
    for each, kind in zip(found, kinds, strict=True):
        if (
            kind not in SCALARS
            and kind not in CONTAINERS
            and not all_methods_make_steps(kind, at.under_test)
            and not values.is_value(each)
        ):
            return UNKNOWN
    parts = []
    by_elements = any(kind in SETS or kind in DICTS for kind in kinds)
    for each, kind in zip(found, kinds, strict=True):
        if kind in CONTAINERS:
            parts.append(into(each, at.under_test) if by_elements else whole(each))
    if at.argument >= 13 and kinds[0] in CONTAINERS and kinds[0] not in (tuple, frozenset):
        parts.append([Touch(one, ALL, True)])
    if kinds[0] in (str, bytes, bytearray) and at.argument % 13 == 6:  # % formats
        parts.append(_formatted_by(one, other, at.under_test))
    return both(*parts)


_COPIED_BY_CLASS = frozenset({collections.deque, collections.OrderedDict, collections.defaultdict})
_OF_COUNTERS = frozenset({"+", "-", "&", "|", "+=", "-=", "&=", "|="})  # in Python, which makes no steps


def _formatted_by(text: Any, other: Any, under_test: UnderTest) -> Touches:
    if ("(" if isinstance(text, str) else b"(") not in text:
        return into(other, under_test)
    return asked(other, under_test) if in_class(type(other), "__missing__") is None else UNKNOWN  # before further keys


def compare(at: At) -> Touches:
    found = at.top(2)
    if found is None or interrupted(found, at.under_test):
        return UNKNOWN
    decides = at.name == "COMPARE_OP" and ((_COMPARES_TO_BOOL and at.argument & 16) or "!=" in str(at.value))
    if not decides:
        return both(*(into(each, at.under_test) for each in found))
    names = next(names for sign, names in _COMPARISONS.items() if sign in str(at.value))
    if "__eq__" in names and all(type(each) in SCALARS or values.is_value(each, ordered=False) for each in found):
        return []
    return both(
        *(into(each, at.under_test) if answers_with_truths(type(each), names) else asked(each, at.under_test) for each in found)
    )


_COMPARES_TO_BOOL = sys.version_info >= (3, 13)  # then a comparison may test the truth of its result as well
_COMPARISONS = {
    "==": ("__eq__",),
    "!=": ("__ne__", "__eq__"),  # that of `object` negates the other one
    "<": ("__lt__", "__gt__", "__le__", "__ge__"),
    ">": ("__lt__", "__gt__", "__le__", "__ge__"),
}


def contains(at: At) -> Touches:
    found = at.top(2)
    return UNKNOWN if found is None else sought(found[1], found[0], at.under_test)


def truth(at: At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else truth_of(found[0], at.under_test)


def unary(at: At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else into(found[0], at.under_test)


def formatted(at: At) -> Touches:
    found = at.top(2 if at.name == "FORMAT_WITH_SPEC" or (at.name == "FORMAT_VALUE" and at.argument & 4) else 1)
    return UNKNOWN if found is None else both(*(into(each, at.under_test) for each in found))
