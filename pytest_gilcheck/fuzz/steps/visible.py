"""Visible steps of the code under test: the bytecodes that can touch what other threads see, and nothing else.

Between two visible steps a thread touches only its own locals and constants, so a switch there equals one before the next visible
step: to search switches at visible steps alone loses nothing and saves most. Three kinds of loads are no steps although they read
shared memory, because nothing that is known ever writes there again: a method, a global or a closure cell whose name no code under
test rebinds, and an attribute that only constructors store. Names are collected from whole source files, of all files that take
part; a file with ``setattr``, ``__dict__`` or ``vars`` may store anything, so all its attributes count as rebound.

Calls are steps if they may touch shared objects without making steps of their own: of C functions, and of Python functions that
are not under test, which run as one step. Up to 3.11 the callee is not known when a call is reached, only its source text.

What does not work: raw bytecode indices (they differ by version; 3.13 fuses loads), and to count ``BINARY_OP`` (a counter's `+`
on two integers would be half of all steps): only in-place operations on what may be a container are.
"""

from __future__ import annotations

import builtins
import dis
import linecache
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from ...core.origin import ours, under_test

Name = str  # what is touched: ".balance", "global total", "cell n", "[]", "call"

_ALWAYS = {
    "BINARY_SUBSCR": "read []", "BINARY_SLICE": "read []", "STORE_SUBSCR": "write []", "STORE_SLICE": "write []",
    "DELETE_SUBSCR": "write []", "CONTAINS_OP": "read []", "FOR_ITER": "read []", "GET_ITER": "read []", "LIST_EXTEND": "read []",
    "SET_UPDATE": "read []", "DICT_UPDATE": "read []", "DICT_MERGE": "read []",
}  # fmt: skip
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_MAKE = frozenset({"LOAD_CONST", "BUILD_LIST", "BUILD_TUPLE", "BUILD_SET", "BUILD_MAP"})
_LOADS = frozenset({"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_NAME", "LOAD_FAST_CHECK"})
_UNCHECKED = re.compile(r"(len|isinstance|type)\(|[\w.\[\]]*\.append\(")  # the same, by the source text, up to 3.11
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "<module>"})
_ANYTHING_STORED = frozenset({"setattr", "__dict__", "vars", "__setattr__", "__setstate__", "__delattr__"})
_FIRST_IN_PLACE = 13  # of BINARY_OP's argument
_SUBSCRIPT = 26  # of the same, from 3.14 on
_SCALARS = (int, float, complex, str, bytes, bool, type(None), type, FunctionType, BuiltinFunctionType)
_UNKNOWN = object()  # an argument that may be anything
_NEVER = frozenset({isinstance, issubclass, callable, id, type, range, object, super, slice, property, staticmethod, classmethod})
_OF_SCALARS = frozenset({int, float, complex, str, bool, bytes, len, abs, repr, hash, ord, chr, round, format, divmod, pow, print})
_NO_CHECK_AFTER = frozenset({len, isinstance, type, list.append})  # specialised calls that do not look whether the GIL is wanted


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
        """Whether the order of the two may matter, as far as names tell; a call may do anything to a container."""
        if self.kind == "read" == other.kind:
            return False
        mine, others = self.name, other.name
        return mine == others or (mine in ("[]", "call") and others in ("[]", "call"))


@dataclass
class StepTable:
    """The steps of one piece of code, by bytecode offset.

    Attributes:
        steps: visible ones that are no calls, or, up to 3.11, all.
        calls: offsets of calls, judged when they happen; from 3.12 on.
        checks: offsets at, or right before which the interpreter looks whether somebody else wants the GIL.
        heard: offsets of both, each with its step, or None, and whether it is one of those.
    """

    code: CodeType
    steps: dict[int, Access] = field(default_factory=dict)
    calls: dict[int, Access] = field(default_factory=dict)
    checks: frozenset[int] = frozenset()
    locations: dict[int, tuple[Access | None, bool]] = field(default_factory=dict)


@dataclass
class _ReboundNames:
    """Names that a source file rebinds; None stands for all of them."""

    globals: set[str] | None = field(default_factory=set)
    cells: set[str] | None = field(default_factory=set)
    attributes: set[str] | None = field(default_factory=set)
    constant: set[str] = field(default_factory=set)  # attributes that constructors store


class Visibility:
    """Tables of the code that takes part. They change as more files do: then `grown` is set, and all tables are to be made anew."""

    def __init__(self) -> None:
        self.grown = False
        self._files: dict[str, _ReboundNames] = {}
        self._everything = False  # some file may store any attribute
        self._attributes: set[str] = set()
        self._constant: set[str] = set()
        self._skipped: set[str] = set()

    def table(self, code: CodeType, namespace: dict[str, Any]) -> StepTable:
        """The table of this code, whose globals are these."""
        rebound = self._file(code.co_filename)
        table = StepTable(code)
        checks: set[int] = set()
        line, before, after_resume = code.co_firstlineno, "", False
        constant = False  # the instruction before loads a constant
        loaded = ""  # the last global that was loaded
        called = ""  # the source of the last call
        private = False  # a loop over something that no other thread can have
        for instruction in dis.get_instructions(code):
            name, offset = instruction.opname, instruction.offset
            if name in ("EXTENDED_ARG", "CACHE", "PRECALL", "KW_NAMES", "PUSH_NULL", "NOP"):
                continue
            if instruction.positions is not None and instruction.positions.lineno is not None:
                line = instruction.positions.lineno
            if "JUMP_BACKWARD_IF" in name:  # of 3.11: it looks only where it jumps
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
                pass  # what pytest has put into an assert statement
            elif name == "GET_ITER" and (before in _MAKE or (before in _CALLS and loaded == "range")):
                private = True
            elif name == "FOR_ITER" and private and before == "GET_ITER":
                private = False
            elif (what := self._touched(instruction, rebound, before, constant)) is not None:
                kind, _, touched = what.partition(" ")
                table.steps[offset] = Access(kind, touched, line)
            if offset in table.steps and name in _LOADS:
                name = "a visible load"  # what becomes of it at once is no step of its own
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
                return "read []" if before in _LOADS else None  # whether a container is empty
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
        """Whether somebody may store this attribute while the threads run."""
        if self._everything or attribute in self._attributes:
            return True
        if method or attribute in self._constant:
            self._skipped.add(attribute)
            return False
        return True  # of an object whose code is not under test: who knows

    def _global_changes(self, name: str, rebound: _ReboundNames) -> bool:
        if rebound.globals is None or name in rebound.globals or name in self._attributes:  # an attribute of the module
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
    """Whether a call of this, with this first argument, is a visible step.

    Args:
        under_test: tells whether the code of a file makes steps of its own.
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
    except TypeError:  # not hashable, so none of ours
        return True
    if isinstance(function, BuiltinFunctionType) and function.__name__ in ("__exit__", "__enter__"):
        return False  # of a C context manager: 3.12 to 3.14 show different halves of it
    call = getattr(type(function), "__call__", None)  # noqa: B004 # what it is, not whether
    if isinstance(call, FunctionType):
        return not (under_test(call.__code__.co_filename) or ours(call.__code__.co_filename))
    return True


def gil_is_checked_after(callee: object, under_test: Any) -> bool:
    """Whether the interpreter looks, at the end of such a call, whether somebody else wants the GIL. By the callee: which
    instruction a call has been specialised to cannot be seen, so this is an approximation."""
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
    """Whether the source text names a callee that makes its own steps, or none: a global function or class."""
    name = _text(instruction, code).partition("(")[0].strip()
    if not name.isidentifier() or name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars:
        return False
    callee = namespace.get(name, getattr(builtins, name, None))
    return callee is not None and not is_step(callee, _UNKNOWN, under_test)


def _text(instruction: dis.Instruction, code: CodeType) -> str:
    """The source of an instruction, if it is in one line."""
    where = instruction.positions
    if where is None or where.lineno is None or where.lineno != where.end_lineno:
        return ""
    return (
        linecache.getline(code.co_filename, where.lineno).encode()[where.col_offset : where.end_col_offset].decode(errors="replace")
    )


@cache
def _rebound_names(file: str) -> _ReboundNames:
    found = _ReboundNames()
    try:
        module = compile("".join(linecache.getlines(file)) or "?", file, "exec", dont_inherit=True)
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
