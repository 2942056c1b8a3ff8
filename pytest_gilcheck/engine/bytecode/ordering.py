"""Functions by which C orders elements: ``sorted(rows, key=lambda row: row[1])``, ``max(hits, key=hits.get)``.

What such a function answers is compared in C. So it must be known that this is a number, a text or a tuple of such, or nobody
else's, if the elements are constants.
"""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from operator import itemgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType
from typing import Any

from ...core.lookup import looked_up
from .code_facts import instructions_of
from .operands import SCALARS, immutable

_KINDS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, itemgetter, type)
_PURE = (len, abs, str, int, float, bool, repr, ord, hash, round)
_PLAIN_CODE = frozenset({  # what makes a value of others, or calls a method of one
    "RESUME", "CACHE", "PRECALL", "NOP", "PUSH_NULL", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_CONST", "LOAD_SMALL_INT",
    "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "UNARY_NEGATIVE",
    "UNARY_NOT", "TO_BOOL", "COMPARE_OP", "BUILD_TUPLE", "LOAD_ATTR", "LOAD_METHOD", "CALL", "RETURN_VALUE", "RETURN_CONST",
    "SWAP", "COPY",
})  # fmt: skip
_plain: dict[int, tuple[CodeType, bool]] = {}  # with a reference to the code, so that its id stays in use


def key_among(arguments: list[Any]) -> Any:
    """The function of the further arguments of ``sorted``, ``min``, ``max`` or a sort; None if there is none."""
    others = [each for each in arguments if type(each) is not bool]  # ``reverse=``
    return others[0] if len(others) == 1 and type(others[0]) in _KINDS else None


def is_quiet(key: Any) -> bool:
    """Whether a function in C looks at the values of a constant alone, and answers with one, or with a part of it."""
    if type(key) is MethodDescriptorType:  # ``str.lower``
        return any(key.__objclass__ is each for each in SCALARS)
    if type(key) is itemgetter:
        return all(map(immutable, items_of(key)))
    return any(key is each for each in _PURE)


def items_of(getter: Any) -> tuple[Any, ...]:
    """What an `operator.itemgetter` looks up."""
    items: tuple[Any, ...] = getter.__reduce__()[1]
    return items


def table_of(key: Any) -> dict[Any, Any] | None:
    """The dict of which this is the method ``get``."""
    table = key.__self__ if type(key) is BuiltinFunctionType and key.__name__ == "get" else None
    return table if type(table) is dict else None


def answers_of_its_argument(function: FunctionType) -> bool:
    """Whether what a function answers is made of its one argument and of constants alone."""
    code = function.__code__
    key = id(code)
    known = looked_up(_plain, key)
    if known is None:
        instructions = instructions_of(code)
        one = code.co_argcount == 1 and not code.co_kwonlyargcount and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        plain = one and {each.opname for each in instructions} <= _PLAIN_CODE
        constants = all(immutable(each.argval) for each in instructions if each.opname == "LOAD_CONST")
        attributes = not any(name.startswith("_") for name in code.co_names)
        known = _plain[key] = code, plain and constants and attributes and not code.co_freevars and not code.co_cellvars
    return known[1]
