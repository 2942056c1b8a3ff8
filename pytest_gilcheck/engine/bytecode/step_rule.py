"""Which bytecode instructions are visible steps: all of them, except those that are known to touch nothing that is shared.

The exceptions and their reasons are in the table of instructions. Some exceptions have a condition, which a function here decides
for one instruction. An instruction that the table does not know is a step, so a new version of CPython can only add steps.

There is one more condition for all of them. An instruction that drops a reference may end the life of an object; that is visible to
a weak reference, and it runs a finalizer. Where code under test may notice the end of an object (`changing`), those are steps too.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType
from typing import Any, NamedTuple, Protocol

from .instructions import INSTRUCTIONS, ITERATOR_DEPTH, taken
from .operands import PRIVATE, Operand

GENERATOR = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
FIRST_IN_PLACE = 13  # the first argument of BINARY_OP that stands for an in-place operation
SUBSCRIPT = 26  # the argument of BINARY_OP that stands for a subscript, from 3.14 on
_LIST_TO_TUPLE, _STOP_ITERATION_ERROR, _UNARY_POSITIVE = 6, 3, 5  # arguments of CALL_INTRINSIC_1


class Names(Protocol):
    """What is known about names (`changing.Changing`)."""

    def attribute_changes(self, name: str, *, method: bool) -> bool:
        """Whether an attribute of this name may change while the threads run."""

    def global_changes(self, name: str) -> bool: ...

    def cell_changes(self, name: str) -> bool: ...


class Operation(NamedTuple):
    """One instruction.

    Attributes:
        argument, value: ``arg`` and ``argval`` of `dis.Instruction`.
        operands: what is known of the top of the stack; the last one is the topmost.
        code: where it is.
        names: what is known about names.
    """

    name: str
    argument: int
    value: Any
    operands: tuple[Operand, ...]
    code: CodeType
    names: Names

    def top(self, count: int) -> tuple[Operand, ...]:
        """The topmost operands; unknown ones where nothing is known."""
        known = self.operands[-count:] if count else ()
        return (Operand.UNKNOWN,) * (count - len(known)) + known

    def taken(self) -> tuple[Operand, ...]:
        """What it takes from the stack."""
        return self.top(taken(self.name, self.argument) or 0)


def _constant_name(operation: Operation) -> bool:
    name, names = operation.name, operation.names
    if name == "LOAD_GLOBAL":
        return not names.global_changes(operation.value)
    if name == "LOAD_DEREF":
        return not names.cell_changes(operation.value)
    return not names.attribute_changes(operation.value, method=loads_a_method(name, operation.argument))


def loads_a_method(name: str, argument: int) -> bool:
    """Whether an attribute is loaded to be called at once: beside it on the stack is its object, or a null."""
    found = INSTRUCTIONS[name].leaves
    return found == 2 or (not isinstance(found, int) and found(argument) == 2)


def _harmless_intrinsic(operation: Operation) -> bool:
    if operation.argument == _UNARY_POSITIVE:
        return operation.top(1)[0].immutable
    return operation.argument in (_LIST_TO_TUPLE, _STOP_ITERATION_ERROR)


_EXCEPTED: dict[str, Callable[[Operation], bool]] = {  # the conditions of `instructions.Unless`
    "never": lambda operation: False,
    "always": lambda operation: True,
    "immutable": lambda operation: all(operand.immutable for operand in operation.taken()),
    "immutable keys": lambda operation: all(operand.immutable for operand in operation.taken()[::2]),
    "private": lambda operation: operation.top(1)[0] in PRIVATE,
    "private iterator": lambda operation: operation.top(ITERATOR_DEPTH)[0] in (Operand.NUMBERS_ITERATOR, Operand.PRIVATE_ITERATOR),
    "constant name": _constant_name,
    "ends a function": lambda operation: not operation.code.co_flags & GENERATOR,
    "harmless": _harmless_intrinsic,
}


def touched(operation: Operation, *, ends_matter: bool) -> str | None:
    """``"read .x"``: the kind of access and what it touches; None if it touches nothing that other threads can see.

    Args:
        ends_matter: whether the end of an object may be noticed.
    """
    known = INSTRUCTIONS[operation.name]
    if not (ends_matter and known.drops) and _EXCEPTED[known.unless](operation):
        return None
    if operation.name == "BINARY_OP" and operation.argument >= FIRST_IN_PLACE and operation.argument != SUBSCRIPT:
        return "write []"
    return known.access.format(operation.value)
