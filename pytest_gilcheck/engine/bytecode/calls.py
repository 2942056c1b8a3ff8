"""Calls: which are visible steps, and after which the interpreter looks whether another thread wants the GIL.

A call is a step, except one whose callee is code under test, which makes steps of its own, or is known to touch nothing shared. It
goes by the callee itself, which an event of ``sys.monitoring`` names. Up to 3.11 only the source text of a call is known when it is
reached; then a call by a global name is judged by what that name stands for, and any other is a step.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Container
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

from ...core.classes import derived_from, in_class
from ...core.origin import of_test_tool, ours
from ...core.own_builtins import PutBack
from .library import makes_steps_always

_PACKAGE = __name__.partition(".")[0]
ANYTHING = object()  # an argument that may be any object
_PURE = {  # by id, as those below, because `in` would ask an object: they read nothing of their arguments but identity and type
    id(each): each
    for each in (slice, super, object)  # no id: it may be that of an object that has ended
}
_OF_ONE_IMMUTABLE = {id(each): each for each in (int, float, complex, str, bool, len, abs, repr, hash, ord, chr, round)}  # read it
_IMMUTABLE = frozenset({int, float, complex, str, bytes, bool, type(None)})
_IN_C = frozenset({BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType, ClassMethodDescriptorType})
PLAIN_ERRORS = tuple(  # they keep their arguments, and read none of them
    getattr(builtins, name)
    for name in (
        "BaseException", "Exception", "ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError",
        "FloatingPointError", "GeneratorExit", "IndexError", "KeyError", "KeyboardInterrupt", "LookupError", "MemoryError",
        "NotImplementedError", "OverflowError", "RecursionError", "ReferenceError", "RuntimeError", "StopAsyncIteration",
        "StopIteration", "TypeError", "UserWarning", "ValueError", "Warning", "ZeroDivisionError",
    )
)  # fmt: skip

CONTAINER_BASES = (OrderedDict, defaultdict, deque, list, dict, set)  # what others are derived from comes after these

UnderTest = Callable[[str], bool]

_WITHOUT_A_STEP = frozenset(  # of our locks: others see what they do, and they make no step of their own
    {"release", "__exit__", "_release_save", "_at_fork_reinit"}
)


def is_step(callee: object, first: object, under_test: UnderTest, *, alone: bool = False) -> bool:
    """Whether a call of ``callee`` is a visible step. This runs no code of the program, and asks no object of it.

    Args:
        first: the first argument.
        under_test: the predicate for files whose code makes steps of its own.
        alone: whether there is no other argument.
    """
    function = callee.__func__ if type(callee) is MethodType else callee
    if type(function) is FunctionType:
        if function.__name__ in _WITHOUT_A_STEP and ours(function.__code__.co_filename):
            return True
        return not function_makes_steps(function, under_test)
    if id(function) in _PURE or (function is type and alone):
        return False
    if function is range:  # C asks anything but a number for its `__index__`
        return type(first) not in _IMMUTABLE
    if alone and id(function) in _OF_ONE_IMMUTABLE and type(first) in _IMMUTABLE:
        return False
    if type(function) in _IN_C:
        return True
    if issubclass(type(function), type):
        return not made_by_steps(function, under_test)
    call = in_class(type(function), "__call__")
    return not (type(call) is FunctionType and function_makes_steps(call, under_test))


def hands_over(callee: object, under_test: UnderTest) -> bool:
    """Whether a call makes its arguments the locals of code under test, so that none ends before a step of that code."""
    function = callee.__func__ if type(callee) is MethodType else callee
    return type(function) is FunctionType and makes_steps(function.__code__, function.__globals__, under_test)


def makes_steps(code: CodeType, namespace: dict[str, Any], under_test: UnderTest) -> bool:
    """Whether code is under test. Code that was made from a text has no file; then it goes by its module."""
    file = code.co_filename
    if not under_test(file):
        return makes_steps_always(code)
    if not file.startswith("<") or file.startswith("<frozen "):
        return True
    module = str(namespace.get("__name__", ""))
    top = module.partition(".")[0]
    if top == _PACKAGE or of_test_tool(module) or module.startswith("namedtuple_"):
        return False
    return top not in sys.stdlib_module_names or top == "__main__"


def function_makes_steps(function: FunctionType, under_test: UnderTest) -> bool:
    return makes_steps(function.__code__, function.__globals__, under_test) or ours(function.__code__.co_filename)


def made_by_steps(kind: Any, under_test: UnderTest, *, by_type: bool = False) -> bool:
    """Whether an instance of a class is made by code under test alone, or by C that only keeps the arguments.

    Args:
        by_type: whether `type` makes it, whatever the metaclass does before.
    """
    if type(kind) is not type and not by_type and in_class(type(kind), "__call__") is not in_class(type, "__call__"):
        return False
    in_python = type(_maker(kind, "__new__")) is FunctionType
    answered = derived_from(kind) if in_python else (kind,)  # it may answer with an instance of a derived class
    plain = _CHANGES_NOTHING if in_python else _PLAIN_INITS  # and with one that others have, which an error changes
    made = _makes_by_steps(_maker(kind, "__new__"), PLAIN_NEWS, under_test)
    return made and all(_makes_by_steps(_maker(each, "__init__"), plain, under_test) for each in answered)


def _makes_by_steps(maker: Any, plain: Container[int], under_test: UnderTest) -> bool:
    return function_makes_steps(maker, under_test) if type(maker) is FunctionType else id(maker) in plain


def _maker(kind: type, name: str) -> Any:
    maker = in_class(kind, name)
    return maker.__func__ if type(maker) is staticmethod else maker


# By id; of classes that cannot change. A container reads its arguments when it is initialised.
_CHANGES_NOTHING = frozenset({id(in_class(object, "__init__"))})
_PLAIN_INITS = frozenset(id(in_class(base, "__init__")) for base in (object, *PLAIN_ERRORS))
PLAIN_NEWS = frozenset(id(in_class(base, "__new__")) for base in (object, *PLAIN_ERRORS, *CONTAINER_BASES))


def gil_is_checked_after(callee: object, under_test: UnderTest) -> bool:
    """Whether the interpreter checks, after such a call, for a request to release the GIL.

    This goes by the callee. After ``len``, ``isinstance``, ``type`` and ``list.append`` it checks only as long as the call is not
    specialised, which is as long as it has run a few times: in a real run that is enough for a failure.
    """
    function = callee.__func__ if type(callee) is MethodType else callee
    return type(function) is not FunctionType or not under_test(function.__code__.co_filename)


def global_callee(text: str) -> str | None:
    """The name in the source text of a call, if it calls a plain name: ``f`` of ``f(x)``, and nothing of ``f(x)(y)``."""
    call = _call(text)
    return call.func.id if call is not None and isinstance(call.func, ast.Name) else None


def first_argument(text: str) -> object:
    """The first argument in the source text of a call, if it is a constant; otherwise `ANYTHING`."""
    call = _call(text)
    return call.args[0].value if call is not None and call.args and isinstance(call.args[0], ast.Constant) else ANYTHING


def _call(text: str) -> ast.Call | None:
    try:
        with PutBack():
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Call) else None
