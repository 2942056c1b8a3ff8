"""Which operation iterates? Goes from the frame that called `__iter__` to the name of the operation.

An `__iter__` written in Python is called from C, and C leaves no frame. But the next frame made the C call: that is its current
instruction, and its stack still has what is called and with what (`stack`). Where the stack is not known, or the container is not
on it, there is no answer. This asks no object of the program anything.

What does not work: the CALL event of ``sys.monitoring`` (from 3.12 on, and only in code that the engine monitors, so not in the
standard library); telling operations by what they ask for (``list``, ``tuple`` and ``sorted`` ask for a length first, the others
look alike); the source text (names may stand for other things by now, and of the result of a function it says nothing).
"""

from __future__ import annotations

import gc
import itertools
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any, NamedTuple

from ...core.classes import bases_of, full_name_of_class, names_of
from ...core.origin import ours, under_test
from .c_operations import LAZY, READINGS
from .code_facts import instruction_at, instructions_of
from .stack import NOTHING, beside_callee, operands_of, refers_to

_SYNTAX = {
    "GET_ITER": "for", "GET_YIELD_FROM_ITER": "for", "UNPACK_SEQUENCE": "a, *b = x", "UNPACK_EX": "a, *b = x",
    "LIST_EXTEND": "[*x]", "SET_UPDATE": "{*x}", "DICT_UPDATE": "{**x}", "DICT_MERGE": "f(**x)",
    "STORE_SLICE": "y[:] = x", "STORE_SUBSCR": "y[:] = x", "CONTAINS_OP": "in", "BINARY_OP": "+=",
}  # fmt: skip
_ONE_FOR_ONE = frozenset({"enumerate", "iter", "reversed"})  # each element that they yield is one that they read
_CALLING = (map, itertools.starmap)  # the function that they call may be the one that iterates
_IN_CLASSES = (MethodDescriptorType, ClassMethodDescriptorType)  # a class in Python may have a method of the same name
_NAMES = LAZY.union(reading.consumer for reading in READINGS)


class Consumer(NamedTuple):
    """The operation that iterates over a container.

    Attributes:
        name: as `c_operations` has it.
        lazy: whether it reads elements after the call as well.
        loop: whether it is a loop of Python code.
        fresh: whether the engine has had a step right before the first element, so that no switch point is needed there.
        seen: whether the engine has a step of its own for every element.
        whole: whether the argument is the owner of the view that is iterated: ``json.dumps(d)`` iterates over ``d.items()``.
    """

    name: str
    lazy: bool = False
    loop: bool = False
    fresh: bool = False
    seen: bool = False
    whole: bool = False


def consumer(frame: FrameType, container: object, owner: object) -> Consumer | None:
    """The operation that iterates over ``container``, a container or a view of ``owner``, in this frame; None if unknown."""
    code = frame.f_code
    if ours(code.co_filename):
        return None
    stepped = under_test(code.co_filename)
    opname, argument, _ = instruction_at(code, frame.f_lasti)
    if opname in _SYNTAX:
        name = _SYNTAX[opname]
        loop = name == "for"
        return Consumer(name, lazy=loop, loop=loop, fresh=stepped, seen=loop and stepped)
    found, whole = _of_call(frame, opname, argument, container, owner)
    if found is None:
        return None
    lazy = found in LAZY
    return Consumer(
        found,
        whole=whole,
        lazy=lazy,
        loop=found == "object.__reduce_ex__",  # the copy module loops over its result
        fresh=stepped and not lazy,
        seen=stepped and found in _ONE_FOR_ONE and _is_looped_over(code, frame.f_lasti),
    )


def _of_call(frame: FrameType, opname: str, argument: int, container: object, owner: object) -> tuple[str | None, bool]:
    """The name of the call that a frame makes, and whether its argument is the owner of the view that it iterates over."""
    beside = beside_callee(opname, argument)
    if beside is None:
        return None, False
    if opname == "CALL_FUNCTION_EX" and refers_to(frame, beside, container):
        return "f(*x)", False
    found = operands_of(frame, beside + 2)
    if found is None:
        return None, False
    callee, bound, *arguments = found if found[0] is not NOTHING else (found[1], NOTHING, *found[2:])
    own = bound is container or bound is owner
    if not own and issubclass(type(callee), BuiltinFunctionType):
        own = callee.__self__ is container or callee.__self__ is owner
    if own:
        return (_named(callee) if bound is NOTHING else None) or f"x.{callee.__name__}", owner is not container
    if opname == "CALL_FUNCTION_EX":  # what is behind the star may be gone; then it may have been anything
        given = arguments[0]
        arguments = [container] if given is NOTHING else [*given, *arguments[1:]] if type(given) in (tuple, list) else arguments
    for each in arguments:
        if each is container or each is owner:
            return _named(callee), each is not container
    return "itertools.chain" if any(_is_chain_of_others(each) for each in arguments) else None, False


def _is_chain_of_others(thing: object) -> bool:
    """Whether this is a chain, which asks for each iterator only when it comes to it, and not of results that C makes meanwhile."""
    return type(thing) is itertools.chain and not any(type(each) in _CALLING for each in gc.get_referents(thing))


def _named(callee: Any) -> str | None:
    """The name that `c_operations` has for a callable; None if it has none."""
    kind = type(callee)
    if issubclass(kind, FunctionType):
        return None
    if issubclass(kind, type):
        name = full_name_of_class(callee)
    elif issubclass(kind, MethodDescriptorType):
        name = f"{full_name_of_class(callee.__objclass__)}.{callee.__name__}"
    elif not issubclass(kind, BuiltinFunctionType):
        name = full_name_of_class(kind)
    elif issubclass(type(owner := callee.__self__), (ModuleType, type(None))):
        name = f"{callee.__module__}.{callee.__name__}"
    else:
        kinds = bases_of(owner if issubclass(type(owner), type) else type(owner))
        defines = next((each for each in kinds if type(names_of(each).get(callee.__name__)) in _IN_CLASSES), object)
        name = f"{full_name_of_class(defines)}.{callee.__name__}"
    name = name.removeprefix("builtins.").removeprefix("_")  # functools.reduce is defined in _functools
    return name if name in _NAMES else None


def _is_looped_over(code: CodeType, offset: int) -> bool:
    """Whether a ``for`` runs over the result of a call."""
    following = [each.opname for each in instructions_of(code) if each.offset > offset and each.opname != "CALL"]
    return following[:1] == ["GET_ITER"]
