"""Elements and slices, and the making of sets and dicts."""

from __future__ import annotations

from ..elements import asked, whole
from ..keyed import copied, element
from ..operators import kind_of
from ..quiet_keys import keys_compare_quietly
from ..touch import DICTS, UNKNOWN, Touches, both
from .at import At


def subscript(at: At) -> Touches:
    found = at.top(2)
    return UNKNOWN if found is None else element(found[0], found[1], False, at.under_test)


def store_subscript(at: At) -> Touches:
    removes = at.name == "DELETE_SUBSCR"
    found = at.top(2 if removes else 3)
    if found is None:
        return UNKNOWN
    stored = element(found[-2], found[-1], True, at.under_test, removes=removes)
    return stored if removes else both(stored, copied(kind_of(found[-2], asks="__setitem__"), found[-1], found[0]))


def load_slice(at: At) -> Touches:
    found = at.top(3)
    return UNKNOWN if found is None else element(found[0], slice(found[1], found[2]), False, at.under_test)


def store_slice(at: At) -> Touches:
    found = at.top(4)
    if found is None:
        return UNKNOWN
    value, container, *bounds = found
    stored = element(container, slice(*bounds), True, at.under_test)
    return both(stored, copied(kind_of(container, asks="__setitem__"), slice(*bounds), value))


def merged(at: At) -> Touches:
    """A mapping is added to a dict that only this stack refers to."""
    found = at.top(1 + at.argument)
    if found is None:
        return UNKNOWN
    target, *_, added = found
    if type(target) is not dict or kind_of(added) not in DICTS:
        return UNKNOWN
    return whole(added) if keys_compare_quietly(target) and keys_compare_quietly(added) else UNKNOWN


def keys(at: At) -> Touches:
    count = {"BUILD_MAP": 2 * at.argument, "BUILD_SET": at.argument, "MAP_ADD": 2, "SET_ADD": 1}[at.name]
    found = at.top(count)
    return UNKNOWN if found is None else both(*(asked(each, at.under_test) for each in found[:: 2 if "MAP" in at.name else 1]))
