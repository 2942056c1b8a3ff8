"""Visible steps of the code under test: the bytecodes that can touch what other threads see.

Between two visible steps a thread touches only its own locals and constants, so a switch there is equivalent to one right before
the next visible step: searching switches at visible steps alone loses nothing. Three kinds of loads are no steps although they
read shared memory, because no known code writes there after the start: methods, globals and closure cells whose names no code
under test rebinds, and attributes that only constructors store. Names are collected from the whole source files under test. A file
that uses ``setattr``, ``__dict__`` or ``vars`` may store any attribute, so all attributes then count as rebound.

A call is a step if it may touch shared objects without making steps of its own: a call of a C function, or of a Python function
that is not under test, which runs as one step. Up to 3.11 only the source text of a call is known when it is reached, not the
callee.

What does not work: raw bytecode offsets as steps (they differ by version, and 3.13 fuses loads); counting every ``BINARY_OP`` (the
`+` of two integers would be half of all steps). Only in-place operations on what may be a container count.
"""

from __future__ import annotations

import builtins
import dis
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from ...core.origin import ours, under_test
from ...core.source import Position, file_text, position_text

Name = str  # what a step touches: ".balance", "global total", "cell n", "[]", "call"

_ALWAYS = {
    "BINARY_SUBSCR": "read []", "BINARY_SLICE": "read []", "STORE_SUBSCR": "write []", "STORE_SLICE": "write []",
    "DELETE_SUBSCR": "write []", "CONTAINS_OP": "read []", "FOR_ITER": "read []", "GET_ITER": "read []", "LIST_EXTEND": "read []",
    "SET_UPDATE": "read []", "DICT_UPDATE": "read []", "DICT_MERGE": "read []",
}  # fmt: skip
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_MAKE = frozenset({"LOAD_CONST", "BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_MAP"})
_LOADS = frozenset({"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_NAME", "LOAD_FAST_CHECK"})
_UNCHECKED = re.compile(r"(len|isinstance|type)\(|[\w.\[\]]*\.append\(")  # `_NO_CHECK_AFTER` as source text, up to 3.11
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "<module>"})
_ANYTHING_STORED = frozenset({"setattr", "__dict__", "vars", "__setattr__", "__setstate__", "__delattr__"})
_FIRST_IN_PLACE = 13  # the first argument of BINARY_OP that stands for an in-place operation
_SUBSCRIPT = 26  # the argument of BINARY_OP that stands for a subscript, from 3.14 on
_SCALARS = (int, float, complex, str, bytes, bool, type(None), type, FunctionType, BuiltinFunctionType)
_UNKNOWN = object()  # an argument that may be any object
_NEVER = frozenset({isinstance, issubclass, callable, id, type, range, object, super, slice, property, staticmethod, classmethod})
_OF_SCALARS = frozenset({int, float, complex, str, bool, bytes, len, abs, repr, hash, ord, chr, round, format, divmod, pow, print})
_NO_CHECK_AFTER = frozenset({len, isinstance, type, list.append})  # their specialised calls do not check for a GIL request


@dataclass(frozen=True)
class Access:
    """What a visible step does.

    Attributes:
        kind: ``"read"``, ``"write"`` or ``"call"``.
        name: what it touches.
        line: in the source file.
    """

    kind: str
    name: Name
    line: int

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two accesses may matter, judged by their names. A call may touch any container."""
        if self.kind == "read" == other.kind:
            return False
        mine, others = self.name, other.name
        return mine == others or (mine in ("[]", "call") and others in ("[]", "call"))


@dataclass
class StepTable:
    """The steps of one code object, by bytecode offset.

    Attributes:
        steps: the visible steps that are not calls; up to 3.11, calls too.
        calls: the calls, which are classified when they happen; from 3.12 on.
        checks: the offsets at or right before which the interpreter checks for a request to release the GIL.
        locations: every offset of ``steps`` or ``checks``, with its step or None, and whether it is in ``checks``.
    """

    code: CodeType
    steps: dict[int, Access] = field(default_factory=dict)
    calls: dict[int, Access] = field(default_factory=dict)
    checks: frozenset[int] = frozenset()
    locations: dict[int, tuple[Access | None, bool]] = field(default_factory=dict)


@dataclass
class _ReboundNames:
    """The names that a source file rebinds; None stands for all names."""

    globals: set[str] | None = field(default_factory=set)
    cells: set[str] | None = field(default_factory=set)
    attributes: set[str] | None = field(default_factory=set)
    constant: set[str] = field(default_factory=set)  # attributes that only constructors store


class Visibility:
    """Makes the step tables of code under test. A new source file may invalidate earlier tables; then `grown` is set."""

    def __init__(self) -> None:
        self.grown = False
        self._files: dict[str, _ReboundNames] = {}
        self._everything = False  # whether some file may store any attribute
        self._attributes: set[str] = set()
        self._constant: set[str] = set()
        self._skipped: set[str] = set()

    def table(self, code: CodeType, namespace: dict[str, Any]) -> StepTable:
        """The table of a code object.

        Args:
            namespace: its globals.
        """
        rebound = self._file(code.co_filename)
        table = StepTable(code)
        checks: set[int] = set()
        line, before, after_resume = code.co_firstlineno, "", False
        constant = False  # whether the previous instruction loads a constant
        loaded = ""  # the name of the global that was loaded last
        called = ""  # the source text of the last call
        private = False  # whether the next loop runs over an object that no other thread can reach
        for instruction in dis.get_instructions(code):
            name, offset = instruction.opname, instruction.offset
            if name in ("EXTENDED_ARG", "CACHE", "PRECALL", "KW_NAMES", "PUSH_NULL", "NOP"):
                continue
            if instruction.positions is not None and instruction.positions.lineno is not None:
                line = instruction.positions.lineno
            if "JUMP_BACKWARD_IF" in name:  # of 3.11, which checks only if it jumps
                checks.add(instruction.argval)
            elif after_resume or ("JUMP_BACKWARD" in name and not name.endswith("NO_INTERRUPT")):
                checks.add(offset)
            if before in _CALLS and sys.version_info < (3, 12) and not _UNCHECKED.match(called):
                checks.add(offset)
            after_resume = name == "RESUME"
            if name in _CALLS:
                called = _text(instruction, code)
                if sys.version_info >= (3, 12):
                    table.calls[offset] = Access("call", "call", line)
                elif not _harmless_by_name(instruction, code, namespace):
                    table.steps[offset] = Access("call", "call", line)
            elif loaded.startswith("@") and before == "LOAD_GLOBAL":
                pass  # a name that pytest has put into an assert statement
            elif name == "GET_ITER" and (before in _MAKE or (before in _CALLS and loaded == "range")):
                private = True
            elif name == "FOR_ITER" and private and before == "GET_ITER":
                private = False
            elif (what := self._touched(instruction, rebound, before, constant)) is not None:
                kind, _, touched = what.partition(" ")
                table.steps[offset] = Access(kind, touched, line)
            if offset in table.steps and name in _LOADS:
                name = "a visible load"  # so that what the next instruction does with it is not another step
            loaded = instruction.argval if name in ("LOAD_GLOBAL", "LOAD_NAME") else loaded
            before, constant = name, name in ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST")
        table.checks = frozenset(checks)
        table.locations = {offset: (table.steps.get(offset), offset in checks) for offset in (*table.steps, *checks)}
        return table

    def _touched(self, instruction: dis.Instruction, rebound: _ReboundNames, before: str, constant: bool) -> str | None:
        name, argument = instruction.opname, instruction.argval
        match name:
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR":
                method = name != "LOAD_ATTR" or (sys.version_info >= (3, 12) and bool((instruction.arg or 0) & 1))
                return f"read .{argument}" if self._changes(argument, method) else None
            case "STORE_ATTR" | "DELETE_ATTR":
                return f"write .{argument}"
            case "LOAD_GLOBAL" | "LOAD_NAME":
                return f"read global {argument}" if self._global_changes(argument, rebound) else None
            case "STORE_GLOBAL" | "DELETE_GLOBAL":
                return f"write global {argument}"
            case "LOAD_DEREF" | "LOAD_CLASSDEREF" | "LOAD_FROM_DICT_OR_DEREF":
                return f"read cell {argument}" if rebound.cells is None or argument in rebound.cells else None
            case "STORE_DEREF" | "DELETE_DEREF":
                return f"write cell {argument}" if rebound.cells is None or argument in rebound.cells else None
            case (
                "TO_BOOL"
                | "UNARY_NOT"
                | "POP_JUMP_IF_FALSE"
                | "POP_JUMP_IF_TRUE"
                | "POP_JUMP_FORWARD_IF_FALSE"
                | "POP_JUMP_FORWARD_IF_TRUE"
            ):
                return "read []" if before in _LOADS else None  # this tests whether a container is empty
            case "COMPARE_OP":
                return None if constant else "read []"
            case "UNPACK_SEQUENCE" | "UNPACK_EX":
                return None if before in ("FOR_ITER", "BUILD_TUPLE", "LOAD_CONST") else "read []"
            case "BINARY_OP":
                if instruction.arg == _SUBSCRIPT:
                    return "read []"
                return "write []" if (instruction.arg or 0) >= _FIRST_IN_PLACE and not constant else None
            case _:
                return _ALWAYS.get(name)

    def _changes(self, attribute: str, method: bool) -> bool:
        """Whether code under test may store this attribute while the threads run."""
        if self._everything or attribute in self._attributes:
            return True
        if method or attribute in self._constant:
            self._skipped.add(attribute)
            return False
        return True  # an attribute of an object whose code is not under test

    def _global_changes(self, name: str, rebound: _ReboundNames) -> bool:
        if rebound.globals is None or name in rebound.globals or name in self._attributes:  # the last: an attribute of the module
            return True
        self._skipped.add(name)
        return False

    def _file(self, file: str) -> _ReboundNames:
        if file not in self._files:
            found = self._files[file] = _rebound_names(file)
            if found.attributes is None:
                self.grown = self.grown or (bool(self._skipped) and not self._everything)
                self._everything = True
            else:
                new = found.attributes | (found.globals or set())  # a global is an attribute of its module
                self.grown = self.grown or bool(new & self._skipped)
                self._attributes |= new
            self._constant |= found.constant
        return self._files[file]


def is_step(callee: object, first: object, under_test: Any) -> bool:
    """Whether a call of ``callee`` with this first argument is a visible step.

    Args:
        under_test: the predicate for files whose code makes steps of its own.
    """
    function = callee.__func__ if isinstance(callee, MethodType) else callee
    if isinstance(function, FunctionType):
        return not (under_test(function.__code__.co_filename) or ours(function.__code__.co_filename))
    if isinstance(function, type):
        if function in _NEVER or issubclass(function, BaseException):
            return False
        initialiser = function.__init__
        if isinstance(initialiser, FunctionType):
            return not (under_test(initialiser.__code__.co_filename) or ours(initialiser.__code__.co_filename))
        if function.__module__ != "builtins" and initialiser is object.__init__:
            return False
    try:
        if function in _NEVER:
            return False
        if function in _OF_SCALARS and isinstance(first, _SCALARS):
            return False
    except TypeError:  # it is not hashable, so it is none of the callables in these sets
        return True
    if isinstance(function, BuiltinFunctionType) and function.__name__ in ("__exit__", "__enter__"):
        return False  # of a C context manager: 3.12 to 3.14 report only one half of it
    call = getattr(type(function), "__call__", None)  # noqa: B004 # what it is, not whether
    if isinstance(call, FunctionType):
        return not (under_test(call.__code__.co_filename) or ours(call.__code__.co_filename))
    return True


def gil_is_checked_after(callee: object, under_test: Any) -> bool:
    """Whether the interpreter checks, after such a call, for a request to release the GIL.

    This goes by the callee. It is an approximation: the instruction to which a call has been specialised cannot be seen.
    """
    function = callee.__func__ if isinstance(callee, MethodType) else callee
    if isinstance(function, FunctionType):
        return not under_test(function.__code__.co_filename)
    try:
        if function in _NO_CHECK_AFTER:
            return False
    except TypeError:
        return True
    return not (isinstance(callee, BuiltinFunctionType) and callee.__name__ == "append" and isinstance(callee.__self__, list))


def _harmless_by_name(instruction: dis.Instruction, code: CodeType, namespace: dict[str, Any]) -> bool:
    """Whether the source text names a global callee that makes steps of its own, or no step at all."""
    name = _text(instruction, code).partition("(")[0].strip()
    if not name.isidentifier() or name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars:
        return False
    callee = namespace.get(name, getattr(builtins, name, None))
    return callee is not None and not is_step(callee, _UNKNOWN, under_test)


def _text(instruction: dis.Instruction, code: CodeType) -> str:
    """The source text of an instruction; empty if it extends over several lines."""
    return position_text(code.co_filename, Position(*instruction.positions or ()))


@cache
def _rebound_names(file: str) -> _ReboundNames:
    found = _ReboundNames()
    try:
        module = compile(file_text(file) or "?", file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return _ReboundNames(None, None, None)
    assert found.globals is not None
    assert found.cells is not None
    assert found.attributes is not None
    for code in _with_nested(module):
        stores: dict[str, int] = {}
        loops = False
        for instruction in dis.get_instructions(code):
            name, argument = instruction.opname, instruction.argval
            loops = loops or "JUMP_BACKWARD" in name
            if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                found.globals.add(argument)
            elif name in ("STORE_DEREF", "DELETE_DEREF"):
                stores[argument] = stores.get(argument, 0) + 1
            elif name in ("STORE_ATTR", "DELETE_ATTR"):
                (found.constant if code.co_name in _CONSTRUCTORS else found.attributes).add(argument)
        found.cells |= {name for name, count in stores.items() if name in code.co_freevars or count > 1 or loops}
        if _ANYTHING_STORED.intersection(code.co_names):
            return _ReboundNames(found.globals, found.cells, None)
    found.constant -= found.attributes
    return found


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)
