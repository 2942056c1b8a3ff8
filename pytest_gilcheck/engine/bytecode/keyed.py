"""What is touched by reading, storing or removing the element of a key, an index or a slice."""

from __future__ import annotations

import collections
import gc
from types import FunctionType, MappingProxyType
from typing import Any

from ...core.classes import in_class, is_a, names_of
from ...core.origin import ours
from . import in_c, in_python, values
from .calls import function_makes_steps
from .elements import plain_slice, whole
from .operands import immutable
from .operators import all_methods_make_steps, asks_nobody, calls_code, kind_of, plain_value
from .quiet_keys import keys_compare_quietly
from .touch import ALL, CONTAINERS, DICTS, LISTS, SCALARS, SIZE, UNKNOWN, Touch, Touches, UnderTest, of_state

MISSING = names_of(collections.defaultdict)["__missing__"]


def key_part(key: Any, under_test: UnderTest) -> Any:
    """What names the element with this key; `ALL` if the key is not immutable, None if it is hashed or compared by unknown code."""
    if immutable(key) or values.is_value(key, ordered=False):
        return (key,)
    if is_a(key, type) and _is_equal_to_itself_alone(type(key)):
        return (key,)
    if (plain := plain_value(key)) is not None:
        return (plain,)
    return ALL if asks_nobody(type(key), under_test) else None


def _is_equal_to_itself_alone(kind: type) -> bool:
    own = in_class(kind, "__hash__")
    hashes = own is in_class(type, "__hash__") or (type(own) is FunctionType and ours(own.__code__.co_filename))
    return hashes and in_class(kind, "__eq__") is in_class(type, "__eq__")


def behind_a_proxy(thing: Any) -> Any:
    """The dict that a read-only view of it shows (`types.MappingProxyType`); any other object itself, and so is that of a class:
    what changes it are stores of attributes."""
    shown = gc.get_referents(thing)[0] if type(thing) is MappingProxyType else thing
    return thing if type(shown) is not dict or "__doc__" in shown else shown


def element(container: Any, key: Any, changes: bool, under_test: UnderTest, *, removes: bool = False) -> Touches:
    """What is touched by reading or changing the element of a key or index."""
    container = behind_a_proxy(container)
    operator = "__delitem__" if removes else "__setitem__" if changes else "__getitem__"
    kind = kind_of(container, asks=operator)
    if kind in CONTAINERS or kind is collections.Counter or kind in SCALARS:
        return element_of(kind, container, key, changes, under_test, removes=removes, asks=not changes)
    if calls_code(kind, operator, under_test):
        return []
    if not changes and (known := in_c.member_named(container, key)) is not None:
        return of_state(known)
    if (known := in_python.variable(container, key, changes=changes)) is not None:
        return of_state(known)
    return [] if all_methods_make_steps(kind, under_test) else UNKNOWN


def element_of(kind: type, container: Any, key: Any, changes: bool, under_test: UnderTest, *, removes: bool, asks: bool) -> Touches:
    """Likewise of a container, which its class is or is derived from: what its own methods in C do.

    Args:
        asks: whether ``__missing__`` is asked for the value of a key that a dict does not have.
    """
    if type(key) is slice and not plain_slice(key):  # C asks its bounds for `__index__`, and then looks at the container
        return UNKNOWN
    if kind in SCALARS:
        return [] if kind in (str, bytes, range) and (type(key) in SCALARS or type(key) is slice) else UNKNOWN
    if kind is tuple:
        return [] if type(key) in (int, slice) else UNKNOWN
    if kind in LISTS:
        if type(key) is int and 0 <= key < len(container) and not removes:
            return [Touch(container, (key,), changes)]
        return [Touch(container, ALL, changes)] if type(key) in (int, slice) else UNKNOWN
    if kind in DICTS or (kind is collections.Counter and not removes):  # which has the methods of dict here
        part = key_part(key, under_test)
        if part is None or not keys_compare_quietly(container):
            return UNKNOWN
        if part is ALL:
            return [Touch(container, ALL, changes)]
        there = dict.__contains__(container, key)
        missing = in_class(type(container), "__missing__") if asks and not there else None
        if missing is not None and missing is not MISSING:
            steps = type(missing) is FunctionType and (kind is collections.Counter or function_makes_steps(missing, under_test))
            return [Touch(container, part, False)] if steps else UNKNOWN
        if asks and not there and kind is collections.defaultdict:
            made_in_c = any(container.default_factory is each for each in (*CONTAINERS, int, float, str, None))
            return [Touch(container, ALL, True, torn=True)] if made_in_c else UNKNOWN
        grows = changes and (removes or not there)
        return [Touch(container, part, changes), *([Touch(container, SIZE, True)] if grows else [])]
    return UNKNOWN


def copied(kind: type, key: Any, value: Any) -> Touches:
    """What is touched of a value that is stored in a container of this kind, before the container changes."""
    if kind not in LISTS:
        return []
    if type(key) is slice:
        return UNKNOWN if kind is bytearray and type(value) not in (bytes, bytearray) else whole(value)
    return UNKNOWN if kind is bytearray and type(value) not in SCALARS else []  # C asks the value for `__index__` first
