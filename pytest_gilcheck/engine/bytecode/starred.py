"""What is behind the star of a call: ``f(*these)``.

From 3.12 on the interpreter first makes a tuple of it, lets it go, and reports the call then; the stack still refers to what may be
gone. A tuple stays, and so does what a local variable refers to. The instruction that has put it there is found by what each one
takes from the stack; where that is not certain, or two ways lead to the call, what is behind the star counts as gone.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Mapping
from types import CodeType
from typing import NamedTuple

from .code_facts import instructions_of

# What instructions take from the stack that may come between the operand and the call: so many, ...
_TAKING = {
    "NOP": 0, "EXTENDED_ARG": 0, "CACHE": 0, "KW_NAMES": 0, "PUSH_NULL": 0, "LOAD_CONST": 0, "LOAD_CONST_IMMORTAL": 0,
    "LOAD_SMALL_INT": 0, "LOAD_GLOBAL": 0, "LOAD_DEREF": 0, "LOAD_NAME": 0, "LOAD_ATTR": 1, "LOAD_METHOD": 1, "DICT_MERGE": 1,
    "DICT_UPDATE": 1, "LIST_EXTEND": 1, "SET_UPDATE": 1, "LIST_APPEND": 1, "CALL_INTRINSIC_1": 1, "GET_ITER": 1, "TO_BOOL": 1,
    "UNARY_NEGATIVE": 1, "UNARY_NOT": 1, "UNARY_INVERT": 1, "CONVERT_VALUE": 1, "FORMAT_SIMPLE": 1, "BINARY_OP": 2,
    "BINARY_SUBSCR": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2, "IS_OP": 2, "FORMAT_WITH_SPEC": 2, "BINARY_SLICE": 3,
    "LOAD_SUPER_ATTR": 3,
}  # fmt: skip
# ... or so many beside their argument, of which each counts so often.
_TAKING_ARGUMENTS = {
    "BUILD_TUPLE": (0, 1), "BUILD_LIST": (0, 1), "BUILD_SET": (0, 1), "BUILD_STRING": (0, 1), "BUILD_SLICE": (0, 1),
    "BUILD_MAP": (0, 2), "BUILD_CONST_KEY_MAP": (1, 1), "CALL": (2, 1), "CALL_KW": (3, 1),
}  # fmt: skip


class Behind(NamedTuple):
    """An operand that may be gone.

    Attributes:
        place: from the top of the stack; the topmost is at 1.
        local: the variable that refers to it as well; empty if none does.
    """

    place: int
    local: str


def gone_of(code: CodeType, depths: Mapping[int, int]) -> dict[int, Behind]:
    """By the offset of a call, what is behind its star, unless that is a tuple which stays.

    Args:
        depths: the depth of the stack before each instruction, by offset.
    """
    if sys.version_info < (3, 12) or not depths:
        return {}
    instructions, found = instructions_of(code), {}
    for index, one in enumerate(instructions):
        if one.opname == "CALL_FUNCTION_EX" and one.offset in depths:
            place = 2 if sys.version_info >= (3, 14) or int(one.arg or 0) & 1 else 1
            local = _origin(instructions, index, depths[one.offset] - place, depths)
            if local is not None:
                found[one.offset] = Behind(place, local if local in code.co_varnames else "")
    return found


def _origin(instructions: list[dis.Instruction], call: int, position: int, depths: Mapping[int, int]) -> str | None:
    """The variable of which the operand at this position is the value; None if it is a tuple, and empty if it may be anything."""
    for index in range(call - 1, -1, -1):
        one = instructions[index]
        taken = _taken(one)
        if instructions[index + 1].is_jump_target or taken is None or one.offset not in depths:
            return ""
        left = depths[one.offset] - taken
        if left <= position:
            return _made_by(one, position - left)
    return ""


def _taken(one: dis.Instruction) -> int | None:
    if one.opname.startswith("LOAD_FAST") and "CLEAR" not in one.opname:
        return 0
    beside, each = _TAKING_ARGUMENTS.get(one.opname, (0, 0))
    return _TAKING.get(one.opname) if not each else beside + each * int(one.arg or 0)


def _made_by(one: dis.Instruction, which: int) -> str | None:
    """Likewise, of the values that an instruction leaves on the stack, counted from 0."""
    if one.opname.startswith("LOAD_FAST"):
        return one.argval[which] if isinstance(one.argval, tuple) else str(one.argval)
    makes_tuple = one.opname == "BUILD_TUPLE" or (one.opname == "CALL_INTRINSIC_1" and "LIST_TO_TUPLE" in one.argrepr)
    return None if makes_tuple or (one.opname == "LOAD_CONST" and type(one.argval) is tuple) else ""
