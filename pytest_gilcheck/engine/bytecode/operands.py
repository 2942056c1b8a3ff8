"""What is known of the operands of an instruction: that they are immutable, or that only the frame's own stack refers to them.

This follows the values through the code of one function, along its jumps. Whatever is not certain is unknown. A local variable is
known only if every store to it stores such a value; parameters are unknown, and so is what other frames make. An instruction whose
effect on the stack is not listed here makes everything on it unknown.

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

from .instructions import kept
from .successors import Successors, successors_of

SCALARS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))


class Operand(Enum):
    """What is known of a value."""

    UNKNOWN = "any object, which other threads may reach"
    HELD = "any object, which other threads may reach, and to which a local of this frame refers as well"
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

# Instructions that take operands from the stack and leave nothing, ...
_CONSUMING = frozenset(
    {
        "POP_TOP", "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_SUBSCR", "STORE_SLICE", "DELETE_ATTR",
        "DELETE_SUBSCR", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE",
        "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_TRUE",
        "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_TRUE",
        "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", "END_FOR", "POP_ITER",
        "POP_EXCEPT",
    }
)  # fmt: skip
# ... that replace them by one value, ...
_MAKING = frozenset(
    {
        "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_NAME", "IMPORT_NAME", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "BUILD_MAP",
        "BUILD_CONST_KEY_MAP", "BUILD_SLICE", "CALL_FUNCTION_EX", "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT",
    }
)  # fmt: skip
# ... and by an immutable one if the operands are immutable, ...
_PURE = frozenset({"BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE"})
# ... or in any case: C makes a truth or a text of what the operand's methods return. (Not of what ``__format__`` returns, which may
# be of a class of its own.)
_IMMUTABLE_IN_ANY_CASE = frozenset(
    {
        "IS_OP", "CONTAINS_OP", "UNARY_NOT", "TO_BOOL", "BUILD_STRING", "CHECK_EXC_MATCH",
    }
)  # fmt: skip
_NEUTRAL = frozenset(
    {
        "NOP", "CACHE", "EXTENDED_ARG", "RESUME", "PRECALL", "KW_NAMES", "NOT_TAKEN", "JUMP_FORWARD", "JUMP_BACKWARD", "MAKE_CELL",
        "JUMP_BACKWARD_NO_INTERRUPT", "COPY_FREE_VARS", "DELETE_FAST", "DELETE_GLOBAL", "DELETE_NAME", "DELETE_DEREF",
    }
)  # fmt: skip
_REBINDING = frozenset(
    {
        "STORE_FAST", "STORE_FAST_MAYBE_NULL", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "DELETE_FAST",
        "LOAD_FAST_AND_CLEAR", "MAKE_CELL",
    }
)  # fmt: skip
_FRESH = frozenset({"BUILD_LIST", "BUILD_TUPLE", "BUILD_SET"})
ITERATOR_DEPTH = 1 + dis.stack_effect(dis.opmap["GET_ITER"], 0 if dis.opmap["GET_ITER"] in getattr(dis, "hasarg", ()) else None)
"""Where FOR_ITER finds the iterator: on top, and from 3.15 on below an index into what is iterated."""
_COMPARED_TO_BOOL = 16  # a bit of the argument of COMPARE_OP, from 3.13 on: the result is turned into a truth
_MOST_ROUNDS = 50  # no function has needed more than 5

Stack = tuple[Operand, ...]  # the topmost is last
ValueOf = Callable[[str], Any]  # the value of a global that nothing rebinds; an object of no known type if there is none
OperandOf = Callable[[str], Operand]  # what is known of that value


_known: dict[CodeType, tuple[dict[str, Operand], dict[int, Stack]]] = {}  # the globals asked for, and the result


def operands(code: CodeType, instructions: Sequence[dis.Instruction], value_of: ValueOf) -> dict[int, Stack]:
    """The stack before each instruction, by offset, as far as it is known."""
    known = _known.get(code)
    if known is not None and all(_global(value_of(name)) is operand for name, operand in known[0].items()):
        return known[1]
    asked: dict[str, Operand] = {}

    def operand_of(name: str) -> Operand:
        asked[name] = found = _global(value_of(name))
        return found

    return kept(_known, code, (asked, _followed(code, instructions, operand_of)))[1]


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
        if instruction.opname == "FOR_ITER":
            effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=True)
            return stack[:-1] if effect < 0 else (*stack, *[Operand.UNKNOWN] * effect)
        if instruction.opname in ("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"):
            return stack
        if instruction.opname in _CONSUMING or instruction.opname in _NEUTRAL:
            return after
        return (Operand.UNKNOWN,) * max(0, len(stack) + dis.stack_effect(instruction.opcode, instruction.arg, jump=True))

    def _after(self, instruction: dis.Instruction, stack: Stack) -> Stack:
        name, argument = instruction.opname, int(instruction.arg or 0)
        unknown = Operand.UNKNOWN
        if name in _REBINDING:
            stack = _let_go(stack)
        if name in _NEUTRAL:
            return stack
        if name in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL"):
            return (*stack, Operand.IMMUTABLE if immutable(instruction.argval) else unknown)
        if name in ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"):
            return (*stack, self._held(instruction.argval))
        if name == "LOAD_FAST_AND_CLEAR":
            return (*stack, self._local(instruction.argval))
        if name in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
            return (*stack, *[self._held(each) for each in instruction.argval])
        if name in ("STORE_FAST", "STORE_FAST_MAYBE_NULL"):
            return self._stored(instruction.argval, stack)
        if name == "STORE_FAST_LOAD_FAST":
            first, second = instruction.argval
            return (*self._stored(first, stack), self._held(second))
        if name == "STORE_FAST_STORE_FAST":
            first, second = instruction.argval
            return self._stored(second, self._stored(first, stack))
        if name == "COPY":
            copied = _at(stack, argument)
            copied = copied if copied is Operand.HELD else _kept(copied)
            return (*_replaced(stack, argument, copied), copied)
        if name == "SWAP":
            top, other = _at(stack, 1), _at(stack, argument)
            return _replaced(_replaced(stack, argument, top), 1, other)
        if name == "PUSH_NULL":
            return (*stack, unknown)
        effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if name == "LOAD_GLOBAL":
            return (*stack, *[self._operand_of(instruction.argval)] * effect)  # and a null, above or below
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            popped = 3 if name == "LOAD_SUPER_ATTR" else 1
            return (*_popped(stack, popped), *[unknown] * (effect + popped))
        if name == "GET_ITER":
            iterated = _at(stack, 1)
            iterator = Operand.PRIVATE_ITERATOR if iterated is Operand.FRESH else unknown
            if iterated in (Operand.NUMBERS, Operand.IMMUTABLE):
                iterator = Operand.NUMBERS_ITERATOR
            return (*_popped(stack, 1), iterator, *[unknown] * effect)
        if name == "FOR_ITER":
            return (*stack, Operand.IMMUTABLE if _at(stack, ITERATOR_DEPTH) is Operand.NUMBERS_ITERATOR else unknown)
        if name in ("UNPACK_SEQUENCE", "UNPACK_EX"):
            element = Operand.IMMUTABLE if name == "UNPACK_SEQUENCE" and _at(stack, 1).immutable else unknown
            return (*_popped(stack, 1), *[element] * (effect + 1))
        if name in ("CALL", "CALL_KW"):
            taken = argument + 2 if name == "CALL" else 1 - effect  # 3.11 divides the effect of a call between two instructions
            return (*_popped(stack, taken), self._result(name, stack, taken))
        if name in _CONSUMING:
            return _popped(stack, -effect)
        if name in _FRESH:
            return (*_popped(stack, 1 - effect), Operand.FRESH)
        if name in _PURE or name in _IMMUTABLE_IN_ANY_CASE:
            count = 1 - effect
            pure = name in _IMMUTABLE_IN_ANY_CASE or all(_at(stack, 1 + deep).immutable for deep in range(count))
            pure = pure or (name == "COMPARE_OP" and sys.version_info >= (3, 13) and bool(argument & _COMPARED_TO_BOOL))
            return (*_popped(stack, count), Operand.IMMUTABLE if pure else unknown)
        if name in _MAKING:
            return (*_popped(stack, 1 - effect), unknown)
        if name in ("BEFORE_WITH", "PUSH_EXC_INFO"):
            return (*_popped(stack, 1), unknown, unknown)
        return (unknown,) * max(0, len(stack) + effect)

    def _local(self, name: str) -> Operand:
        return Operand.UNKNOWN if name in self._unknown else self._locals.get(name, Operand.IMMUTABLE)

    def _held(self, name: str) -> Operand:
        """What is known of the value of a local, to which it goes on to refer."""
        found = self._local(name)
        return Operand.HELD if found is Operand.UNKNOWN else found

    def _stored(self, name: str, stack: Stack) -> Stack:
        value = _kept(_at(stack, 1))
        if value is Operand.UNKNOWN or self._locals.setdefault(name, value) is not value:
            self._unknown.add(name)
        return _popped(stack, 1)

    def _result(self, name: str, stack: Stack, taken: int) -> Operand:
        callee = {_at(stack, taken), _at(stack, taken - 1)}  # the callee is above a null, or below
        if name == "CALL" and Operand.RANGE_TYPE in callee:
            return Operand.NUMBERS
        return Operand.IMMUTABLE if name == "CALL" and Operand.PURE_FUNCTION in callee else Operand.UNKNOWN


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


def _let_go(stack: Stack) -> Stack:
    """What is known of the stack when a local is about to refer to something else, or to nothing."""
    return tuple([Operand.UNKNOWN if each is Operand.HELD else each for each in stack])


def _global(value: object) -> Operand:
    if value is range:
        return Operand.RANGE_TYPE
    if immutable(value):
        return Operand.IMMUTABLE
    return Operand.PURE_FUNCTION if any(value is known for known in _IMMUTABLE_RESULTS) else Operand.UNKNOWN
