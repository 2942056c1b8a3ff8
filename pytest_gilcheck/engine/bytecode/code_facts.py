"""The instructions of a code object, read once: each new state of what is known of names asks for them again.

A program may make the same function anew in each run (``exec``). Such code objects are equal, and have equal instructions.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any, TypeVar

from ...core.lookup import looked_up
from ...core.own_builtins import PutBack
from .instructions import INSTRUCTIONS, NEW

_MOST_KNOWN = 5_000  # code objects, after which all is forgotten: a program may make others in each run
_Fact = TypeVar("_Fact")


def kept(known: dict[CodeType, _Fact], code: CodeType, fact: _Fact) -> _Fact:
    """Keep what was read of a code object, and return it."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[code] = fact
    return fact


_known: dict[CodeType, list[dis.Instruction]] = {}


def instructions_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a code object, in order."""
    known = looked_up(_known, code)
    if known is None:
        with PutBack():
            known = kept(_known, code, list(dis.get_instructions(code)))
    return known


_STORES = {number for name, number in dis.opmap.items() if INSTRUCTIONS.get(name, NEW).stores}
_EXTENDED = dis.EXTENDED_ARG


def stores_of(code: CodeType) -> Iterator[tuple[str, str]]:
    """The name of each instruction of a code object that stores or deletes an attribute, a global or a cell; and what it names.

    `instructions_of` takes fifty times as long, and a large program has tens of thousands of code objects of which nobody asks
    for more.
    """
    instructions = code.co_code
    opcodes = instructions[::2]
    if _STORES.isdisjoint(opcodes):
        return
    argument = 0
    for index, opcode in enumerate(opcodes):
        argument = argument << 8 | instructions[2 * index + 1]
        if opcode == _EXTENDED:
            continue
        if opcode in _STORES:
            opname = dis.opname[opcode]
            yield opname, code.co_names[argument] if not opname.endswith("DEREF") else code._varname_from_oparg(argument)  # type: ignore[attr-defined]
        argument = 0


def backward_jumps(code: CodeType) -> list[dis.Instruction]:
    """The instructions that go back to the begin of a loop, their ``argval``."""
    return [instruction for instruction in instructions_of(code) if "JUMP_BACKWARD" in instruction.opname]


def instruction_at(code: CodeType, offset: int) -> tuple[str, int, Any]:
    """``opname``, ``arg`` and ``argval`` of the instruction at an offset; an empty name if there is none."""
    key = id(code)
    known = looked_up(_at, key)
    if known is None:
        found = {each.offset: (each.opname, each.arg or 0, each.argval) for each in instructions_of(code)}
        known = _at[id(code)] = code, found  # a reference to the code, so that its id stays in use
    return looked_up(known[1], offset) or ("", 0, None)


_at: dict[int, tuple[CodeType, dict[int, tuple[str, int, Any]]]] = {}
