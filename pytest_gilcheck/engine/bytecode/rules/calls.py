"""Calls, with statements and exceptions."""

from __future__ import annotations

import sys
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from ....core.classes import in_class, is_a
from ....core.origin import ours
from .. import contexts, in_python, waiting
from ..attributes import by_classes
from ..calling import called
from ..calls import function_makes_steps, makes_steps
from ..elements import whole
from ..stack import NOTHING
from ..touch import ALL, UNKNOWN, Touch, Touches, both, of_state
from .at import At


def call(at: At) -> Touches:
    found = callee_of(at)
    return UNKNOWN if found is None else called(*found, at.under_test)


def call_with_packed(at: At) -> Touches:
    """A call with ``*`` or ``**``: what it unpacks, and what the call touches. The keywords are in a dict of its own."""
    found, packed = callee_of(at), at.top(2 if sys.version_info >= (3, 14) or at.argument & 1 else 1)
    return UNKNOWN if found is None or packed is None else both(whole(packed[0]), called(*found, at.under_test))


def callee_of(at: At) -> tuple[Any, list[Any]] | None:
    """What a call instruction calls, and with which arguments, those by name included; None if it cannot be told."""
    if at.name == "CALL":
        found = at.top(at.argument + 2)
        if found is None:
            return None
        first, second, *arguments = found
        if first is NOTHING:  # up to 3.12
            return second, arguments
        return first, arguments if second is NOTHING else [second, *arguments]  # from 3.13 on; a method and its object
    if at.name == "CALL_KW":
        found = at.top(at.argument + 3)
        if found is None:
            return None
        callee, self, *arguments = found[:-1]
        return callee, arguments if self is NOTHING else [self, *arguments]
    if at.name != "CALL_FUNCTION_EX":
        return None
    named = sys.version_info >= (3, 14) or bool(at.argument & 1)
    found = at.top(3 + named)
    if found is None:
        return None
    first, second, packed, *keywords = found
    if type(packed) not in (tuple, list):
        return None
    arguments = [*packed, *(value for each in keywords if type(each) is dict for value in each.values())]
    if first is NOTHING:
        first, second = second, NOTHING
    return first, arguments if second is NOTHING else [second, *arguments]


def unwrapped(callee: Any, arguments: list[Any]) -> tuple[Any, list[Any]]:
    """What a call of a bound method or of a `functools.partial` calls, and with which arguments."""
    while True:
        if type(callee) is MethodType:
            callee, arguments = callee.__func__, [callee.__self__, *arguments]
        elif type(callee) is partial:
            callee, arguments = callee.func, [*callee.args, *callee.keywords.values(), *arguments]
        else:
            return callee, arguments


def raised(at: At) -> Touches:
    found = at.top(at.argument if at.name == "RAISE_VARARGS" else 1)
    if not found:
        return []
    parts: list[Touches] = []
    for each in found:
        if is_a(each, BaseException):
            parts.append([Touch(each, ALL, True)])
        elif is_a(each, type):
            parts.append(called(each, [], at.under_test))
        elif each is not None:
            return UNKNOWN
    return both(*parts)


def enter(at: At) -> Touches:
    found = at.top(1)
    if found is None:
        return UNKNOWN
    kind = type(found[0])
    if waiting.entered(kind) or in_python.entered(kind):
        return []
    if (generator := contexts.generator_of(found[0])) is not None:
        steps = makes_steps(generator.gi_code, {}, at.under_test)
        return [Touch(found[0], ALL, True), Touch(generator, ALL, True)] if steps else UNKNOWN
    for name in ("__enter__", "__exit__"):
        method = in_class(kind, name)
        if type(method) is not FunctionType or not function_makes_steps(method, at.under_test):
            return UNKNOWN
    return by_classes(kind, "__enter__") if not ours(kind.__enter__.__code__.co_filename) else []


def leave(at: At) -> Touches:
    """The end of a with statement by an exception: it calls the function that was looked up when it began."""
    found = at.top(5) or at.top(4)
    if found is None:
        return UNKNOWN
    for each in found[:2]:
        function = each.__func__ if type(each) is MethodType else each
        if type(function) is FunctionType and function_makes_steps(function, at.under_test):
            return []
        if type(each) is MethodType and (manager := contexts.left(each)) is not None:
            return [Touch(manager, ALL, True)]
        if type(each) is MethodType and type(function) is FunctionType:
            known = in_python.function(function, [each.__self__, type(found[-1])])
            return UNKNOWN if known is None else of_state(known)
    return UNKNOWN
