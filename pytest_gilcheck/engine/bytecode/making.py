"""What is touched by making a container, or another value, of what it is given, and by ordering it by a key."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from . import ordering
from .calls import function_makes_steps
from .elements import asked, holds_constants, holds_scalars, interrupted, whole
from .operands import immutable
from .operators import container_of, kind_of
from .quiet_keys import keys_compare_quietly
from .touch import ALL, CONTAINERS, DICTS, UNKNOWN, Touch, Touches, UnderTest, both

OF_A_SIZE = frozenset({bool, len, list, tuple, iter, enumerate, zip, reversed, bytes, bytearray, collections.deque})
OF_ELEMENTS = frozenset(
    {set, frozenset, dict, str, repr, sorted, min, max, sum, any, all, collections.OrderedDict, collections.defaultdict}
)


def made(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What is touched by making a container, or another value, of what is asked for its elements."""
    if interrupted(arguments, under_test) or (callee is collections.OrderedDict and asked_for_keys(arguments)):
        return UNKNOWN
    if callee in OF_A_SIZE:
        asks_elements = callee is bytes or callee is bytearray
        return both(*(UNKNOWN if asks_elements and not holds_scalars(each) else whole(each) for each in arguments))
    if callee is collections.defaultdict:
        arguments = arguments[1:]  # behind its factory
    return both(*(asked(each, under_test) for each in arguments))


def asked_for_keys(arguments: Iterable[Any]) -> bool:
    """Whether an `OrderedDict` asks one of these for its method ``keys``, which an instance may have otherwise."""
    return any(container_of(type(each)) in DICTS and type(each) is not dict for each in arguments)


def ordered_by_key(source: Any, key: Any, under_test: UnderTest, *, at_once: bool) -> Touches:
    """What is touched by ordering constants by what a function answers for them (``key=``).

    Args:
        at_once: whether all elements are read before the function is called, so that it may make steps.
    """
    if kind_of(source, compared=True, shown=True) not in CONTAINERS or not holds_constants(source):
        return UNKNOWN
    if ordering.is_quiet(key):
        return whole(source)
    if type(key) is FunctionType:
        plain = at_once and function_makes_steps(key, under_test) and ordering.answers_of_its_argument(key)
        return whole(source) if plain and all(map(immutable, source)) else UNKNOWN  # attributes of others may change
    table = ordering.table_of(key)
    if table is None or not keys_compare_quietly(table) or not holds_constants(table.values()):
        return UNKNOWN
    return both(whole(source), [Touch(table, ALL, False, torn=FREE_THREADED_BUILD)])  # between the elements
