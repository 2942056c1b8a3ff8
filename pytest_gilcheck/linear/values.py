"""Values for parameters of which nobody gave any: few for each name or type, so that calls of several threads collide.

A pool exceeds the capacity of what holds it by one (capacities are 1 or 2, keys are three): otherwise nothing is ever thrown out.
It has the values at which code branches: zero, a negative number, what is empty. Of a pool with more than three values, a program
draws three (`drawing.from_values`).
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Sequence
from enum import Enum
from typing import Any


def returns_1(*arguments: Any, **named: Any) -> int:
    """A function to be called back."""
    return 1


def returns_2(*arguments: Any, **named: Any) -> int:
    """Another one."""
    return 2


_KEYS, _TEXTS, _FUNCTIONS = ("a", "b", "c"), ("a", "b", "c", ""), (returns_1, returns_2)
_ITEMS, _INTEGERS, _SIZES = (1, 2, 0), (1, 2, 0, -1), (1, 2)
_LISTS: tuple[Any, ...] = ([1], [1, 2], [])
_DICTS: tuple[Any, ...] = ({"a": 1}, {"a": 2, "b": 1}, {})
_BY_TYPE: dict[object, tuple[Any, ...]] = {
    int: _INTEGERS, str: _TEXTS, bool: (True, False), float: (1.0, 2.0, 0.0, -1.0), bytes: (b"a", b"b", b""), object: _ITEMS,
    list: _LISTS, tuple: ((1,), (1, 2), ()), set: ({1}, {1, 2}, set()), dict: _DICTS, type(None): (None,),
}  # fmt: skip
_BY_NAME = (
    (re.compile(r"^(max_?|min_?)?(n|k|size|count|max|limit|num|amount|capacity|length|len|times|permits|parties)$"), _INTEGERS),
    (re.compile(r"(^|_)(maxsize|capacity|size|limit|count|delta|step)$"), _INTEGERS),
    (re.compile(r"(^|_)(version|revision|generation|epoch|stamp|expected)$"), (0, 1)),
    (re.compile(r"(^|_)(index|idx|i|pos|position|offset|point|begin|start|stop|end|lo|hi|low|high)$"), (0, 1, -1)),
    (re.compile(r"(^|_)(ttl|seconds|interval|period|expire|expires)$"), (10, 1)),
    (re.compile(r"(^|_)(timeout|delay)$"), (10, 1, 0)),
    (re.compile(r"(^|_)(key|name|field|topic|id|uid|tag|label|user|path|channel|event|section|option|param|attr|attribute|group|"
                r"category)$"), _KEYS),
    (re.compile(r"(^|_)(prefix|string|str|text|word|line)$"), _TEXTS),
    (re.compile(r"(^|_)(keys|names)$"), (["a"], ["a", "b"])),
    (re.compile(r"(^|_)(func|function|fn|callback|factory|callable|handler|listener|creator|loader|make)$"), _FUNCTIONS),
    (re.compile(r"(^|_)(values|items|elements|iterable|sequence|seq|data_list|args)$"), _LISTS),
    (re.compile(r"(^|_)(mapping|dict|dictionary|kwargs|kwds)$"), _DICTS),
    (re.compile(r"(^|_)(value|val|item|v|x|y|obj|object|elem|element|data|msg|message|task|priority|node|entry|default|arg|result|job)$"),
     _ITEMS),
)  # fmt: skip


_HANDLE = re.compile(
    r"(^|_)(conn|connection|handle|token|ticket|lease|session|resource|cursor|slot|permit|reservation|subscription|transaction|txn|"
    r"cookie|waiter|fut|future|client|worker)$"
)


def is_handle(name: str) -> bool:
    """Whether a parameter of this name may take what another method has returned, where nothing else says what it takes."""
    return bool(_HANDLE.search(name.lower()))


def values_for(name: str, annotation: Any = None, *, of_constructor: bool = False) -> Sequence[Any] | None:
    """Two to four values for a parameter; None if nothing says what it takes.

    Args:
        annotation: its type hint; None without one.
        of_constructor: whether an object is made with it: sizes are 1 or 2 then, because one of size 0 holds nothing.
    """
    values = _values_for(name, annotation)
    return _SIZES if of_constructor and values is _INTEGERS else values


def _values_for(name: str, annotation: Any) -> Sequence[Any] | None:
    by_name = next((values for pattern, values in _BY_NAME if pattern.search(name.lower().lstrip("_"))), None)
    by_type = _of_type(annotation)
    if by_type is None:
        return by_name
    if by_name is not None and all(_fits(each, annotation) for each in by_name):
        return by_name
    return by_type


def _fits(value: Any, annotation: Any) -> bool:
    kind = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and type(value) is kind


def _of_type(annotation: Any) -> Sequence[Any] | None:
    if annotation is None or annotation is Any or isinstance(annotation, (str, typing.TypeVar)):
        return _ITEMS if isinstance(annotation, typing.TypeVar) or annotation is Any else None
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return arguments[:3]
    if origin is typing.Union or origin is types.UnionType:
        found = [values for each in arguments if each is not type(None) and (values := _of_type(each)) is not None]
        return found[0] if found else None
    if origin is typing.Annotated:
        return _of_type(arguments[0])
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[:3] or None
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    module, name = getattr(kind, "__module__", ""), getattr(kind, "__name__", "")
    if module in ("collections.abc", "typing"):
        return _ABSTRACT.get(name)
    return None


_ABSTRACT: dict[str, tuple[Any, ...]] = {
    "Callable": _FUNCTIONS, "Hashable": _KEYS, "Iterable": _LISTS, "Sequence": _LISTS, "Collection": _LISTS, "Mapping": _DICTS,
    "MutableMapping": _DICTS,
}  # fmt: skip


def needed(parameters: Sequence[Any]) -> list[Any]:
    """The parameters of a signature without which it cannot be called."""
    optional = (parameters[0].VAR_POSITIONAL, parameters[0].VAR_KEYWORD) if parameters else ()
    return [each for each in parameters if each.kind not in optional and each.default is each.empty]


def said_by_default(parameter: Any) -> Sequence[Any] | None:
    """Values for a parameter that may be left out, if its default is a number or a truth value; None otherwise."""
    default = parameter.default
    if type(default) is bool:
        return (not default,)
    if type(default) is int:
        return [each for each in values_for(parameter.name, int) or () if each != default]
    return None
