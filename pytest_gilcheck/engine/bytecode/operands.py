"""What is known of the operands of an instruction: that they are immutable, or that only the frame's own stack refers to them.

This follows the values through the code of one function, along its jumps. Whatever is not certain is unknown. A local variable is
known only if every store to it stores such a value; parameters are unknown, and so is what other frames make. An instruction that
is not in the table of `instructions` makes everything on the stack unknown.

Constants, results of operators on immutable operands, identities and truths are immutable. So is what the built-in functions of
`_IMMUTABLE_RESULTS` return, and a global whose value is immutable, as long as nothing rebinds their names.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any

from ...core.lookup import looked_up
from .code_facts import OfCode
from .instructions import INSTRUCTIONS, InstructionRow, effect, taken
from .successors import Successors, successors_of

SCALARS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))


class Operand(Enum):
    """What is known of a value."""

    UNKNOWN = "any object, which other threads may reach"
    IMMUTABLE = "a number, a text, None, or a tuple or frozen set of these"
    NUMBERS = "a range"
    FRESH = "a tuple, list or set of any objects, made in this frame, to which only its stack refers"
    NUMBERS_ITERATOR = "an iterator, of this frame's stack, that yields immutable values"
    PRIVATE_ITERATOR = "an iterator, of this frame's stack, over a fresh container"
    RANGE_TYPE = "the built-in range"
    PURE_FUNCTION = "a built-in function that returns an immutable value"

    @property
    def immutable(self) -> bool:
        return self is Operand.IMMUTABLE

    __hash__ = object.__hash__  # that of `Enum` is in Python: it looks `hash` up, which the program may have replaced


PRIVATE = frozenset({Operand.IMMUTABLE, Operand.NUMBERS, Operand.FRESH})
_IMMUTABLE_RESULTS = frozenset({len, int, float, bool, ord, chr, hash, id, isinstance, issubclass, callable})
_SURVIVES_STORING = frozenset({Operand.IMMUTABLE, Operand.NUMBERS, Operand.RANGE_TYPE, Operand.PURE_FUNCTION})
_COMPARED_TO_BOOL = 16  # a bit of the argument of COMPARE_OP, from 3.13 on: the result is turned into a truth
_MOST_ROUNDS = 50  # no function has needed more than 5

Stack = tuple[Operand, ...]  # the topmost is last
ValueOf = Callable[[str], Any]  # the value of a global that nothing rebinds; an object of no known type if there is none
OperandOf = Callable[[str], Operand]  # what is known of that value


def operands(code: CodeType, instructions: Sequence[dis.Instruction], value_of: ValueOf) -> dict[int, Stack]:
    """The stack before each instruction, by offset, as far as it is known."""
    known = _known(code)
    if known and all(_global(value_of(name)) is operand for name, operand in known[0][0].items()):
        return known[0][1]
    asked: dict[str, Operand] = {}

    def operand_of(name: str) -> Operand:
        asked[name] = found = _global(value_of(name))
        return found

    known[:] = [(asked, _followed(code, instructions, operand_of))]
    return known[0][1]


@OfCode
def _known(code: CodeType) -> list[tuple[dict[str, Operand], dict[int, Stack]]]:
    """The globals that were asked for last, and the result; nothing at first."""
    return []


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """The locals that a call binds, those of ``*`` and ``**`` included."""
    several = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]


def _followed(code: CodeType, instructions: Sequence[dis.Instruction], operand_of: OperandOf) -> dict[int, Stack]:
    unknown = set(parameters_of(code))
    successors = successors_of(code)
    for _ in range(_MOST_ROUNDS):
        before = len(unknown)
        found = _Flow(instructions, successors, unknown, operand_of).run()
        if len(unknown) == before:
            return found
    return {}


def immutable(value: object) -> bool:
    """Whether no thread can change a value, all the way down, and its operators are those of the built-in type."""
    if type(value) in (tuple, frozenset):
        return all(immutable(element) for element in value)  # type: ignore[attr-defined]
    return type(value) in SCALARS


class _Flow:
    """One pass along the jumps of a function.

    Args:
        unknown: the locals that may be anything; grows.
    """

    def __init__(
        self,
        instructions: Sequence[dis.Instruction],
        successors: Successors,
        unknown: set[str],
        operand_of: OperandOf,
    ) -> None:
        self._instructions, self._successors, self._unknown, self._operand_of = instructions, successors, unknown, operand_of
        self._before: dict[int, Stack] = {}
        self._locals: dict[str, Operand] = {}

    def run(self) -> dict[int, Stack]:
        waiting = [0]
        self._before[0] = ()
        while waiting:
            index = waiting.pop()
            instruction, stack = self._instructions[index], self._before[index]
            for handler, depth, with_offset in self._successors.handlers[index]:
                self._join(handler, (*stack[:depth], *[Operand.UNKNOWN] * (1 + with_offset)), waiting)
            after = self._after(instruction, stack)
            if (following := self._successors.next[index]) is not None:
                self._join(following, after, waiting)
            if (landing := self._successors.jump[index]) is not None:
                self._join(landing, self._jumped(instruction, stack, after), waiting)
        return {self._instructions[index].offset: stack for index, stack in self._before.items()}

    def _join(self, index: int, stack: Stack, waiting: list[int]) -> None:
        known = self._before.get(index)
        if known is None:
            self._before[index] = stack
            waiting.append(index)
            return
        same_depth = len(known) == len(stack)
        joined = tuple(one if one is other and same_depth else Operand.UNKNOWN for one, other in zip(known, stack, strict=False))
        if joined != known:
            self._before[index] = joined
            waiting.append(index)

    def _jumped(self, instruction: dis.Instruction, stack: Stack, after: Stack) -> Stack:
        """The stack after the jump of an instruction."""
        name, unknown = instruction.opname, Operand.UNKNOWN
        known, takes = INSTRUCTIONS[name], taken(name, int(instruction.arg or 0))
        more = effect(name, instruction.arg, jump=True)
        if takes is None:
            return (unknown,) * max(0, len(stack) + more)
        if known.leaves_at_target is None and name != "FOR_ITER":
            return after
        return stack if more == 0 else (*_popped(stack, takes), *[unknown] * (more + takes))

    def _after(self, instruction: dis.Instruction, stack: Stack) -> Stack:
        name, argument = instruction.opname, int(instruction.arg or 0)
        known, takes = INSTRUCTIONS[name], taken(name, argument)
        more = effect(name, instruction.arg, jump=False)
        if takes is None:
            return (Operand.UNKNOWN,) * max(0, len(stack) + more)
        if known.locals:
            return self._with_locals(known.locals, instruction.argval, stack)
        if known.known == "the same":
            return stack
        if name == "COPY":
            copied = _kept(_at(stack, argument))
            return (*_replaced(stack, argument, copied), copied)
        if name == "SWAP":
            top, other = _at(stack, 1), _at(stack, argument)
            return _replaced(_replaced(stack, argument, top), 1, other)
        if name == "FOR_ITER":  # the iterator stays
            return (*stack, Operand.IMMUTABLE if _at(stack, takes) is Operand.NUMBERS_ITERATOR else Operand.UNKNOWN)
        left = [self._made(known, instruction, stack, takes)] * (more + takes)
        if name == "GET_ITER":  # from 3.15 on, an index is above the iterator
            left[1:] = [Operand.UNKNOWN] * (len(left) - 1)
        return (*_popped(stack, takes), *left)

    def _with_locals(self, does: str, named: Any, stack: Stack) -> Stack:
        """The stack after an instruction that loads or stores locals, in this order."""
        for what, name in zip(does, named if isinstance(named, tuple) else (named,), strict=True):
            if what == "s":
                stack = self._stored(name, stack)
            elif what in "lc":
                stack = (*stack, self._local(name))
        return stack

    def _made(self, known: InstructionRow, instruction: dis.Instruction, stack: Stack, takes: int) -> Operand:
        """What is known of each value that an instruction leaves in the place of what it takes."""
        name, argument = instruction.opname, int(instruction.arg or 0)
        if name == "LOAD_GLOBAL":
            return self._operand_of(instruction.argval)  # and of a null, above or below
        if name.startswith("LOAD_CONST") or name == "LOAD_SMALL_INT":
            return Operand.IMMUTABLE if immutable(instruction.argval) else Operand.UNKNOWN
        if name == "GET_ITER":
            return looked_up(_ITERATORS, _at(stack, 1)) or Operand.UNKNOWN
        if name == "CALL":
            return _result({_at(stack, takes), _at(stack, takes - 1)})  # the callee is above a null, or below
        if name == "UNPACK_SEQUENCE" or known.known == "immutable if what it takes is":
            pure = all(_at(stack, 1 + deep).immutable for deep in range(takes))
            pure = pure or (name == "COMPARE_OP" and sys.version_info >= (3, 13) and bool(argument & _COMPARED_TO_BOOL))
            return Operand.IMMUTABLE if pure else Operand.UNKNOWN
        return looked_up(_KNOWN, known.known) or Operand.UNKNOWN

    def _local(self, name: str) -> Operand:
        return Operand.UNKNOWN if name in self._unknown else looked_up(self._locals, name) or Operand.IMMUTABLE

    def _stored(self, name: str, stack: Stack) -> Stack:
        value = _kept(_at(stack, 1))
        if value is Operand.UNKNOWN or self._locals.setdefault(name, value) is not value:
            self._unknown.add(name)
        return _popped(stack, 1)


_KNOWN = {"immutable": Operand.IMMUTABLE, "fresh": Operand.FRESH}
_ITERATORS = {
    Operand.FRESH: Operand.PRIVATE_ITERATOR,
    Operand.NUMBERS: Operand.NUMBERS_ITERATOR,
    Operand.IMMUTABLE: Operand.NUMBERS_ITERATOR,
}


def _result(callee: set[Operand]) -> Operand:
    if Operand.RANGE_TYPE in callee:
        return Operand.NUMBERS
    return Operand.IMMUTABLE if Operand.PURE_FUNCTION in callee else Operand.UNKNOWN


def _at(stack: Stack, depth: int) -> Operand:
    """The operand at this depth; the topmost is at 1."""
    return stack[-depth] if 0 < depth <= len(stack) else Operand.UNKNOWN


def _popped(stack: Stack, count: int) -> Stack:
    return stack[: max(0, len(stack) - count)]


def _replaced(stack: Stack, depth: int, value: Operand) -> Stack:
    if depth > len(stack):
        return stack
    return (*stack[: len(stack) - depth], value, *stack[len(stack) - depth + 1 :])


def _kept(value: Operand) -> Operand:
    """What is known of a value once there is another reference to it than the one on the stack."""
    return value if value in _SURVIVES_STORING else Operand.UNKNOWN


def _global(value: object) -> Operand:
    if value is range:
        return Operand.RANGE_TYPE
    if immutable(value):
        return Operand.IMMUTABLE
    return Operand.PURE_FUNCTION if any(value is known for known in _IMMUTABLE_RESULTS) else Operand.UNKNOWN
