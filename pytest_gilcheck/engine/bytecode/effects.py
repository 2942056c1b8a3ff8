"""What a visible step touches: objects, what of them, and whether it changes them, told from the operands of its instruction.

Attributes, names and elements of a plain key are exact; otherwise a container is a whole. A method in C changes its object,
unless its name is one that reads. Of any other call it is guessed (`Touch.guess`): it touches what its arguments are and lead to
(`reach`), and may change the containers and the objects in C among them. So a search tries too many conflicts rather than too few.
An instruction that calls code under test touches nothing by itself, because that code makes steps of its own.

`known_calls` is the table of what calls in C touch. Nothing here runs code of the program, nor asks its objects anything.
What does not work: to be exact. 3,400 lines of rules for single functions found no bug that these do not find.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from ...core.classes import in_class, is_a
from ...core.lookup import looked_up
from . import without_gil
from .at import At, callee_of
from .call_effects import touches_of_call
from .part_effects import touches_of_attribute, touches_of_classes, touches_of_element
from .reach import reached, role_of
from .stack import NOTHING, behind_the_star, local_of, locals_of, topmost
from .torn import Doer
from .touch import ALL, DICTS, UNKNOWN, Touch, Touches, UnderTest

Rule = Callable[[At], Touches]


def touches_of(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest, *, unpacks: bool = False) -> Touches:
    """What the instruction at which a frame is touches; `UNKNOWN` only if its operands cannot be told.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of the instruction.
        under_test: the predicate for files whose code makes steps of its own.
        unpacks: whether it is the step of a call that is about to read what is behind its star.
    """
    at = At(frame, name, argument, value, under_test)
    if unpacks and name == "CALL_FUNCTION_EX":
        packed = behind_the_star(frame, 2 if sys.version_info >= (3, 14) or argument & 1 else 1)
        if packed is not NOTHING and type(packed) is not tuple:
            return without_gil.with_torn(reached([packed], shallow=True), Doer(frozenset({"f(*x)"}), arguments=(packed,)))
    rule = looked_up(_RULES, name)
    if rule is None:
        return [Touch(frame.f_code, ALL, False, guess=True), *reached(_given(topmost(frame, 3)), guess=True)]
    found = rule(at)
    if not found or name in _CALLS:
        return found
    operands = (at.top(2) if name in ("BINARY_OP", "COMPARE_OP") else None) or ()
    return without_gil.by_instruction(found, name, at.sign, operands, at.top)


def _given(operands: tuple[Any, ...]) -> list[Any]:
    return [each for each in operands if each is not NOTHING]


# Calls.


def _called(at: At) -> Touches:
    found = callee_of(at)
    if found is not None:
        return touches_of_call(*found, at.under_test)
    return _of_unpacking(at) if at.name == "CALL_FUNCTION_EX" else UNKNOWN


def _of_unpacking(at: At) -> Touches:
    """What is behind a star is read before the call; after that, nobody can tell what the call is given."""
    found = at.top(3 + (sys.version_info >= (3, 14) or bool(at.argument & 1)))
    if found is None:
        return UNKNOWN
    first, second, packed, *_ = found
    if packed is not NOTHING:
        return without_gil.with_torn(reached([packed], shallow=True), Doer(frozenset({"f(*x)"}), arguments=(packed,)))
    callee, given = (second, []) if first is NOTHING else (first, _given((second,)))
    return touches_of_call(callee, given, at.under_test)


def _entered(at: At) -> Touches:
    """A with statement calls ``__enter__``, and finds ``__exit__``."""
    found = at.top(1)
    if found is None:
        return UNKNOWN
    enter = in_class(type(found[0]), "__enter__")
    return [] if enter is None else touches_of_call(enter, [found[0]], at.under_test)


def _left(at: At) -> Touches:
    """The end of a with statement by an exception."""
    found = at.top(5) or at.top(4)
    if found is None:
        return UNKNOWN
    callee = next((each for each in found[:2] if each is not NOTHING and in_class(type(each), "__call__") is not None), None)
    return UNKNOWN if callee is None else touches_of_call(callee, [found[-1]], at.under_test)


def _raised(at: At) -> Touches:
    found = at.top(at.argument if at.name == "RAISE_VARARGS" else 1) or ()
    errors = [Touch(each, ALL, True) for each in found if is_a(each, BaseException)]
    classes = [touches_of_call(each, [], at.under_test) for each in found if is_a(each, type)]
    return [*errors, *(touch for each in classes for touch in each or ())]


# Attributes and names.


def _of_attribute(verb: str) -> Rule:
    def rule(at: At) -> Touches:
        found = at.top(1)
        if found is None or found[0] is NOTHING:
            return UNKNOWN
        return touches_of_attribute(found[0], at.value, "delete" if at.name == "DELETE_ATTR" else verb, at.under_test)

    return rule


def _of_super(at: At) -> Touches:
    found = at.top(1)
    if found is None:
        return UNKNOWN
    return [
        *(touches_of_classes(found[0], at.value) if is_a(found[0], type) else []),
        *touches_of_classes(type(found[0]), at.value),
    ]


def _load_global(at: At) -> Touches:
    found = [Touch(at.frame.f_globals, at.value, False)]
    return found if at.value in at.frame.f_globals else [*found, Touch(at.frame.f_builtins, at.value, False)]


def _store_global(at: At) -> Touches:
    return [Touch(at.frame.f_globals, at.value, True)]


def _load_name(at: At) -> Touches:
    """The body of a class, and of a module, looks a name up where it stores to, and only then in the module."""
    return [Touch(locals_of(at.frame), at.value, False), *(_load_global(at) or ())]


def _store_name(at: At) -> Touches:
    return [Touch(locals_of(at.frame), at.value, True)]


def _cell(changes: bool) -> Rule:
    def rule(at: At) -> Touches:
        cell = local_of(at.frame, at.argument)
        return UNKNOWN if cell is NOTHING else [Touch(cell, "", changes)]

    return rule


def _imported(at: At) -> Touches:
    """An import of what has been imported looks it up; any other runs code, part of which makes no steps."""
    found, package = at.top(2), at.frame.f_globals.get("__package__")
    name = str(at.value)
    if found is not None and type(found[0]) is int and found[0] and type(package) is str:  # ``from .. import name``
        above = package.rsplit(".", found[0] - 1)[0]
        name = f"{above}.{name}" if name else above
    return [Touch(sys.modules, (name,), False)] if name in sys.modules else [Touch(sys.modules, ALL, True, guess=True)]


# Elements and iteration.


def _of_element(verb: str, operands: int) -> Rule:
    """``container[key]``. A value that is stored is the first operand, and a slice reads its elements."""

    def rule(at: At) -> Touches:
        found = at.top(operands)
        if found is None:
            return UNKNOWN
        container, key = (found[-3], slice(*found[-2:])) if "SLICE" in at.name else found[-2:]
        method = in_class(type(container), {"get": "__getitem__", "set": "__setitem__", "delete": "__delitem__"}[verb])
        if type(method) is FunctionType:
            return touches_of_call(method, [container, key], at.under_test)
        copied = [found[0]] if verb == "set" and type(key) is slice else []
        return [*touches_of_element(container, key, verb), *reached(copied, shallow=True)]

    return rule


def _operated(at: At) -> Touches:
    if at.sign == "[]":  # from 3.14 on
        return _RULES["BINARY_SUBSCR"](at)
    found = at.top(2)
    if found is None:
        return UNKNOWN
    return reached(found) if at.sign[-1:] != "=" else [*reached(found[:1], changes=True), *reached(found[1:])]


def _contains(at: At) -> Touches:
    found = at.top(2)
    if found is None:
        return UNKNOWN
    return touches_of_element(found[1], found[0], "get", asks=False) if type(found[1]) in DICTS else reached(found)


def _reads(operands: int, *, shallow: bool = False) -> Rule:
    def rule(at: At) -> Touches:
        found = at.top(operands)
        return UNKNOWN if found is None else reached(_given(found), shallow=shallow)

    return rule


def _begun(at: At) -> Touches:
    found = at.top(1)
    if found is None:
        return UNKNOWN
    return [] if role_of(found[0]).iterates or type(found[0]) is list else reached(found, shallow=True)


def _advanced(at: At) -> Touches:
    found = at.top(2 if at.name == "SEND" else 1)
    if found is not None and found[0] is NOTHING:  # from 3.15 on, an index or a null is above what is iterated
        found = at.top(2)
    return UNKNOWN if found is None or found[0] is NOTHING else reached(found[:1], shallow=True)


def _formatted(at: At) -> Touches:
    return _reads(2 if at.name == "FORMAT_WITH_SPEC" or (at.name == "FORMAT_VALUE" and at.argument & 4) else 1)(at)


def _keys(at: At) -> Touches:
    count = {"BUILD_MAP": 2 * at.argument, "BUILD_SET": at.argument, "MAP_ADD": 2, "SET_ADD": 1}[at.name]
    found = at.top(count) if count else ()
    return UNKNOWN if found is None else reached(found[:: 2 if "MAP" in at.name else 1])


def _match_keys(at: At) -> Touches:
    """A pattern of a mapping reads the elements of its keys, one after the other."""
    found = at.top(2)
    if found is None:
        return UNKNOWN
    subject, keys = found
    if type(subject) not in DICTS or type(keys) is not tuple:
        return reached([subject], shallow=True)
    return [touch for key in keys for touch in touches_of_element(subject, key, "get", asks=False)]


def _match_class(at: At) -> Touches:
    """A pattern of a class reads attributes, one after the other, in the middle of this."""
    found = at.top(3)
    if found is None or type(found[2]) is not tuple or not is_a(found[1], type):
        return UNKNOWN
    thing, kind, named = found
    if not is_a(thing, kind):
        return []
    by_place = in_class(kind, "__match_args__") if at.argument else ()
    names = (*(by_place[: at.argument] if type(by_place) is tuple else ()), *named)
    return [touch for name in names for touch in touches_of_attribute(thing, name, "get", at.under_test)]


def _nothing(at: At) -> Touches:
    return []


_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX", "BEFORE_WITH", "WITH_EXCEPT_START", "RAISE_VARARGS", "RERAISE"})
_RULES: dict[str, Rule] = {}
for _names, _rule in {
    "CALL CALL_KW CALL_FUNCTION_EX": _called,
    "BEFORE_WITH": _entered,
    "WITH_EXCEPT_START": _left,
    "RAISE_VARARGS RERAISE": _raised,
    "LOAD_ATTR LOAD_METHOD IMPORT_FROM": _of_attribute("get"),
    "STORE_ATTR DELETE_ATTR": _of_attribute("set"),
    "LOAD_SUPER_ATTR": _of_super,
    "LOAD_GLOBAL": _load_global,
    "LOAD_NAME": _load_name,
    "STORE_GLOBAL DELETE_GLOBAL": _store_global,
    "STORE_NAME DELETE_NAME": _store_name,
    "LOAD_DEREF": _cell(False),
    "STORE_DEREF DELETE_DEREF": _cell(True),
    "IMPORT_NAME": _imported,
    "BINARY_SUBSCR": _of_element("get", 2),
    "BINARY_SLICE": _of_element("get", 3),
    "STORE_SUBSCR": _of_element("set", 3),
    "STORE_SLICE": _of_element("set", 4),
    "DELETE_SUBSCR": _of_element("delete", 2),
    "BINARY_OP": _operated,
    "COMPARE_OP": _reads(2),
    "CONTAINS_OP": _contains,
    "UNARY_NEGATIVE UNARY_INVERT UNARY_POSITIVE": _reads(1),
    "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE": _formatted,
    "BUILD_MAP BUILD_SET MAP_ADD SET_ADD": _keys,
    "TO_BOOL UNARY_NOT POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE "
    "POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP": _reads(1, shallow=True),
    "GET_LEN LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE UNPACK_SEQUENCE UNPACK_EX": _reads(1, shallow=True),
    "GET_ITER GET_YIELD_FROM_ITER": _begun,
    "FOR_ITER SEND": _advanced,
    "MATCH_KEYS": _match_keys,
    "MATCH_CLASS": _match_class,
    "MATCH_MAPPING MATCH_SEQUENCE END_SEND LOAD_SPECIAL YIELD_VALUE RETURN_VALUE RETURN_CONST": _nothing,
}.items():
    _RULES |= dict.fromkeys(_names.split(), _rule)
