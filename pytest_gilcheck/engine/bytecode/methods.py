"""What a method in C of a built-in object touches."""

from __future__ import annotations

import collections
from types import GeneratorType
from typing import Any

from ...core.classes import in_class
from . import in_c, ordering, pure, values
from .answers import answers_with_truths
from .attributes import attribute_stored
from .calls import PLAIN_ERRORS, made_by_steps
from .elements import CHANGING, advanced, asked, calls_back, holds_scalars, into, into_elements, of_a_known_kind, whole
from .keyed import copied, element_of, key_part
from .known_codecs import are_known_codecs
from .making import asked_for_keys, made, ordered_by_key
from .operands import immutable
from .operators import kind_for_method
from .quiet_keys import keys_compare_quietly
from .setters import stored_by_initialiser
from .touch import ALL, CONTAINERS, DICTS, SCALARS, SIZE, UNKNOWN, Touch, Touches, UnderTest, both, of_state

READING_METHODS = frozenset({"copy", "count", "index", "keys", "values", "items", "__len__", "__contains__", "__iter__"})
SET_READING = frozenset({"union", "difference", "intersection", "symmetric_difference", "issubset", "issuperset", "isdisjoint"})
_OF_ELEMENTS = frozenset({"count", "index", "remove", "sort", *SET_READING, "update", "difference_update", "intersection_update"})
_OF_ONE_KEY = frozenset({"get", "setdefault", "pop", "__contains__"})
_OF_ITEMS = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_CHANGING_ONE_KEY = frozenset({"setdefault", "pop", "__setitem__", "__delitem__"})
_SETTING = frozenset({"add", "discard", "remove"})
_STORING_METHODS = frozenset({"append", "appendleft", "insert"})  # they ask nothing of what they store
_BY_INDEX = frozenset({"insert", "pop", "rotate"})


def method_called(name: str, owner: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a method in C of a built-in object touches."""
    if owner is dict and name == "fromkeys" and arguments:
        return asked(arguments[0], under_test)
    kind = kind_for_method(owner, name)
    if kind in SCALARS:
        if name == "translate" and len(arguments) == 1 and type(arguments[0]) is dict and keys_compare_quietly(arguments[0]):
            return [Touch(arguments[0], ALL, False)]  # its keys are numbers, and the values are asked nothing
        if all(immutable(each) for each in arguments):
            return [] if name not in ("encode", "decode") or are_known_codecs(arguments) else UNKNOWN
        if name == "join" and len(arguments) == 1 and type(arguments[0]) is GeneratorType:
            return advanced(arguments[0], under_test)
        return both(*(asked(each, under_test) for each in arguments)) if name == "join" else UNKNOWN
    if kind is tuple or kind is frozenset:
        return both(into(owner, under_test), *(asked(each, under_test) for each in arguments))
    if kind is GeneratorType and name in ("send", "__next__"):
        return advanced(owner, under_test)
    if values.makes_value(owner, name, arguments):
        return []
    if values.has_constant_attributes(owner):
        return [] if all(map(values.is_constant, arguments)) else UNKNOWN
    if kind not in CONTAINERS:
        known = [] if pure.method_looks_at_its_arguments_alone(name, owner, arguments) else in_c.method(name, owner, arguments)
        return UNKNOWN if known is None else of_state(known)
    if (name in _OF_ONE_KEY and kind in DICTS and arguments) or (name in _OF_ITEMS and arguments):
        changes, removes, asks = name in _CHANGING_ONE_KEY, name in ("pop", "__delitem__"), name == "__getitem__"
        found = element_of(kind, owner, arguments[0], changes, under_test, removes=removes, asks=asks)
        return both(found, copied(kind, *arguments)) if name == "__setitem__" and len(arguments) == 2 else found
    if name == "__init__" and kind in CHANGING:
        return both([Touch(owner, ALL, True)], made(kind, arguments, under_test))
    if kind is set and name in _SETTING and arguments:
        part = key_part(arguments[0], under_test)
        if part is None or not keys_compare_quietly(owner):
            return UNKNOWN
        return [Touch(owner, part, True), Touch(owner, SIZE, True)]
    if kind is list and name == "append":
        return [Touch(owner, (len(owner),), True), Touch(owner, SIZE, True)]
    if name in ("keys", "values", "items") and kind in DICTS:
        return []
    if name == "move_to_end" and arguments and immutable(arguments[0]) and keys_compare_quietly(owner):
        return [Touch(owner, ALL, True)]
    parts: list[Touches] = [[Touch(owner, ALL, name not in READING_METHODS and name not in SET_READING)]]
    if name == "sort" and (key := ordering.key_among(arguments)) is not None:
        return both(parts[0], ordered_by_key(owner, key, under_test, at_once=False))
    if name in _STORING_METHODS:
        if kind is bytearray and any(type(each) not in SCALARS for each in arguments):  # `__index__` of what is stored
            return UNKNOWN
    elif any(calls_back(each, under_test) for each in arguments):
        return UNKNOWN
    if name in _BY_INDEX and arguments and type(arguments[0]) is not int:  # `__index__` comes before the change
        return UNKNOWN
    if ("update" in name or name in SET_READING) and not all(map(of_a_known_kind, arguments)):
        return UNKNOWN
    if kind is collections.OrderedDict and name == "update" and asked_for_keys(arguments):
        return UNKNOWN
    if name in _OF_ELEMENTS:
        parts += [into_elements(kind, owner, under_test), *(asked(each, under_test) for each in arguments)]
    elif name in ("extend", "extendleft"):
        parts += [whole(each) if kind is not bytearray or holds_scalars(each) else UNKNOWN for each in arguments]
    elif name not in (
        "append",
        "appendleft",
        "insert",
        "pop",
        "popleft",
        "popitem",
        "clear",
        "copy",
        "reverse",
        "rotate",
        "__len__",
    ):
        return UNKNOWN
    return both(*parts)


def special_method_called(of: type, name: str, owner: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a special method in C touches that is called by its name: ``super().__setitem__(key, value)``.

    Args:
        of: the class that defines it.
    """
    if of is object:
        if name in ("__setattr__", "__delattr__") and arguments and type(arguments[0]) is str:
            return attribute_stored(owner, arguments[0], under_test, deletes=name == "__delattr__", by_object=True)
        if name == "__ne__" and in_class(type(owner), "__eq__") is not in_class(object, "__eq__"):  # which it calls, and negates
            answers = answers_with_truths(type(owner), ["__eq__"])
            return both(*((into if answers else asked)(each, under_test) for each in (owner, *arguments)))
        return [] if name in ("__init__", "__eq__", "__ne__") else UNKNOWN
    if name == "__init__" and any(of is each for each in PLAIN_ERRORS):
        return [Touch(owner, each, True) for each in stored_by_initialiser(of)]  # ``args``, and ``name`` of an AttributeError
    if of is type and name == "__call__":  # the rest of what the metaclass of a class does
        return [] if made_by_steps(owner, under_test, by_type=True) else UNKNOWN
    return method_called(name, owner, arguments, under_test) if kind_for_method(owner, name) in CONTAINERS else UNKNOWN
