"""What is known of code objects whatever is known of names, each read once: its instructions, and what others make of them."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Generic, TypeVar

from ...core.lookup import looked_up
from ...core.own_builtins import PutBack
from .instructions import INSTRUCTIONS

_MOST_KNOWN = 5_000  # code objects, after which all is forgotten: a program may make others in each run
_Fact = TypeVar("_Fact")


class OfCode(Generic[_Fact]):
    """A function of a code object whose answers are kept. The code objects stay alive with them, so that their ids stay in use.

    A program may make the same function anew in each run (``exec``). Such code objects are equal, and so is what is known of them.
    But to hash one, Python hashes all that it contains: so each is looked up by its id first.
    """

    def __init__(self, work_out: Callable[[CodeType], _Fact]) -> None:
        self._work_out = work_out
        self.forget()

    def __call__(self, code: CodeType) -> _Fact:
        key = id(code)
        known = looked_up(self._by_id, key)
        return self._kept(code) if known is None else known[1]

    def forget(self) -> None:
        """Forget all answers."""
        self._by_id: dict[int, tuple[CodeType, _Fact]] = {}
        self._by_value: dict[CodeType, _Fact] = {}

    def _kept(self, code: CodeType) -> _Fact:
        if len(self._by_id) >= _MOST_KNOWN:
            self.forget()
        fact = self._by_value[code] if code in self._by_value else self._by_value.setdefault(code, self._work_out(code))
        self._by_id[id(code)] = code, fact
        return fact


@OfCode
def instructions_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a code object, in order."""
    with PutBack():
        return list(dis.get_instructions(code))


_STORES = {number for name, number in dis.opmap.items() if INSTRUCTIONS[name].stores}
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
    return looked_up(_by_offset(code), offset) or ("", 0, None)


@OfCode
def _by_offset(code: CodeType) -> dict[int, tuple[str, int, Any]]:
    return {each.offset: (each.opname, each.arg or 0, each.argval) for each in instructions_of(code)}
