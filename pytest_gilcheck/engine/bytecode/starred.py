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
from .instructions import INSTRUCTIONS, taken


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
        takes = taken(one.opname, int(one.arg or 0))
        if instructions[index + 1].is_jump_target or takes is None or one.offset not in depths:
            return ""
        if INSTRUCTIONS[one.opname].locals.strip("l"):  # the variable may refer to something else by now
            return ""
        left = depths[one.offset] - takes
        if left <= position:
            return _made_by(one, position - left)
    return ""


def _made_by(one: dis.Instruction, which: int) -> str | None:
    """Likewise, of the values that an instruction leaves on the stack, counted from 0."""
    if one.opname.startswith("LOAD_FAST"):
        return one.argval[which] if isinstance(one.argval, tuple) else str(one.argval)
    makes_tuple = one.opname == "BUILD_TUPLE" or (one.opname == "CALL_INTRINSIC_1" and "LIST_TO_TUPLE" in one.argrepr)
    return None if makes_tuple or (one.opname == "LOAD_CONST" and type(one.argval) is tuple) else ""
