"""What the functions of a program share with the code around them: a search in another process changes its own copies of it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.changes import Looked
from ..core.origin import under_test
from .program import Program

_CODE = (ModuleType, type, FunctionType, BuiltinFunctionType)
_SKIPPED = (*_CODE, property, staticmethod, classmethod)
_NOTHING = object()


class SharedValues:
    """The values of closures, globals, defaults and bound objects of a program's functions, as they are when this is made."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._before = {name: Looked(value) for name, value in _values(program)}

    def changed(self) -> tuple[str, ...]:
        """The names of those that have changed since then."""
        now = dict(_values(self._program))
        return tuple(name for name, before in self._before.items() if before.differs_from(now.get(name, _NOTHING)))


def _values(program: Program) -> Iterator[tuple[str, Any]]:
    """Each name with its value; the same names in the same order each time."""
    seen: set[int] = set()
    for function in (*program.threads, program.setup, program.invariant, *program.calls):
        yield from _of(function, seen)


def _of(function: object, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if function is None or id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield from _of(function.func, seen)
        for value in (*function.args, *function.keywords.values()):
            yield _argument(value), value
    elif isinstance(function, MethodType):
        yield from _of(function.__func__, seen)
        if not isinstance(function.__self__, type):
            yield _argument(function.__self__), function.__self__
    elif isinstance(function, FunctionType):
        yield from _named(function, seen)
    elif not isinstance(function, _CODE):
        yield _argument(function), function  # an object that can be called


def _named(function: FunctionType, seen: set[int]) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield from _value(f"{name!r} of {function.__qualname__}", value, seen)
    names = list(dict.fromkeys(_names(function.__code__)))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield from _value(f"{name!r} of module {function.__module__}", value, seen)
            if isinstance(value, ModuleType) and under_test(getattr(value, "__file__", None) or "<"):
                for attribute in names:
                    if attribute in vars(value):
                        yield from _value(f"{attribute!r} of module {value.__name__}", vars(value)[attribute], seen)
    for value in function.__defaults__ or ():
        if not isinstance(value, _CODE):
            yield _argument(value), value


def _value(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The value, or what is behind a function that the program calls, or a class."""
    if isinstance(value, FunctionType):
        if under_test(value.__code__.co_filename) or value.__code__.co_filename.startswith("<"):
            yield from _of(value, seen)
    elif isinstance(value, type):
        if under_test(getattr(sys.modules.get(value.__module__), "__file__", None) or "<"):
            kept = {key: part for key, part in vars(value).items() if not (key.startswith("__") or isinstance(part, _SKIPPED))}
            yield f"class {value.__qualname__}", tuple(chain.from_iterable(kept.items()))
    elif not isinstance(value, _CODE):
        yield name, value


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function looks up in its module, and those of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _argument(value: object) -> str:
    return f"an object of {type(value).__qualname__}"
