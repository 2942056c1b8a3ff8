"""The instruction at which a frame is, and what it calls."""

from __future__ import annotations

import opcode
import sys
from functools import partial
from types import FrameType, MethodType
from typing import Any, NamedTuple

from .stack import NOTHING, operands_of
from .touch import UnderTest

_OPERATORS = [sign for _, sign in vars(opcode)["_nb_ops"]]


class At(NamedTuple):
    """The instruction at which a frame is.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of it.
        under_test: the predicate for files whose code makes steps of its own.
    """

    frame: FrameType
    name: str
    argument: int
    value: Any
    under_test: UnderTest

    @property
    def sign(self) -> str:
        """That of an operator: ``"+="``."""
        if self.name == "BINARY_OP":
            return str(_OPERATORS[self.argument])
        return str(self.value).removeprefix("bool(").removesuffix(")") if self.name == "COMPARE_OP" else ""

    def top(self, count: int) -> tuple[Any, ...] | None:
        return operands_of(self.frame, count)


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
