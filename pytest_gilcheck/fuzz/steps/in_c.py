"""What some functions and methods of the standard library touch that is no built-in container, or does more with one.

Each answer is a list of (object, what of it, whether that is changed), where None is all of it. It is None where it is not known.
"""

from __future__ import annotations

import bisect
import collections
import collections.abc
import enum
import functools
import heapq
import io
import numbers
import random
from abc import ABCMeta
from collections.abc import Sequence
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ...core.classes import bases_of, in_class, names_of
from .operands import immutable

State = list[tuple[Any, str | None, bool]]

_MOST_ELEMENTS = 2000
_HEAP_TYPE = 1 << 9  # of the flags of a type: it is made at run time
_ON_SORTED_LISTS = {  # by id, whether they change the list; those in C, which is one step
    id(function): function.__name__.startswith(("heap", "insort"))
    for function in (
        *(heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop),
        *(bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right),
    )
    if type(function) is BuiltinFunctionType
}
_STREAMS = {  # by method, whether it changes the stream
    **dict.fromkeys(("write", "read", "readline", "readlines", "seek", "truncate", "close"), True),
    **dict.fromkeys(("getvalue", "tell"), False),
}
_OF_VALUES = frozenset(
    kind for module in (collections.abc, numbers) for kind in vars(module).values() if type(kind) is ABCMeta
)  # of these, an instance of a built-in type is one or is not
_COUNT: Any = vars(collections)["_count_elements"]
KINDS = (ContextVar, io.StringIO, io.BytesIO, random.Random)  # of which methods are known
ARGUMENTS = names_of(BaseException)["args"]  # of an exception; to store them is unknown
_SHOWING = ("__str__", "__repr__", "__hash__", "__eq__")
_OF_MEMBERS = {name: names_of(enum.Enum)[name] for name in ("name", "value")}


def function(callee: Any, arguments: Sequence[Any]) -> State | None:
    """What a call of a function or a class touches."""
    if (changes := _ON_SORTED_LISTS.get(id(callee))) is not None:
        return _on_a_sorted_list(arguments, changes)
    if callee is _COUNT and len(arguments) == 2:
        return _counted(*arguments)
    if callee is functools.partial and arguments:
        return []  # it keeps them
    if type(callee) is enum.EnumType:
        return _member(callee, arguments)
    return [] if _is_a_named_tuple(callee) else None


def method(name: str, owner: Any, arguments: Sequence[Any]) -> State | None:
    """What a call of a method in C touches."""
    kind = type(owner)
    if kind is ContextVar:  # each thread has a context of its own
        return [] if name in ("get", "set", "reset") else None
    if kind is io.StringIO or kind is io.BytesIO:
        return [(owner, None, _STREAMS[name])] if name in _STREAMS and all(map(immutable, arguments)) else None
    if kind is random.Random and name in ("random", "getrandbits") and all(map(immutable, arguments)):
        return [(owner, None, True)]
    return None


def is_decided_by_the_type(thing: object, kind: object) -> bool:
    """Whether an abstract class of the library looks at nothing that can change, to say whether this is an instance of it."""
    return type(kind) is ABCMeta and kind in _OF_VALUES and not type(thing).__flags__ & _HEAP_TYPE


def shown_error(thing: Any) -> tuple[Any, ...] | None:
    """The arguments of an exception of which these alone are what is shown of it; None if it is another one, or no exception."""
    kind = type(thing)
    if BaseException not in bases_of(kind) or any(in_class(kind, name) is not in_class(BaseException, name) for name in _SHOWING):
        return None
    arguments = ARGUMENTS.__get__(thing)
    return arguments if type(arguments) is tuple else None


def attribute_of_a_member(found: object) -> str | None:
    """What an enumeration keeps in the attribute of a member that this descriptor computes: ``"_value_"``."""
    return next((f"_{name}_" for name, computed in _OF_MEMBERS.items() if found is computed), None)


def _on_a_sorted_list(arguments: Sequence[Any], changes: bool) -> State | None:
    """What is compared is immutable, so no other code is called in the middle."""
    if not arguments or type(arguments[0]) is not list or len(arguments[0]) > _MOST_ELEMENTS:
        return None
    return [(arguments[0], None, changes)] if all(map(immutable, (*arguments[0], *arguments[1:]))) else None


def _counted(mapping: Any, elements: Any) -> State | None:
    """What `Counter.update` does with a mapping that has the methods of `dict`."""
    if type(mapping) not in (collections.Counter, dict) or type(elements) not in (str, list, tuple):
        return None
    if max(len(mapping), len(elements)) > _MOST_ELEMENTS:
        return None
    if not all(map(immutable, (*dict.keys(mapping), *dict.values(mapping), *elements))):
        return None
    return [(mapping, None, True), *([(elements, None, False)] if type(elements) is list else [])]


def _member(kind: Any, arguments: Sequence[Any]) -> State | None:
    """The look-up of a member by its value."""
    known = names_of(kind).get("_value2member_map_")
    if type(known) is not dict or len(arguments) != 1 or not all(map(immutable, (*known, arguments[0]))):
        return None
    return [(known, None, False)] if arguments[0] in known else None


def _is_a_named_tuple(kind: Any) -> bool:
    """Whether this is a class that `collections.namedtuple` has made, or a subclass that makes its instances so."""
    if type(kind) is not type or tuple not in bases_of(kind) or in_class(kind, "__init__") is not in_class(object, "__init__"):
        return False
    maker = in_class(kind, "__new__")
    maker = maker.__func__ if type(maker) is staticmethod else maker
    return type(maker) is FunctionType and str(maker.__globals__.get("__name__")).startswith("namedtuple_")
