"""What some functions and methods of the standard library touch that is no built-in container, or does more with one.

Each answer is a `State`, or None where it is not known.
"""

from __future__ import annotations

import bisect
import collections
import collections.abc
import enum
import functools
import hashlib
import heapq
import io
import numbers
import operator
import os
import random
import sys
import threading
from abc import ABCMeta
from collections.abc import Sequence
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, GeneratorType, ModuleType
from typing import Any

from ...core.classes import bases_of, in_class, made_at_run_time, names_of
from .operands import immutable
from .touch import State

_MOST_ELEMENTS = 2000
ON_SORTED_LISTS = {  # by id, whether they change the list; those in C, which is one step
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
_BUFFER: Any = names_of(io.TextIOWrapper)["buffer"].__get__
_DIGEST = type(hashlib.sha256())
_OF_DIGESTS = {"update": True, "digest": False, "hexdigest": False}
_OF_VALUES = frozenset(
    kind for module in (collections.abc, numbers) for kind in vars(module).values() if type(kind) is ABCMeta
)  # of these, an instance of a built-in type is one or is not
_COUNT: Any = vars(collections)["_count_elements"]
KINDS = (ContextVar, io.StringIO, io.BytesIO, random.Random)  # of which methods are known
ARGUMENTS = names_of(BaseException)["args"]  # of an exception; to store them is unknown
_KEEPING = (functools.partial, operator.itemgetter, operator.attrgetter, operator.methodcaller)  # their arguments, and no more
_SHOWING = ("__str__", "__repr__", "__hash__", "__eq__")
_OF_ENUMERATIONS = {name: names_of(enum.EnumType)[name] for name in ("__iter__", "__getitem__")}
_OF_MEMBERS = {name: names_of(enum.Enum)[name] for name in ("name", "value")}


def function(callee: Any, arguments: Sequence[Any]) -> State | None:
    """What a call of a function or a class touches."""
    if (changes := ON_SORTED_LISTS.get(id(callee))) is not None:
        return _on_a_sorted_list(arguments, changes)
    if callee is _COUNT and len(arguments) == 2:
        return _counted(*arguments)
    if type(callee) is BuiltinFunctionType and type(callee.__self__) is ModuleType and _makes_digest(callee):
        return [] if all(map(immutable, arguments)) else None
    if callee is functools.partial and arguments and type(arguments[0]) is functools.partial:  # it copies what that one keeps
        return [(arguments[0].keywords, None, False)]
    if any(callee is each for each in _KEEPING) and arguments:
        return []
    if callee is threading.get_ident or callee is threading.get_native_id or callee is os.getpid:
        return []
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
    if kind is _DIGEST and name in _OF_DIGESTS and all(map(immutable, arguments)):
        return [(owner, None, _OF_DIGESTS[name])]
    if kind is random.Random and name in ("random", "getrandbits") and all(map(immutable, arguments)):
        return [(owner, None, True)]
    return None


def is_stream_in_c(stream: Any) -> bool:
    """Whether what is written to this stream goes into C, and no code of a program is called there."""
    kind = type(stream)
    if io.TextIOWrapper not in bases_of(kind):
        return kind is io.StringIO
    own = any(in_class(kind, name) is not in_class(io.TextIOWrapper, name) for name in ("write", "flush"))
    return not own and type(buffer_of(stream)) in (io.BufferedWriter, io.BytesIO, io.FileIO)


def buffer_of(stream: Any) -> object:
    """What a text stream writes to, without asking code of its class; None if it has none, or none any more."""
    if io.TextIOWrapper not in bases_of(type(stream)):
        return None
    try:
        return _BUFFER(stream)
    except (AttributeError, ValueError):  # it is detached, or not yet initialised
        return None


def is_decided_by_the_type(thing: object, kind: object) -> bool:
    """Whether an abstract class of the library looks at nothing that can change, to say whether this is an instance of it."""
    return type(kind) is ABCMeta and kind in _OF_VALUES and not made_at_run_time(type(thing))


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


def imported_name(namespace: dict[str, Any], level: Any, name: str) -> str | None:
    """The full name of the module of an import statement; None if it cannot be told.

    Args:
        namespace: the globals of the statement.
        level: of a relative import, the number of its full stops.
    """
    if not level:
        return name
    package = namespace.get("__package__")
    if type(package) is not str or type(level) is not int:
        return None
    above = package.rsplit(".", level - 1)
    if len(above) < level:
        return None
    return f"{above[0]}.{name}" if name else above[0]


def is_imported(name: str, wanted: Any) -> bool:
    """Whether an import statement finds a module, and what is wanted of it, without an import.

    Args:
        wanted: the names after ``import`` in a statement with ``from``; otherwise None.
    """
    for each in (name, name.partition(".")[0]):
        module = sys.modules.get(each)
        if type(module) is not ModuleType or not _is_complete(vars(module).get("__spec__")):
            return False
    names = vars(sys.modules[name])
    return wanted is None or (type(wanted) is tuple and "*" not in wanted and all(each in names for each in wanted))


def _is_complete(spec: Any) -> bool:
    """Whether no thread is importing the module of this specification."""
    return spec is None or (type(spec) is ModuleSpec and not vars(spec).get("_initializing"))


def is_enumeration(thing: object) -> bool:
    """Whether this is an enumeration whose members are found, and gone through, as usual."""
    return type(thing) is enum.EnumType and all(names_of(enum.EnumType)[name] is own for name, own in _OF_ENUMERATIONS.items())


def goes_through_an_enumeration(iterator: GeneratorType[Any, Any, Any]) -> bool:
    """Whether this is what an enumeration makes to be gone through."""
    return iterator.gi_code.co_qualname.startswith("EnumType.__iter__.") and iterator.gi_code.co_filename == enum.__file__


def member_named(kind: Any, name: Any) -> State | None:
    """What the look-up of a member by its name touches."""
    known = names_of(kind).get("_member_map_") if is_enumeration(kind) else None
    return [(known, None, False)] if type(known) is dict and type(name) is str else None


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


def _makes_digest(function: BuiltinFunctionType) -> bool:
    return vars(function.__self__).get("__name__") == "_hashlib" and function.__name__.startswith("openssl_")


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
