"""What a call touches by itself, told from what is called, and with which arguments (`effects`)."""

from __future__ import annotations

import sys
from functools import partial
from operator import attrgetter, itemgetter, methodcaller
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from ...core.classes import bases_of, in_class, is_a, made_at_run_time
from ...core.lookup import looked_up
from . import waiting, without_gil
from .at import unwrapped
from .calls import PLAIN_NEWS, function_makes_steps, made_by_steps
from .known_calls import CHANGES_FIRST, EFFECTS, GOES_THROUGH, KEEPING_METHODS, LOOKS, OUTSIDE, READING_METHODS, READS, VALUES
from .library import one_step
from .outside import touched_outside
from .part_effects import touches_of_attribute, touches_of_element
from .reach import is_a_lock, reached, role_of
from .touch import ALL, DICTS, UNKNOWN, Touch, Touches, UnderTest, container_of

_UNBOUND = (MethodDescriptorType, WrapperDescriptorType)
_IN_C = (BuiltinFunctionType, MethodWrapperType, ClassMethodDescriptorType, *_UNBOUND)
_BY_NAME = {"setattr": "set", "delattr": "delete", "getattr": "get", "hasattr": "get"}  # an attribute
_BY_NAME |= {"__setattr__": "set", "__delattr__": "delete", "__getattribute__": "get"}
_DOES_NOTHING = in_class(object, "__init__")
_WITHOUT_STATE = frozenset(
    {"__init__", "__init_subclass__", "__eq__", "__hash__", "__repr__"}
)  # of `object`, which ask for no other


def touches_of_call(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a call touches by itself; `UNKNOWN` if that is an object which its own code has still to find."""
    keywords = [Touch(callee.keywords, ALL, False)] if type(callee) is partial and callee.keywords else []
    callee, arguments = unwrapped(callee, arguments)
    found = _of_call(callee, arguments, under_test)
    if found is UNKNOWN:
        return UNKNOWN
    return keywords + without_gil.by_call(found, callee, arguments) if found else keywords


def _of_call(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    kind = type(callee)
    if kind is FunctionType:
        return _of_function(callee, arguments, under_test)
    if id(callee) in PLAIN_NEWS:
        return []
    if issubclass(kind, type):
        return _of_making(callee, arguments, under_test)
    if kind in _IN_C:
        return _of_c(callee, arguments, under_test)
    if kind is itemgetter or kind is attrgetter:
        return reached(arguments, guess=kind is attrgetter)
    if kind is methodcaller:  # which stays as it was made; the method may be any
        return reached([*arguments, *callee.__reduce__()], changes=True, guess=True)
    call = in_class(kind, "__call__")
    if type(call) is FunctionType:
        return _of_function(call, [callee, *arguments], under_test)
    return [Touch(callee, ALL, True, guess=True), *reached(arguments, changes=True, guess=True)]


def _of_function(function: FunctionType, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    """Of a function in Python. One of the library that makes no steps changes the object that it is of, and what it is given."""
    if function_makes_steps(function, under_test):
        return []
    known = waiting.touched_by_call(function, arguments)
    if known is not UNKNOWN:
        return known
    name, guess = function.__name__, Touch(function, ALL, False, guess=True)
    changes = one_step(function.__code__) != ""
    if not arguments or in_class(type(arguments[0]), name) is not function:
        return [guess, *reached(arguments, changes=changes, guess=changes)]
    of_owner = reached(arguments[:1], owns=name not in READING_METHODS, guess=True)
    return [guess, *of_owner, *reached([] if name in KEEPING_METHODS else arguments[1:], changes=changes, guess=changes)]


def _of_making(kind: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """Of a call of a class: it reads what it is given, and keeps it."""
    if made_by_steps(kind, under_test) or is_a_lock(kind) or (kind is type and len(arguments) == 1):
        return []
    makes = in_class(type(kind), "__call__")
    if type(makes) is FunctionType and function_makes_steps(makes, under_test):
        return []
    initialiser = in_class(kind, "__init__")
    if (
        type(in_class(kind, "__new__")) in (staticmethod, FunctionType)
        and type(initialiser) in _UNBOUND
        and initialiser is not _DOES_NOTHING
    ):
        return UNKNOWN  # code answers with an instance that others may have, which C initialises again
    found = reached(arguments, shallow=kind not in (str, set, frozenset, dict))
    bases = bases_of(kind)
    known = not made_at_run_time(kind) or container_of(kind) is not kind or any(each in bases for each in VALUES)
    return found if known else [*found, Touch(kind, ALL, False, guess=True)]


def _of_c(callee: Any, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    name = callee.__name__
    if type(callee) not in _UNBOUND:
        owner = getattr(callee, "__self__", None)
        if type(callee) is BuiltinFunctionType and (owner is None or type(owner) is ModuleType):
            return _of_module_function(callee, name, arguments, under_test)
    elif arguments:
        owner, *arguments = arguments
    else:
        return []
    if name in _BY_NAME and arguments and type(arguments[0]) is str:
        return touches_of_attribute(owner, arguments[0], _BY_NAME[name], under_test, by_object=True)
    if getattr(callee, "__objclass__", None) is object and name in _WITHOUT_STATE:
        return []
    if callee is object.__ne__:  # it asks the class for the answer that it negates
        return _of_call(in_class(type(owner), "__eq__"), [owner, *arguments], under_test) or []
    if is_a(owner, type):  # ``dict.fromkeys``, ``datetime.now``, or what a metaclass does
        return [] if name == "__call__" and made_by_steps(owner, under_test, by_type=True) else reached(arguments)
    what, base = role_of(owner), container_of(type(owner))
    if base in DICTS and name in ("get", "__getitem__", "__contains__") and len(arguments) > 0:
        return touches_of_element(owner, arguments[0], "get", asks=name == "__getitem__")
    known, reads = what.plain or what.through or what.iterates or what.container is not None, name in READING_METHODS
    found = reached([owner], shallow=not reads, owns=not reads, guess=not known)
    sliced = any(type(each) is slice for each in arguments)  # then what is stored is gone through
    given = [] if name in KEEPING_METHODS and not sliced else arguments
    return [*found, *reached(given, changes=not known, guess=not known or name in ("format", "format_map"))]


def _of_module_function(callee: Any, name: str, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    if name in _BY_NAME and len(arguments) > 1 and type(arguments[1]) is str:
        return touches_of_attribute(arguments[0], arguments[1], _BY_NAME[name], under_test)
    if callee is print:
        streams = [each for each in arguments if in_class(type(each), "write") is not None] or [sys.stdout]
        return [*reached(streams, owns=True, guess=True), *reached(arguments)]
    module = str(callee.__module__)
    effect = looked_up(EFFECTS, f"{module}.{name}") or looked_up(EFFECTS, f"{module}.*")
    if effect == LOOKS:
        return []
    if effect in (READS, GOES_THROUGH):
        return reached(arguments, shallow=effect == GOES_THROUGH)
    if effect == CHANGES_FIRST:
        return [*reached(arguments[:1], changes=True), *reached(arguments[1:])]
    first = touched_outside(name, arguments) if effect == OUTSIDE else [Touch(callee, ALL, False, guess=True)]
    return [*first, *reached(arguments, changes=True, guess=True)]
