"""What a visible step touches: objects, what of them, and whether it changes them, told from the operands of its instruction.

The answer is complete or it is `UNKNOWN`: two steps of which neither changes what the other touches commute, so the order of the
two makes no difference. What happens in C is known for the types and functions that are listed here, exactly those and no
subclasses. An instruction that calls code under test touches nothing by itself, because that code makes steps of its own. All the
rest is unknown: other functions in C, code of the standard library, instructions that are not listed.

Nothing here runs code of the program, nor asks its objects anything.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from ...core.lookup import looked_up
from . import without_gil
from .rules import calls, containers, iteration, matching, names, operators
from .rules.at import At, Rule
from .touch import UNKNOWN, Touches, UnderTest


def touches(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest) -> Touches:
    """What the instruction at which a frame is touches.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of the instruction.
        under_test: the predicate for files whose code makes steps of its own.
    """
    rule = looked_up(_RULES, name)
    if rule is None:
        return UNKNOWN
    at = At(frame, name, argument, value, under_test)
    found = rule(at)
    if not found:
        return found
    operands = (at.top(2) if name in ("BINARY_OP", "COMPARE_OP") else None) or ()
    return without_gil.by_instruction(found, name, at.sign, operands, at.top)


_RULES: dict[str, Rule] = {}
for _names, _rule in {
    "LOAD_ATTR LOAD_METHOD": names.load_attribute,
    "STORE_ATTR DELETE_ATTR": names.store_attribute,
    "LOAD_SUPER_ATTR": names.load_super_attribute,
    "LOAD_GLOBAL LOAD_NAME": names.load_global,
    "STORE_GLOBAL DELETE_GLOBAL": names.store_global,
    "LOAD_DEREF": names.cell(False),
    "STORE_DEREF DELETE_DEREF": names.cell(True),
    "BINARY_SUBSCR": containers.subscript,
    "STORE_SUBSCR DELETE_SUBSCR": containers.store_subscript,
    "BINARY_SLICE": containers.load_slice,
    "STORE_SLICE": containers.store_slice,
    "BINARY_OP": operators.binary,
    "COMPARE_OP": operators.compare,
    "CONTAINS_OP": operators.contains,
    "TO_BOOL UNARY_NOT POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE "
    "POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP": operators.truth,
    "UNARY_NEGATIVE UNARY_INVERT UNARY_POSITIVE": operators.unary,
    "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE": operators.formatted,
    "DICT_UPDATE DICT_MERGE": containers.merged,
    "GET_ITER GET_LEN LIST_EXTEND SET_UPDATE UNPACK_SEQUENCE UNPACK_EX": iteration.iterate,
    "FOR_ITER": iteration.advance,
    "MATCH_MAPPING MATCH_SEQUENCE": matching.matched,
    "MATCH_KEYS": matching.match_keys,
    "MATCH_CLASS": matching.match_class,
    "GET_YIELD_FROM_ITER": iteration.iterate,
    "SEND": iteration.sent,
    "END_SEND": iteration.nothing,
    "BEFORE_WITH LOAD_SPECIAL": calls.enter,
    "CALL CALL_KW": calls.call,
    "CALL_FUNCTION_EX": calls.call_with_packed,
    "RAISE_VARARGS RERAISE": calls.raised,
    "BUILD_MAP BUILD_SET MAP_ADD SET_ADD": containers.keys,
    "WITH_EXCEPT_START": calls.leave,
    "IMPORT_NAME": names.imported,
    "IMPORT_FROM": names.load_attribute,
    "YIELD_VALUE RETURN_VALUE RETURN_CONST": iteration.yielded,
}.items():
    _RULES |= dict.fromkeys(_names.split(), _rule)
