"""Patterns of a match statement."""

from __future__ import annotations

from typing import Any

from ....core.classes import in_class, is_a
from ..attributes import attribute_read, by_classes, is_kept
from ..calling import called
from ..elements import of_a_known_kind
from ..keyed import element_of
from ..touch import DICTS, UNKNOWN, Touches, both
from .at import At


def matched(at: At) -> Touches:
    """Whether something is a mapping or a sequence: a flag of its class, which registration in an abstract class changes."""
    found = at.top(1)
    return [] if found is not None and of_a_known_kind(found[0]) else UNKNOWN


def match_keys(at: At) -> Touches:
    """The keys of a mapping pattern are looked up by the method `get` of what is matched."""
    found = at.top(2)
    if found is None or type(found[1]) is not tuple or type(found[0]) not in DICTS:  # another may have a `get` of its own
        return UNKNOWN
    keys = (element_of(type(found[0]), found[0], key, False, at.under_test, removes=False, asks=False) for key in found[1])
    return both(*keys)


def match_class(at: At) -> Touches:
    """A class pattern: whether it is an instance, and its attributes, which are read in the middle of this."""
    found = at.top(3)
    if found is None or type(found[2]) is not tuple or not is_a(found[1], type):
        return UNKNOWN
    thing, kind, named = found
    parts = [called(isinstance, [thing, kind], at.under_test)]
    if not is_a(thing, kind) or parts[0] is UNKNOWN:
        return parts[0]
    by_place: tuple[Any, ...] = ()
    if at.argument:
        names = in_class(kind, "__match_args__")
        if names is not None and type(names) is not tuple:
            return UNKNOWN
        by_place = (names or ())[: at.argument]
        parts.append(by_classes(kind, "__match_args__"))
    for name in (*by_place, *named):
        parts.append(attribute_read(thing, name, at.under_test) if type(name) is str and is_kept(thing, name) else UNKNOWN)
    return both(*parts)
