"""Which bytecode instructions are visible steps: all of them, except those that are known to touch nothing that is shared.

The table names every instruction of CPython 3.11 to 3.15. Most are steps. The others are excepted, and each exception has its
reason: an argument for why no other thread can notice when the instruction runs. Some exceptions have a condition, which a function
here decides for one instruction. An instruction that the table does not know is a step, so a new version of CPython can only add
steps.

There is one more condition for all of them. An instruction that drops a reference may end the life of an object; that is visible to
a weak reference, and it runs a finalizer. Where code under test may notice the end of an object (`changing`), those are steps too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType
from typing import Any, NamedTuple, Protocol

from .operands import ITERATOR_DEPTH, PRIVATE, Operand

_GENERATOR = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_FIRST_IN_PLACE = 13  # the first argument of BINARY_OP that stands for an in-place operation
_SUBSCRIPT = 26  # the argument of BINARY_OP that stands for a subscript, from 3.14 on
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
        ends: whether it may drop the last reference to an object, if it drops one.
    """

    name: str
    argument: int
    value: Any
    operands: tuple[Operand, ...]
    code: CodeType
    names: Names
    ends: bool = True

    def top(self, count: int) -> tuple[Operand, ...]:
        """The topmost operands; unknown ones where nothing is known."""
        known = self.operands[-count:] if count else ()
        return (Operand.UNKNOWN,) * (count - len(known)) + known


Known = Callable[[Operation], bool]


@dataclass(frozen=True)
class StepRule:
    """What an instruction touches.

    Attributes:
        access: ``"read []"``: its kind and what it touches, where ``{}`` stands for the instruction's own name.
        excepted: whether an instruction is known to touch nothing shared; None if that is never known.
        reason: why not, of the exception.
        drops: whether the excepted instruction may drop the last reference to an object.
    """

    access: str
    excepted: Known | None = None
    reason: str = ""
    drops: bool = False


def _always(operation: Operation) -> bool:
    return True


def _immutable(count: int) -> Known:
    """Whether so many operands are immutable all the way down."""
    return lambda operation: all(operand.immutable for operand in operation.top(count))


def _immutable_counted(operation: Operation) -> bool:
    return all(operand.immutable for operand in operation.top(operation.argument))


def _immutable_keys(operation: Operation) -> bool:
    return all(operand.immutable for operand in operation.top(2 * operation.argument)[::2])


def _immutable_format(operation: Operation) -> bool:  # FORMAT_VALUE has a format as well, or not
    return all(operand.immutable for operand in operation.top(2 if operation.argument & 4 else 1))


def _immutable_key_below(operation: Operation) -> bool:  # MAP_ADD: the key is below the value
    return operation.top(2)[0].immutable


def _private(operation: Operation) -> bool:
    return operation.top(1)[0] in PRIVATE


def _private_iterator(operation: Operation) -> bool:
    return operation.top(ITERATOR_DEPTH)[0] in (Operand.NUMBERS_ITERATOR, Operand.PRIVATE_ITERATOR)


def _truth_known(operation: Operation) -> bool:
    return sys.version_info >= (3, 13) or operation.top(1)[0].immutable  # from 3.13 on TO_BOOL comes before, which is a step


def _constant_attribute(operation: Operation) -> bool:
    super_or_attribute = operation.name in ("LOAD_ATTR", "LOAD_SUPER_ATTR") and sys.version_info >= (3, 12)
    method = bool(operation.argument & 1) if super_or_attribute else operation.name == "LOAD_METHOD"
    return not operation.names.attribute_changes(operation.value, method=method)


def _constant_global(operation: Operation) -> bool:
    return not operation.names.global_changes(operation.value)


def _constant_cell(operation: Operation) -> bool:
    return not operation.names.cell_changes(operation.value)


def _no_generator(operation: Operation) -> bool:
    return not operation.code.co_flags & _GENERATOR


def _harmless_intrinsic(operation: Operation) -> bool:
    if operation.argument == _UNARY_POSITIVE:
        return operation.top(1)[0].immutable
    return operation.argument in (_LIST_TO_TUPLE, _STOP_ITERATION_ERROR)


_IMMUTABLE = "its operands are numbers, texts, None and tuples of these: no thread can change them, and their operators are pure"
_TRUTH = f"the truth of a number, a text or None; {_IMMUTABLE}"
_KEYS = f"it refers to its elements without reading them, and hashes the keys alone; {_IMMUTABLE}"
_CONSTANT = "no code that has run beside the threads stores this name, by any of the ways in which a name can be stored"

# (instructions, reason, whether it may drop a reference), without a condition
_EXCEPTED: tuple[tuple[str, str, bool], ...] = (
    (
        "LOAD_CONST LOAD_CONST_IMMORTAL LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_ASSERTION_ERROR LOAD_FAST LOAD_FAST_BORROW "
        "LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_AND_CLEAR LOAD_CLOSURE "
        "COPY SWAP PUSH_NULL",
        "it copies references among the constants, the locals and the stack of one frame, which one thread runs",
        False,
    ),
    (
        "STORE_FAST STORE_FAST_MAYBE_NULL STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST POP_TOP END_FOR POP_ITER",
        "it changes the locals or the stack of one frame, which one thread runs",
        True,
    ),
    (
        "NOP CACHE EXTENDED_ARG RESUME PRECALL KW_NAMES NOT_TAKEN JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT",
        "it changes nothing but the place at which the frame goes on",
        False,
    ),
    (
        "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE "
        "POP_JUMP_BACKWARD_IF_NOT_NONE IS_OP",
        "it compares identities, which nothing can change",
        True,
    ),
    (
        "BUILD_LIST BUILD_TUPLE BUILD_SLICE BUILD_CONST_KEY_MAP LIST_TO_TUPLE LIST_APPEND",
        "it makes or fills an object that only this frame's stack refers to, and reads none of its elements",
        False,
    ),
    ("BUILD_STRING", "it joins texts that FORMAT instructions have just made", False),
    (
        "MAKE_CELL COPY_FREE_VARS MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE RETURN_GENERATOR",
        "it makes an object that only this frame refers to, of code, cells and defaults that it does not read",
        False,
    ),
    ("PUSH_EXC_INFO", "it changes the thread's own exception state", False),
    ("POP_EXCEPT", "it changes the thread's own exception state", True),
    ("CHECK_EXC_MATCH", "it compares types by their bases, and runs no code of theirs", True),
)

# (instructions, access, condition, reason, whether it may drop a reference)
_CONDITIONAL: tuple[tuple[str, str, Known, str, bool], ...] = (
    ("LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR", "read .{}", _constant_attribute, _CONSTANT, True),
    ("LOAD_GLOBAL", "read global {}", _constant_global, _CONSTANT, False),
    ("LOAD_DEREF", "read cell {}", _constant_cell, _CONSTANT, False),
    ("BINARY_OP COMPARE_OP CONTAINS_OP BINARY_SUBSCR", "read []", _immutable(2), _IMMUTABLE, False),
    ("BINARY_SLICE", "read []", _immutable(3), _IMMUTABLE, False),
    ("UNARY_NEGATIVE UNARY_INVERT UNARY_POSITIVE", "read []", _immutable(1), _IMMUTABLE, False),
    ("UNARY_NOT TO_BOOL JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP", "read []", _immutable(1), _TRUTH, False),
    (
        "POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE "
        "POP_JUMP_BACKWARD_IF_TRUE",
        "read []",
        _truth_known,
        _TRUTH,
        False,
    ),
    ("FORMAT_SIMPLE CONVERT_VALUE", "read []", _immutable(1), _IMMUTABLE, False),
    ("FORMAT_WITH_SPEC", "read []", _immutable(2), _IMMUTABLE, False),
    ("FORMAT_VALUE", "read []", _immutable_format, _IMMUTABLE, False),
    ("BUILD_MAP", "read []", _immutable_keys, _KEYS, False),
    ("BUILD_SET", "read []", _immutable_counted, _KEYS, False),
    ("MAP_ADD", "read []", _immutable_key_below, _KEYS, False),
    ("SET_ADD", "read []", _immutable(1), _KEYS, False),
    (
        "GET_ITER LIST_EXTEND UNPACK_SEQUENCE UNPACK_EX",
        "read []",
        _private,
        "it reads a constant, a range, or an object that only this frame's stack refers to",
        True,
    ),
    ("FOR_ITER", "read []", _private_iterator, "it takes from an iterator that only this frame's stack refers to", True),
    (
        "RETURN_VALUE RETURN_CONST",
        "write []",
        _no_generator,
        "it ends a frame that no other thread can resume; the end of a generator can be seen",
        True,
    ),
    (
        "CALL_INTRINSIC_1",
        "read []",
        _harmless_intrinsic,
        "it makes a tuple of the list of arguments, or an exception, that only this frame refers to; or its operand is immutable",
        False,
    ),
)

# What these touch is always visible, or it is not known that it is not.
_STEPS: dict[str, str] = {
    "read []": (
        "BEFORE_WITH BEFORE_ASYNC_WITH LOAD_SPECIAL WITH_EXCEPT_START CALL_FUNCTION_EX SET_UPDATE DICT_UPDATE DICT_MERGE GET_LEN "
        "MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS MATCH_CLASS "
        "CHECK_EG_MATCH GET_YIELD_FROM_ITER GET_AITER GET_ANEXT GET_AWAITABLE CALL_INTRINSIC_2 "
        "BUILD_INTERPOLATION BUILD_TEMPLATE RAISE_VARARGS LOAD_BUILD_CLASS LOAD_LOCALS LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF "
        "LOAD_FROM_DICT_OR_GLOBALS IMPORT_NAME IMPORT_FROM ANNOTATIONS_PLACEHOLDER"
    ),
    "write []": (
        "STORE_SUBSCR STORE_SLICE DELETE_SUBSCR SEND YIELD_VALUE END_SEND CLEANUP_THROW END_ASYNC_FOR TRACE_RECORD ASYNC_GEN_WRAP "
        "RERAISE PREP_RERAISE_STAR PRINT_EXPR IMPORT_STAR SETUP_ANNOTATIONS EXIT_INIT_CHECK INTERPRETER_EXIT "
        "ENTER_EXECUTOR RESERVED"
    ),
    "write .{}": "STORE_ATTR DELETE_ATTR",
    "read global {}": "LOAD_NAME",
    "write global {}": "STORE_GLOBAL DELETE_GLOBAL STORE_NAME DELETE_NAME",
    "write cell {}": "STORE_DEREF DELETE_DEREF",
    "call call": "CALL CALL_KW",
}

UNKNOWN = StepRule("read []")  # of an instruction that is not in the table


def _table() -> dict[str, StepRule]:
    table: dict[str, StepRule] = {}
    for names, reason, drops in _EXCEPTED:
        table |= {name: StepRule("read []", _always, reason, drops) for name in names.split()}
    for names, access, excepted, reason, drops in _CONDITIONAL:
        table |= {name: StepRule(access, excepted, reason, drops) for name in names.split()}
    for access, names in _STEPS.items():
        table |= {name: StepRule(access) for name in names.split()}
    return table


OPCODES = _table()


def touched(operation: Operation, *, ends_matter: bool) -> str | None:
    """``"read .x"``: the kind of access and what it touches; None if it touches nothing that other threads can see.

    Args:
        ends_matter: whether the end of an object may be noticed.
    """
    rule = OPCODES.get(operation.name, UNKNOWN)
    if rule.excepted is not None and not (ends_matter and rule.drops and operation.ends) and rule.excepted(operation):
        return None
    if operation.name == "BINARY_OP" and operation.argument >= _FIRST_IN_PLACE and operation.argument != _SUBSCRIPT:
        return "write []"
    return rule.access.format(operation.value)
