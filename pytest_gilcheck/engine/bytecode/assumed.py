"""What a step of which it is not known what it touches does at least, and what of that is several steps without a GIL."""

from __future__ import annotations

import collections
import gc
import itertools
import sys
from types import BuiltinFunctionType, FrameType, GeneratorType, MethodType
from typing import Any

from . import torn, without_gil
from .elements import CHANGING, VIEWS
from .methods import READING_METHODS, SET_READING
from .operators import calls_code, container_of
from .rules.at import At
from .rules.calls import callee_of, unwrapped
from .stack import NOTHING, behind_the_star, topmost
from .touch import ALL, Touch, UnderTest


def assumed(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest, *, unpacks: bool = False) -> list[Touch]:
    """What a step of which it is not known what it touches does at least.

    It goes through the containers that are given to it, uses up the iterators, and changes the object whose method it is. A step
    that calls code under test is not among these.

    Args:
        unpacks: whether it is the step of a call with ``*`` that reads what is behind the star.
    """
    at = At(frame, name, argument, value, under_test)
    if name == "CALL_FUNCTION_EX" and unpacks:
        packed = behind_the_star(frame, 2 if sys.version_info >= (3, 14) or argument & 1 else 1)
        if type(packed) not in (tuple, list):  # which is one step
            containers = [each for each in torn.sources_of(packed) if container_of(type(each)) in CHANGING]
            doer = torn.Doer(frozenset({"f(*x)"}), arguments=(packed,))
            return without_gil.with_torn([Touch(each, ALL, False) for each in containers], doer)
    if name.startswith("CALL"):
        call = callee_of(at)
        return [] if call is None else _of_call(*call, under_test)
    found = [each for each in topmost(frame, 2 if name in torn.OF_TWO else 1) if each is not NOTHING]
    if name == "FOR_ITER":
        return [Touch(each, ALL, True, torn=True) for each in found if torn.is_iterator(each)]
    viewed = [each for view in found if type(view) in VIEWS for each in gc.get_referents(view)]
    containers = [each for each in (*found, *viewed) if container_of(type(each)) in CHANGING]
    if name == "BINARY_SUBSCR" or at.sign == "[]":  # the factory of a defaultdict comes before the change
        return [Touch(each, ALL, True, torn=True) for each in containers if container_of(type(each)) is collections.defaultdict]
    changes = name in ("STORE_SUBSCR", "DELETE_SUBSCR")
    doer = torn.of_instruction(name, at.sign)._replace(arguments=tuple(found))
    return without_gil.with_torn([Touch(each, ALL, changes) for each in containers], doer)


def _of_call(callee: Any, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    callee, arguments = unwrapped(callee, arguments)
    if calls_code(type(callee), "__call__", under_test):
        return []
    doer = torn.of_call(callee, arguments)
    found: list[Touch] = []
    waiting = [doer.owner, *arguments]
    for each in itertools.islice(waiting, _MOST_ASSUMED):
        kind = type(each)
        if kind in VIEWS or kind is tuple:
            waiting += gc.get_referents(each)
        elif torn.is_iterator(each) or kind in torn.ITERATORS:  # or what the iterators of `tee` have in common
            waiting += gc.get_referents(each) if kind is not GeneratorType else []
            found.append(Touch(each, ALL, True))
        elif kind is BuiltinFunctionType or kind is MethodType:  # ``key=table.get``
            waiting.append(each.__self__)
        elif container_of(kind) in CHANGING:
            own = each is doer.owner and callee.__name__ not in READING_METHODS | SET_READING | {"get", "__copy__"}
            found.append(Touch(each, ALL, own or doer.changes))
    return without_gil.with_torn(found, doer)


_MOST_ASSUMED = 100
