"""The instructions of CPython 3.11 to 3.15, by their names in `dis`: the only place that lists them for the engine.

A row says what an instruction takes from the stack and leaves there, which locals it works on, what it touches as a visible step,
and when it is none. Each exception from being a step has its reason, in the comment above its rows: an argument for why no other
thread can notice when the instruction runs. An instruction without a row is a step, and makes all on the stack unknown. So a new
version of CPython can only add steps. `tests/engine/test_instructions.py` names what a new version needs here.

A row is about this interpreter. Of what an instruction looks at and leaves where it is, no row tells: ``LIST_APPEND`` takes the
element, not the list.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from typing import Literal, NamedTuple

_312, _313, _314, _315 = (sys.version_info >= (3, minor) for minor in (12, 13, 14, 15))

Count = int | Callable[[int], int]  # so many values, or so many by the argument
Unless = Literal[  # when an instruction is no visible step, as `step_rule` decides
    "never", "always", "immutable", "immutable keys", "private", "private iterator", "constant name", "ends a function", "harmless"
]
Known = Literal["", "immutable", "immutable if what it takes is", "fresh", "the same"]
Switch = Literal["", "here", "behind", "at its target"]


class InstructionRow(NamedTuple):
    """What is known of an instruction.

    Attributes:
        takes, leaves: of the stack.
        known: what is known of the values that it leaves (`operands.Operand`); nothing is known of others.
        locals: what it does with each local that it names: "l" loads, "s" stores, "c" loads and clears, "d" deletes, "m" puts into
            a cell.
        access: what it touches as a step: ``"read []"``, its kind and a name, where ``{}`` stands for the name that it has.
        unless: when it is no visible step.
        drops: whether it may drop the last reference to an object, if it is no step.
        event: whether the interpreter reports it; None if some versions do and others do not.
        switch: where a build with a GIL lets another thread run: before it, before the next one, or before its target.
        ends: whether the instruction behind it does not run next.
        leaves_at_target: of the stack, where it jumps; None if that is the same.
    """

    takes: Count
    leaves: Count
    known: Known = ""
    locals: str = ""
    access: str = "read []"
    unless: Unless = "never"
    drops: bool = False
    event: bool | None = True
    switch: Switch = ""
    ends: bool = False
    leaves_at_target: Count | None = None

    @property
    def stores(self) -> bool:
        """Whether it stores or deletes a name: an attribute, a global or a cell."""
        return self.access.startswith("write ") and self.access.endswith("{}")


class _Rows(dict[str, InstructionRow]):
    """By name; `NEW` for an instruction without a row. Not by ``get``: see `core.lookup`."""

    def __missing__(self, name: str) -> InstructionRow:
        return NEW


INSTRUCTIONS = _Rows()


def _rows(takes: Count, leaves: Count, *names: str, **others: object) -> None:
    for name in " ".join(names).split():
        INSTRUCTIONS[name] = InstructionRow(takes, leaves, **others)  # type: ignore[arg-type]


def _n(argument: int) -> int:
    return argument


def _keys_and_values(argument: int) -> int:
    return 2 * argument


def _one_or_two(argument: int) -> int:
    return 1 + (argument & 1)


def _callee_and(others: int) -> Count:
    return lambda argument: argument + others


_PER_VERSION: Count = _one_or_two if _312 else 1

# It copies references among the constants, the locals and the stack of one frame, which one thread runs.
_rows(0, 1, "LOAD_CONST LOAD_CONST_IMMORTAL LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_ASSERTION_ERROR LOAD_CLOSURE", unless="always")
_rows(0, 1, "LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK", locals="l", unless="always")
_rows(0, 2, "LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW", locals="ll", unless="always")
_rows(0, 1, "LOAD_FAST_AND_CLEAR", locals="c", unless="always")
_rows(_n, _callee_and(1), "COPY", unless="always")
_rows(_n, _n, "SWAP", unless="always")
_rows(0, 1, "PUSH_NULL", unless="always", event=False)
# It changes the locals or the stack of one frame, which one thread runs.
_rows(1, 0, "STORE_FAST STORE_FAST_MAYBE_NULL", locals="s", unless="always", drops=True)
_rows(1, 1, "STORE_FAST_LOAD_FAST", locals="sl", unless="always", drops=True)
_rows(2, 0, "STORE_FAST_STORE_FAST", locals="ss", unless="always", drops=True)
_rows(0, 0, "DELETE_FAST", known="the same", locals="d", unless="always", drops=True)
_rows(1, 0, "POP_TOP", unless="always", drops=True)
_rows(1 if _313 else 2, 0, "END_FOR", unless="always", drops=True, event=None)  # it has events where FOR_ITER has none of its own
_rows(2 if _315 else 1, 0, "POP_ITER", unless="always", drops=True, event=None)
# It changes nothing but the place at which the frame goes on.
_rows(0, 0, "NOP CACHE EXTENDED_ARG PRECALL KW_NAMES", known="the same", unless="always", event=False)
_rows(0, 0, "RESUME", known="the same", unless="always", switch="behind")
_rows(0, 0, "NOT_TAKEN", known="the same", unless="always")
_rows(0, 0, "JUMP_FORWARD JUMP_BACKWARD_NO_INTERRUPT", known="the same", unless="always", ends=True)
_rows(0, 0, "JUMP_BACKWARD", known="the same", unless="always", switch="here", ends=True)
# It compares identities, which nothing can change.
_rows(2, 1, "IS_OP", known="immutable", unless="always", drops=True)
_rows(1, 0, "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE", unless="always", drops=True)
_rows(1, 0, "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE", unless="always", drops=True)
_rows(1, 0, "POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE", unless="always", drops=True, switch="at its target")
# It makes or fills an object that only this frame's stack refers to, and reads none of its elements.
_rows(_n, 1, "BUILD_LIST BUILD_TUPLE", known="fresh", unless="always")
_rows(_n if _314 else lambda argument: 3 if argument == 3 else 2, 1, "BUILD_SLICE", unless="always")
_rows(_callee_and(1), 1, "BUILD_CONST_KEY_MAP", unless="always")
_rows(1, 1, "LIST_TO_TUPLE", unless="always")
_rows(1, 0, "LIST_APPEND", unless="always")
_rows(_n, 1, "BUILD_STRING", known="immutable", unless="always")  # of texts that FORMAT instructions have just made
# It makes an object that only this frame refers to, of code, cells and defaults that it does not read.
_rows(0, 0, "MAKE_CELL", known="the same", locals="m", unless="always")
_rows(0, 0, "COPY_FREE_VARS", known="the same", unless="always")
_rows(1 if _313 else lambda argument: 1 + (argument & 15).bit_count(), 1, "MAKE_FUNCTION", unless="always")
_rows(2, 1, "SET_FUNCTION_ATTRIBUTE", unless="always")
_rows(0, 1, "RETURN_GENERATOR", unless="always")  # what is sent to it, where the generator goes on
# It changes the thread's own exception state; it compares types by their bases, and runs no code of theirs.
_rows(1, 2, "PUSH_EXC_INFO", unless="always")
_rows(1, 0, "POP_EXCEPT", unless="always", drops=True)
_rows(1, 1, "CHECK_EXC_MATCH", known="immutable", unless="always", drops=True)

# No code that has run beside the threads stores this name, by any of the ways in which a name can be stored.
_rows(1, _PER_VERSION, "LOAD_ATTR", access="read .{}", unless="constant name", drops=True)
_rows(1, 2, "LOAD_METHOD", access="read .{}", unless="constant name", drops=True)
_rows(3, _one_or_two, "LOAD_SUPER_ATTR", access="read .{}", unless="constant name", drops=True)
_rows(0, _one_or_two, "LOAD_GLOBAL", access="read global {}", unless="constant name")
_rows(0, 1, "LOAD_DEREF", access="read cell {}", unless="constant name")
# Its operands are numbers, texts, None and tuples of these: no thread can change them, and their operators are pure.
_rows(2, 1, "BINARY_OP BINARY_SUBSCR COMPARE_OP", known="immutable if what it takes is", unless="immutable")
_rows(3, 1, "BINARY_SLICE", known="immutable if what it takes is", unless="immutable")
_rows(2, 1, "CONTAINS_OP", known="immutable", unless="immutable")
_rows(1, 1, "UNARY_NEGATIVE UNARY_INVERT UNARY_POSITIVE", known="immutable if what it takes is", unless="immutable")
_rows(1, 1, "UNARY_NOT TO_BOOL", known="immutable", unless="immutable")
_rows(1, 0, "JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP", unless="immutable", leaves_at_target=1)
_rows(1, 0, "POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE", unless="immutable")
_rows(1, 0, "POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE", unless="immutable", switch="at its target")
_rows(1, 0, "POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE", unless="always" if _313 else "immutable")  # TO_BOOL comes before, which is a step
_rows(1, 1, "FORMAT_SIMPLE CONVERT_VALUE", unless="immutable")  # what ``__format__`` returns may be of a class of its own
_rows(2, 1, "FORMAT_WITH_SPEC", unless="immutable")
_rows(lambda argument: 2 if argument & 4 else 1, 1, "FORMAT_VALUE", unless="immutable")
# It refers to its elements without reading them, and hashes the keys alone, which are immutable.
_rows(_keys_and_values, 1, "BUILD_MAP", unless="immutable keys")
_rows(2, 0, "MAP_ADD", unless="immutable keys")
_rows(_n, 1, "BUILD_SET", known="fresh", unless="immutable")
_rows(1, 0, "SET_ADD", unless="immutable")
# It reads a constant, a range, or an object that only this frame's stack refers to, or takes from an iterator over these.
_rows(1, 2 if _315 else 1, "GET_ITER", unless="private", drops=True)
_rows(1, 0, "LIST_EXTEND", unless="private", drops=True)
_rows(1, _n, "UNPACK_SEQUENCE", unless="private", drops=True)
_rows(1, lambda argument: (argument & 255) + (argument >> 8) + 1, "UNPACK_EX", unless="private", drops=True)
_rows(2 if _315 else 1, 3 if _315 else 2, "FOR_ITER", unless="private iterator", drops=True, leaves_at_target=None if _312 else 0)
# It ends a frame that no other thread can resume; the end of a generator can be seen.
_rows(1, 1 if _314 else 0, "RETURN_VALUE", access="write []", unless="ends a function", drops=True, ends=True)
_rows(0, 0, "RETURN_CONST", access="write []", unless="ends a function", drops=True, ends=True)
# It makes a tuple of the list of arguments, or an exception, that only this frame refers to; or its operand is immutable.
_rows(1, 1, "CALL_INTRINSIC_1", unless="harmless")

# What these touch is always visible, or it is not known that it is not.
_rows(1, 0, "SET_UPDATE DICT_UPDATE DICT_MERGE")
_rows(1, 2, "BEFORE_WITH BEFORE_ASYNC_WITH LOAD_SPECIAL")
_rows(0, 1, "WITH_EXCEPT_START GET_LEN MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS IMPORT_FROM LOAD_BUILD_CLASS LOAD_LOCALS")
_rows(0, 1, "LOAD_CLASSDEREF")
_rows(1, 1, "LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS GET_YIELD_FROM_ITER GET_AITER GET_AWAITABLE")
_rows(1, 2, "GET_ANEXT")
_rows(3, 1, "MATCH_CLASS")
_rows(2, 2, "CHECK_EG_MATCH")
_rows(2, 1, "IMPORT_NAME CALL_INTRINSIC_2 BUILD_TEMPLATE")
_rows(lambda argument: 2 + (argument & 1), 1, "BUILD_INTERPOLATION")
_rows(_n, 0, "RAISE_VARARGS", ends=True)
_rows(0, 0, "ANNOTATIONS_PLACEHOLDER", known="the same")
_rows(_callee_and(2), 1, "CALL", access="call call", switch="" if _312 else "behind")
_rows(_callee_and(3), 1, "CALL_KW", access="call call")
_rows(4 if _314 else lambda argument: 3 + (argument & 1), 1, "CALL_FUNCTION_EX", switch="" if _312 else "behind")
_rows(2, 0, "STORE_ATTR", access="write .{}")
_rows(1, 0, "DELETE_ATTR", access="write .{}")
_rows(0, 1, "LOAD_NAME", access="read global {}")
_rows(1, 0, "STORE_GLOBAL STORE_NAME", access="write global {}")
_rows(0, 0, "DELETE_GLOBAL DELETE_NAME", known="the same", access="write global {}")
_rows(1, 0, "STORE_DEREF", access="write cell {}")
_rows(0, 0, "DELETE_DEREF", known="the same", access="write cell {}")
_rows(3, 0, "STORE_SUBSCR", access="write []")
_rows(4, 0, "STORE_SLICE", access="write []")
_rows(2, 0, "DELETE_SUBSCR END_ASYNC_FOR", access="write []")
_rows(2, 2, "SEND", access="write []", leaves_at_target=None if _312 else 1)
_rows(1, 1, "YIELD_VALUE ASYNC_GEN_WRAP", access="write []")
_rows(3 if _315 else 2, 1, "END_SEND", access="write []")
_rows(4 if _315 else 3, 3 if _315 else 2, "CLEANUP_THROW", access="write []")
_rows(1, 0, "RERAISE", access="write []", ends=True)
_rows(2, 1, "PREP_RERAISE_STAR", access="write []")
_rows(1, 0, "PRINT_EXPR IMPORT_STAR EXIT_INIT_CHECK INTERPRETER_EXIT", access="write []")
_rows(0, 0, "SETUP_ANNOTATIONS ENTER_EXECUTOR TRACE_RECORD RESERVED", access="write []")

NEW = InstructionRow(0, 0)  # of an instruction without a row; what it takes and leaves is not known
JUMPS = frozenset(name for name in INSTRUCTIONS if "JUMP" in name or name in ("FOR_ITER", "SEND"))
CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
ITERATOR_DEPTH = 2 if _315 else 1
"""Where FOR_ITER finds the iterator: on top, and from 3.15 on below an index into what is iterated."""


def taken(name: str, argument: int) -> int | None:
    """How many values an instruction takes from the stack; None if that is not known."""
    return _counted(INSTRUCTIONS[name].takes, argument) if name in INSTRUCTIONS else None


def effect(name: str, argument: int | None, *, jump: bool) -> int:
    """By how many values the stack grows in an instruction."""
    if name not in INSTRUCTIONS:
        return dis.stack_effect(dis.opmap[name], argument, jump=jump)
    found = INSTRUCTIONS[name]
    leaves = found.leaves if not jump or found.leaves_at_target is None else found.leaves_at_target
    return _counted(leaves, argument or 0) - _counted(found.takes, argument or 0)


def _counted(count: Count, argument: int) -> int:
    return count if isinstance(count, int) else count(argument)
