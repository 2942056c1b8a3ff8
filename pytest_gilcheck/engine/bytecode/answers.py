"""What is touched by asking for a truth value: a test of truth, or whether an element is there; and who surely answers with one."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable
from inspect import CO_GENERATOR
from types import CodeType, FunctionType
from typing import Any

from ...core.classes import in_class
from ...core.lookup import looked_up
from .attributes import by_classes
from .code_facts import instructions_of
from .elements import asked, interrupted, into, whole
from .keyed import behind_a_proxy, key_part
from .operands import immutable
from .operators import calls_code, kind_of
from .quiet_keys import keys_compare_quietly
from .touch import CONTAINERS, DICTS, SETS, SIZE, UNKNOWN, Touch, Touches, UnderTest, both


def truth_of(thing: Any, under_test: UnderTest) -> Touches:
    kind = kind_of(thing, asks="__bool__")
    if kind in (list, dict, set, collections.deque):
        return [Touch(thing, SIZE, False)]
    method = next((name for name in ("__bool__", "__len__") if in_class(kind, name) is not None), None)
    if method is None:
        return by_classes(kind, "__bool__")
    if calls_code(kind, method, under_test):
        return []
    return into(thing, under_test, 0) if kind not in CONTAINERS else whole(thing)


def sought(container: Any, key: Any, under_test: UnderTest) -> Touches:
    container = behind_a_proxy(container)
    kind = kind_of(container, asks="__contains__")
    if kind in DICTS or kind in SETS or kind is collections.Counter:
        part = key_part(key, under_test)
        return UNKNOWN if part is None or not keys_compare_quietly(container) else [Touch(container, part, False)]
    if interrupted((container, key), under_test):
        return UNKNOWN
    if calls_code(kind, "__contains__", under_test) and answers_with_truths(kind, ["__contains__"]):
        return []
    if in_class(kind, "__contains__") is not None and answers_with_truths(kind, ["__contains__"]):
        return both(into(container, under_test), asked(key, under_test))
    return both(asked(container, under_test), asked(key, under_test))


def answers_with_truths(kind: type, names: Iterable[str]) -> bool:
    """Whether these methods of a class, if it has them, surely return a truth value, of which nobody reads more."""
    return all(
        type(found) is not FunctionType or ("NotImplemented" not in found.__globals__ and returns_truths(found.__code__))
        for found in (in_class(kind, name) for name in names)
    )


_TRUTHS = frozenset({"CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"})


def returns_truths(code: CodeType) -> bool:
    key = id(code)
    known = looked_up(_of_truths, key)
    if known is None:
        instructions = [each for each in instructions_of(code) if each.opname not in ("EXTENDED_ARG", "CACHE")]
        plain = True
        for before, each in itertools.pairwise(instructions):
            if each.opname == "RETURN_VALUE":
                constant = before.opname.startswith("LOAD_CONST") and immutable(before.argval)
                nothing = before.opname == "LOAD_GLOBAL" and before.argval == "NotImplemented"
                plain = plain and not each.is_jump_target and (constant or nothing or before.opname in _TRUTHS)
        known = _of_truths[id(code)] = code, plain and not code.co_flags & CO_GENERATOR
    return known[1]


_of_truths: dict[int, tuple[CodeType, bool]] = {}  # with a reference to the code, so that its id stays in use
