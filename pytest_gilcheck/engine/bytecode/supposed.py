"""What a step of which it is not known what it touches may well touch: what is given to it, and what that leads to.

This is for the search alone, and proves nothing. Without it, ``max(d, key=d.get)`` is in no conflict with the two steps of another
thread that store into ``d``, so nothing interrupts that thread between them.
"""

from __future__ import annotations

import gc
import itertools
from functools import partial
from sys import getrefcount
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from ...core.classes import dictionary_of, is_a, made_at_run_time, module_of_class
from . import torn
from .elements import CHANGING, VIEWS
from .methods import READING_METHODS, SET_READING
from .operators import calls_code, container_of
from .rules.at import At
from .rules.calls import callee_of, unwrapped
from .stack import NOTHING, topmost
from .touch import ALL, SCALARS, Touch, UnderTest

_MOST = 24  # objects, from what one step is given
_OPERANDS = 2
_CODE = (FunctionType, ModuleType, CodeType, FrameType, MethodType, GeneratorType, type)  # it makes steps of its own, if any
_METHODS = (MethodDescriptorType, WrapperDescriptorType)
_READING = READING_METHODS | SET_READING | {"get", "__getitem__", "__eq__", "__repr__", "__format__", "decode", "find", "hex"}


def supposed(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest) -> list[Touch]:
    """What the instruction at which a frame is may touch.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of it.
        under_test: the predicate for files whose code makes steps of its own.
    """
    at = At(frame, name, argument, value, under_test)
    if name.startswith("CALL"):
        call = callee_of(at)
        return [] if call is None else _of_call(*call, under_test)
    operands = [each for each in topmost(frame, _OPERANDS) if each is not NOTHING]
    if not operands:
        return []
    if name in ("STORE_ATTR", "DELETE_ATTR"):
        return [Touch(operands[-1], ALL if value == "__dict__" else value, True)]
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        return [] if value == "__dict__" else [Touch(operands[-1], value, False)]
    changed = operands[:1] if name in ("STORE_SUBSCR", "DELETE_SUBSCR") or at.sign[-1:] == "=" != at.sign[:1] else []
    changed = [each for each in changed if container_of(type(each)) in CHANGING]
    return [*(Touch(each, ALL, True) for each in changed), *led_to(operands)]


def _of_call(callee: Any, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    callee, arguments = unwrapped(callee, arguments)
    if calls_code(type(callee), "__call__", under_test):
        return []
    changed: list[Any] = []
    if type(callee) in (BuiltinFunctionType, MethodWrapperType) or (type(callee) in _METHODS and arguments):
        owner = arguments[0] if type(callee) in _METHODS else callee.__self__
        if callee.__name__ not in _READING:
            changed = [owner]
        arguments.insert(0, owner)  # not another list, which would be one more reference to each
        if torn.of_call(callee, arguments).changes:  # it is given what it changes
            changed += arguments
    changed = [each for each in changed if container_of(type(each)) in CHANGING]
    return [*(Touch(each, ALL, True) for each in changed), *led_to(arguments)]


def led_to(given: list[Any]) -> list[Touch]:
    """Reads of objects that the given ones lead to, breadth first; what is made for the step alone is left out."""
    found: list[Touch] = []
    waiting = list(given)
    seen: set[int] = set()
    for index, each in enumerate(waiting):
        if id(each) in seen or type(each) in SCALARS or is_a(each, _CODE) or _is_ours(each):
            continue
        seen.add(id(each))
        if len(seen) > _MOST:
            break
        kind = type(each)
        if kind is BuiltinFunctionType:
            waiting.append(each.__self__)  # ``key=table.get``
            continue
        if kind is dict and "__builtins__" in each:
            continue
        through = kind in VIEWS or kind is tuple or kind is partial or torn.is_iterator(each)
        if not through and getrefcount(each) > (_FOR_A_STEP if index < len(given) else _FOR_ITSELF):
            found.append(Touch(each, ALL, False))
        kept = dictionary_of(each) if made_at_run_time(kind) and container_of(kind) not in CHANGING else None
        leads = list(kept.values()) if kept else []
        waiting += itertools.islice((other for other in leads or gc.get_referents(each) if type(other) not in SCALARS), _MOST)
    return found


def _is_ours(thing: object) -> bool:
    """Whether it is a lock or the like of ours, which tells by itself what is done to it."""
    return module_of_class(type(thing)).partition(".")[0] in ("pytest_gilcheck", "_thread", "threading")


def _references(waiting: list[Any]) -> list[int]:
    return [getrefcount(each) for _, each in enumerate(waiting)]  # as `led_to` goes through it


_FOR_ITSELF = _references([[]])[0] + 1  # references to what only the object has in which it was found
_FOR_A_STEP = _FOR_ITSELF + 1  # what only the stack holds is in the given list as well
