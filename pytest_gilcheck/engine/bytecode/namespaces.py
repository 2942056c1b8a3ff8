"""What code does with the dictionaries that hold names: ``x.__dict__``, ``globals()``, ``sys.modules``.

Code that has such a dictionary can store a name without a store instruction. Most code only reads it, or stores under a name that
is written there: ``x.__dict__["limit"] = 5``. So this follows each such dictionary from the instruction that loads it to the one
that uses it up, in straight lines and through a local, and tells reading from the rest. Whatever it cannot follow may do anything.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from .code_facts import instructions_of

DICTIONARIES = frozenset({"__dict__", "__globals__", "f_globals", "modules"})
_BY_CALL = frozenset({"globals", "vars"})
SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})
_IMPORTED = frozenset({"globals", "modules", "vars"})  # the name of a module beside this one is none of a dictionary
_READING = frozenset({"get", "keys", "values", "items", "copy"})
_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME"})
_LOCALS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})
_PUSHING = _LOCALS | {"LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "PUSH_NULL"} | {
    "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
}  # fmt: skip
_POPS = {"LOAD_ATTR": 1, "LOAD_METHOD": 1, "FORMAT_SIMPLE": 1, "CONVERT_VALUE": 1}
_POPS |= {"UNARY_NEGATIVE": 1, "UNARY_NOT": 1, "UNARY_INVERT": 1, "TO_BOOL": 1, "BINARY_SLICE": 3, "LOAD_SUPER_ATTR": 3}
_POPS |= dict.fromkeys(("SET_FUNCTION_ATTRIBUTE", "BINARY_SUBSCR", "BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "IS_OP"), 2)
_NOTHING = frozenset({"CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "KW_NAMES", "NOT_TAKEN", "RESUME"})
_TESTS = frozenset(
    f"POP_JUMP_{direction}IF_{what}"
    for direction in ("", "FORWARD_", "BACKWARD_")
    for what in ("NONE", "NOT_NONE", "TRUE", "FALSE")
)
_SUBSCRIPT = 26  # the argument of BINARY_OP that stands for a subscript, from 3.14 on
_MOST = 60  # instructions from a dictionary to its use


class Uses(NamedTuple):
    """What a code object does with dictionaries of names, and with what stores a name that is computed.

    Attributes:
        harmless: names of `dis` instructions' arguments that only stand for reading, or for what ``stored`` has.
        called: those that are only called here, so that they store when this code runs, and never elsewhere.
        stored: names that are stored through a dictionary.
    """

    harmless: frozenset[str]
    called: frozenset[str]
    stored: frozenset[str]


def uses_of(code: CodeType) -> Uses:
    """What a code object does with the dictionaries of names that it loads."""
    names = set(code.co_names) & (DICTIONARIES | _BY_CALL | SETTERS | _IMPORTED)
    if not names:
        return Uses(frozenset(), frozenset(), frozenset())
    followed = _Followed(code, instructions_of(code))
    harmless = {name for name in names - SETTERS if followed.only_reads(name)}
    called = {name for name in names & SETTERS if followed.only_calls(name)}
    return Uses(frozenset(harmless), frozenset(called), frozenset(followed.stored))


class _Followed:
    def __init__(self, code: CodeType, instructions: Sequence[dis.Instruction]) -> None:
        self._code, self._instructions = code, [each for each in instructions if each.opname not in _NOTHING]
        self._index = {each.offset: index for index, each in enumerate(self._instructions)}
        self._locals: set[str] = set()
        self._of_modules = False
        self.stored: set[str] = set()

    def only_reads(self, name: str) -> bool:
        """Whether each use of this name reads a dictionary, or stores to it under a name that is known."""
        self._of_modules = name == "modules"  # a module that is taken from there is imported again, and its code runs
        self._locals.clear()
        return all(
            self._is_module(index) or self._harmless(name, index)
            for index, each in enumerate(self._instructions)
            if _has(each, name)
        )

    def only_calls(self, name: str) -> bool:
        """Whether each use of this name calls what it stands for, or defines a method of that name, which makes steps."""
        return all(
            (each.opname in _LOADS and self._callee(index) is not None) or self._defines(index)
            for index, each in enumerate(self._instructions)
            if _has(each, name)
        )

    def _defines(self, index: int) -> bool:
        before = self._instructions[index - 1].opname if index else ""
        return self._instructions[index].opname == "STORE_NAME" and before in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")

    def _is_module(self, index: int) -> bool:
        """Whether this imports a module that is beside the one of this code."""
        level = self._instructions[index - 2] if index >= 2 else None
        return (
            self._instructions[index].opname == "IMPORT_NAME"
            and level is not None
            and level.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
            and type(level.argval) is int
            and level.argval > 0
        )

    def _harmless(self, name: str, index: int) -> bool:
        each = self._instructions[index]
        if each.opname not in _LOADS:
            return False
        if name in _BY_CALL:
            call = self._callee(index)
            return call is not None and self._read(call + 1, 0)
        return name in DICTIONARIES and each.opname == "LOAD_ATTR" and not _pushes_two(each) and self._read(index + 1, 0)

    def _callee(self, index: int) -> int | None:
        """The place of the call of what an instruction loads."""
        each = self._instructions[index]
        pair = each.opname == "LOAD_METHOD" or _pushes_two(each)
        found = self._user(index + 1, int(pair))
        if found is None:
            return None
        place, above = found
        user = self._instructions[place]
        return place if user.opname == "CALL" and above - int(user.arg or 0) in (0, 1) else None

    def _user(self, index: int, above: int) -> tuple[int, int] | None:
        """The place of the instruction that uses up a value, and how many values are above it then; None if it cannot be told."""
        for _ in range(_MOST):
            if index >= len(self._instructions):
                return None
            each = self._instructions[index]
            if each.opname == "JUMP_FORWARD":
                index = self._index.get(each.argval, len(self._instructions))
                continue
            pops = _pops(each)
            if pops is None or pops > above:
                return index, above
            is_call = each.opname in ("CALL", "CALL_KW")  # up to 3.11, a part of its effect is that of PRECALL
            above += 1 - pops if is_call else dis.stack_effect(each.opcode, each.arg, jump=False)
            index += 1
        return None

    def _read(self, index: int, above: int) -> bool:
        """Whether the dictionary that is on the stack before this instruction is only read, or stored to under known names."""
        found = self._user(index, above)
        if found is None:
            return False
        place, above = found
        user = self._instructions[place]
        name = user.opname
        before = self._instructions[place - 1]
        if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and user.arg == _SUBSCRIPT):
            return above == 1 and not _of_names(before)
        if name in ("CONTAINS_OP", "IS_OP", "COMPARE_OP") or (name in _TESTS and above == 0):
            return True
        if name in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            return above == 1 and self._stores(before)
        if name in ("LOAD_ATTR", "LOAD_METHOD") and above == 0:
            key = self._instructions[place + 1]
            if user.argval in _READING:
                return not _of_names(key)
            return user.argval in ("setdefault", "pop") and self._is_first_argument(place + 1) and self._stores(key)
        if name == "GET_ITER" and above == 0:
            return True
        if name == "STORE_FAST" and above == 0:
            return self._local(user.argval)
        return False

    def _is_first_argument(self, index: int) -> bool:
        """Whether what this instruction loads is the first argument of a call as it is."""
        found = self._user(index + 1, 0)
        if found is None:
            return False
        place, above = found
        user = self._instructions[place]
        return user.opname == "CALL" and above == int(user.arg or 0) - 1

    def _stores(self, key: dis.Instruction) -> bool:
        if self._of_modules or key.opname != "LOAD_CONST" or type(key.argval) is not str or _of_names(key):
            return False
        self.stored.add(key.argval)
        return True

    def _local(self, name: str) -> bool:
        """Whether what is stored to a local is only read from there on."""
        if name in self._locals:
            return True
        self._locals.add(name)
        if name in self._code.co_cellvars or "locals" in self._code.co_names:
            return False
        for index, each in enumerate(self._instructions):
            mentioned = each.argval == name or (isinstance(each.argval, tuple) and name in each.argval)
            if not mentioned or each.opname in (
                "STORE_FAST",
                "DELETE_FAST",
                "LOAD_CONST",
                "LOAD_ATTR",
                "LOAD_GLOBAL",
                "STORE_ATTR",
            ):
                continue
            if each.opname in _LOCALS:
                if not self._read(index + 1, 0):
                    return False
            elif each.opname in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
                first, second = each.argval
                if (first == name and not self._read(index + 1, 1)) or (second == name and not self._read(index + 1, 0)):
                    return False
            else:
                return False
        return True


def _has(instruction: dis.Instruction, name: str) -> bool:
    """Whether an instruction is about a name, and not about a local or a text."""
    return instruction.argval == name and not instruction.opname.startswith(
        ("LOAD_CONST", "LOAD_FAST", "STORE_FAST", "DELETE_FAST")
    )


def _of_names(key: dis.Instruction) -> bool:
    """Whether a key gives what can store names: ``vars(type)["__dict__"]``."""
    return key.opname == "LOAD_CONST" and type(key.argval) is str and key.argval in (DICTIONARIES | SETTERS)


def _pushes_two(instruction: dis.Instruction) -> bool:
    """Whether an attribute or a global is loaded to be called at once: beside it is its object, or a null."""
    effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    return (instruction.opname == "LOAD_ATTR" and effect == 1) or (instruction.opname == "LOAD_GLOBAL" and effect == 2)


def _pops(instruction: dis.Instruction) -> int | None:
    """How many values an instruction takes from the stack; None if that is not known here."""
    name, argument = instruction.opname, int(instruction.arg or 0)
    if name in _PUSHING:
        return 0
    if name in ("CALL", "CALL_KW"):
        return argument + 2 + (name == "CALL_KW")
    if name in ("BUILD_STRING", "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET"):
        return argument
    if name == "BUILD_MAP":
        return 2 * argument
    if name == "MAKE_FUNCTION":
        return 1 + (0 if sys.version_info >= (3, 13) else argument.bit_count())
    return _POPS.get(name)
