"""Which operation iterates? Goes from the frame that called `__iter__` to the name of the operation.

An `__iter__` written in Python is called from C, and C leaves no frame. But the next frame made the C call: its current instruction
is that call, and the instruction's position leads to the expression in the source. The names in the expression are looked up again,
because what counts is the object and not its name.

Where anything is uncertain, there is no answer: a caller without source text, a callee that another call returned. No lookup may
run code of the program, so properties are not read. An expression that may yield the container, such as the result of a function,
counts as the container. One that makes something new, such as `map(list, xs)`, does not: then the call is not what iterates.

What does not work: the CALL event of ``sys.monitoring`` (from 3.12 on, and only in code that the engine monitors, so not in the
standard library); telling operations by what they ask for (``list``, ``tuple`` and ``sorted`` ask for a length first, the others
look alike); the evaluation stack (each version has another layout).
"""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
from dataclasses import dataclass
from functools import cache
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MemberDescriptorType, MethodDescriptorType, ModuleType
from typing import Any, NamedTuple

from ...core.classes import bases_of, full_name_of_class, names_of
from ...core.lookup import looked_up
from ...core.origin import ours, under_test
from ...core.own_builtins import PutBack
from ...core.source import code_position, syntax_tree
from .c_operations import LAZY, READINGS
from .stack import locals_of

_CALLS = frozenset({"PRECALL", "CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_SYNTAX = {
    "GET_ITER": "for", "GET_YIELD_FROM_ITER": "for", "UNPACK_SEQUENCE": "a, *b = x", "UNPACK_EX": "a, *b = x",
    "LIST_EXTEND": "[*x]", "SET_UPDATE": "{*x}", "DICT_UPDATE": "{**x}", "DICT_MERGE": "f(**x)",
    "STORE_SLICE": "y[:] = x", "STORE_SUBSCR": "y[:] = x", "CONTAINS_OP": "in",
}  # fmt: skip
_VIEWS = ("keys", "values", "items")
_ONE_FOR_ONE = frozenset({"enumerate", "iter", "reversed"})  # each element that they yield is one that they read
_DISPLAYS: dict[type[ast.expr], type] = {
    ast.List: list, ast.ListComp: list, ast.Set: set, ast.SetComp: set, ast.Dict: dict, ast.DictComp: dict, ast.JoinedStr: str,
}  # fmt: skip
_UNKNOWN: Any = object()
_NAMES = LAZY.union(reading.consumer for reading in READINGS)


@dataclass(frozen=True)
class CallSite:
    """A place in code that calls an `__iter__`.

    Attributes:
        opcode: the name of the instruction.
        call: the expression, if it is a call with source text; otherwise None.
        looped: whether a ``for`` runs over the result of the call.
        stepped: whether the engine sees the steps of this code, so that a loop in it has own steps and a C call is one.
        ours: whether the code belongs to this package.
    """

    opcode: str
    call: ast.Call | None
    looped: bool
    stepped: bool
    ours: bool


class Consumer(NamedTuple):
    """The operation that iterates over a container.

    Attributes:
        name: as `c_operations` has it.
        lazy: whether it reads elements after the call as well.
        loop: whether it is a loop of Python code.
        fresh: whether the engine has had a step right before the first element, so that no switch point is needed there.
        seen: whether the engine has a step of its own for every element.
        whole: whether the argument is the owner of the view that is iterated: ``json.dumps(d)`` iterates over ``d.items()``.
    """

    name: str
    lazy: bool = False
    loop: bool = False
    fresh: bool = False
    seen: bool = False
    whole: bool = False


@dataclass(frozen=True)
class _ViewOf:
    """The value of ``d.items()``, of which each evaluation makes a new one."""

    owner: object


def consumer(frame: FrameType, container: object, owner: object) -> Consumer | None:
    """The operation that iterates over ``container``, a container or a view of ``owner``, in this frame; None if unknown."""
    site = _site(frame.f_code, frame.f_lasti)
    if site.ours:
        return None
    if site.opcode == "BINARY_OP":
        return Consumer("+=", fresh=site.stepped)
    if site.opcode in _SYNTAX:
        name = _SYNTAX[site.opcode]
        loop = name == "for"
        return Consumer(name, lazy=loop, loop=loop, fresh=site.stepped, seen=loop and site.stepped)
    if site.call is None or site.opcode not in _CALLS:
        return None
    found, whole = _Call(site.call, frame, container, owner).consumer(site.opcode)
    if found is None:
        return None
    lazy = found in LAZY
    return Consumer(
        found,
        whole=whole,
        lazy=lazy,
        loop=found == "object.__reduce_ex__",  # the copy module loops over its result
        fresh=site.stepped and not lazy,
        seen=site.stepped and site.looped and found in _ONE_FOR_ONE,
    )


class _Call:
    """A call that a frame is executing."""

    def __init__(self, call: ast.Call, frame: FrameType, container: object, owner: object) -> None:
        self._call, self._frame, self._container, self._owner = call, frame, container, owner
        self._locals = locals_of(frame)

    def consumer(self, opcode: str) -> tuple[str | None, bool]:
        """The name of the operation, and whether its argument is the owner of the view that it iterates over."""
        call = self._call
        alone = call.args[0] if opcode == "CALL_FUNCTION_EX" and len(call.args) == 1 else None
        if isinstance(alone, ast.Starred) and self._may_be(alone.value):
            return "f(*x)", False
        if isinstance(call.func, ast.Attribute) and self._is(receiver := self._value(call.func.value)):
            return f"x.{call.func.attr}", self._whole(receiver)
        callee = self._callee(call.func)
        if _is_a(callee, BuiltinFunctionType) and self._is(callee.__self__):
            return _named(callee) or f"x.{callee.__name__}", self._whole(callee.__self__)
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        for argument in arguments:
            if self._is(value := self._value(argument)):
                return _named(callee), self._whole(value)
        for argument in arguments:
            if (chain := self._chain(argument)) is not None:
                return chain, False
        return _named(callee) if any(self._may_be(argument) for argument in arguments) else None, False

    def _is(self, value: object) -> bool:
        if type(value) is _ViewOf:
            return value.owner is self._owner
        return value is self._container or value is self._owner

    def _whole(self, value: object) -> bool:
        return value is self._owner is not self._container

    def _may_be(self, node: ast.expr) -> bool:
        """Whether the value of an expression may be the container."""
        value = self._value(node)
        if value is not _UNKNOWN:
            return self._is(value)
        if isinstance(node, ast.Starred):
            value = self._value(node.value)
            return value is _UNKNOWN or (type(value) in (list, tuple) and any(self._is(element) for element in value))
        if isinstance(node, ast.Call):
            callee = self._callee(node.func)
            return not _is_a(callee, type) and _named(callee) not in LAZY  # types and lazy operations make something new
        return isinstance(node, (ast.Attribute, ast.Subscript, ast.Name, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr))

    def _chain(self, node: ast.expr) -> str | None:
        """The name of a chain of iterables, if this is one; it asks for each iterator only when it comes to it."""
        if isinstance(node, ast.Call):
            name = _named(self._callee(node.func)) or ""
            with PutBack():
                inner = [part for argument in node.args for part in ast.walk(argument) if isinstance(part, ast.Call)]
            if name.startswith("itertools.chain") and all(self._may_be(part) for part in inner):
                return name
        return "itertools.chain" if type(self._value(node)) is itertools.chain else None

    def _value(self, node: ast.expr) -> Any:
        """The value of an expression, if no code has to run for it: names, attributes, subscripts, views of dicts."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                for names in (self._locals, self._frame.f_globals, self._frame.f_builtins):
                    if name in names:
                        return names[name]
            case ast.NamedExpr(target=target):
                return self._value(target)
            case ast.Attribute(value=inner, attr=name):
                owner = self._value(inner)
                return _UNKNOWN if owner is _UNKNOWN else _attribute(owner, name)
            case ast.Subscript(value=inner, slice=index):
                owner, key = self._value(inner), self._value(index)
                for kind in (list, tuple, dict):
                    if _is_a(owner, kind) and type(key) in (int, str, bool):
                        try:
                            return kind.__getitem__(owner, key)
                        except (LookupError, TypeError):
                            return _UNKNOWN
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if name in _VIEWS:
                owner = self._value(inner)
                if owner is self._owner:
                    return _ViewOf(owner)
        return _UNKNOWN

    def _callee(self, node: ast.expr) -> Any:
        """What is called. For a method of an object that the expression itself makes, it is the method of that object's type."""
        if isinstance(node, ast.Attribute) and self._value(node.value) is _UNKNOWN:
            made = _DISPLAYS.get(type(node.value)) or (self._value(node.value.func) if isinstance(node.value, ast.Call) else None)
            if _is_a(made, type):
                return _attribute(made, node.attr)
        return self._value(node)


def _is_a(value: object, *kinds: type) -> bool:
    """As `isinstance`, which would ask the program's objects for their ``__class__``, and so might run its code."""
    return issubclass(type(value), kinds)


def _attribute(owner: Any, name: str) -> Any:
    """An attribute, without running code for it. For a method of a built-in type, it is the type's."""
    if _is_a(owner, ModuleType):
        return vars(owner).get(name, _UNKNOWN)
    try:
        kept = object.__getattribute__(owner, "__dict__")
        if not _is_a(owner, type) and type(kept) is dict and name in kept:
            return kept[name]
    except (AttributeError, TypeError):
        pass
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return _UNKNOWN
    if _is_a(found, MemberDescriptorType):
        try:
            return found.__get__(owner)
        except AttributeError:
            return _UNKNOWN
    if _is_a(found, staticmethod, classmethod):
        return found.__func__
    if _is_a(found, MethodDescriptorType, FunctionType):
        return found
    if type(found).__name__ == "classmethod_descriptor":
        return found.__get__(None, owner if _is_a(owner, type) else type(owner))
    return _UNKNOWN if hasattr(type(found), "__get__") else found


def _named(callee: Any) -> str | None:
    """The name that `c_operations` has for a callable; None if it has none."""
    if callee is _UNKNOWN or _is_a(callee, FunctionType):
        return None
    if _is_a(callee, type):
        name = full_name_of_class(callee)
    elif _is_a(callee, MethodDescriptorType):
        name = f"{full_name_of_class(callee.__objclass__)}.{callee.__name__}"
    elif not _is_a(callee, BuiltinFunctionType):
        name = full_name_of_class(type(callee))
    elif _is_a(owner := callee.__self__, ModuleType, type(None)):
        name = f"{callee.__module__}.{callee.__name__}"
    else:
        kinds = bases_of(owner if _is_a(owner, type) else type(owner))
        defines = next((kind for kind in kinds if callee.__name__ in names_of(kind)), object)
        name = f"{full_name_of_class(defines)}.{callee.__name__}"
    name = name.removeprefix("builtins.").removeprefix("_")  # functools.reduce is defined in _functools
    return name if name in _NAMES else None


_sites: dict[tuple[int, int], tuple[CodeType, CallSite]] = {}


def _site(code: CodeType, offset: int) -> CallSite:
    key = id(code), offset
    known = looked_up(_sites, key)
    if known is None:
        known = _sites[id(code), offset] = code, _found(code, offset)  # a reference to the code, so that its id stays in use
    return known[1]


def _found(code: CodeType, offset: int) -> CallSite:
    opcode = dis.opname[code.co_code[offset]] if offset >= 0 else ""
    call, looped = None, False
    if opcode in _CALLS:
        position = code_position(code, offset)
        call, looped = _calls(code.co_filename).get((position.end_line, position.end_column), (None, False))
    return CallSite(opcode, call, looped, under_test(code.co_filename), ours(code.co_filename))


@cache
def _calls(file: str) -> dict[tuple[int | None, int | None], tuple[ast.Call | None, bool]]:
    """The calls in a source file, by their end positions, each with whether a ``for`` runs over its result.

    No two calls end at the same place, but two can begin at one: ``a.b().c()``.
    """
    found: dict[tuple[int | None, int | None], tuple[ast.Call | None, bool]] = {}
    if (tree := syntax_tree(file)) is None:
        return found
    with PutBack():
        nodes = list(ast.walk(tree))
    looped = {id(node.iter) for node in nodes if isinstance(node, (ast.For, ast.comprehension))}
    for node in nodes:
        if isinstance(node, ast.Call):
            end = node.end_lineno, node.end_col_offset
            found[end] = (None, False) if end in found else (node, id(node) in looped)  # in an f-string before 3.12, ends coincide
    return found
