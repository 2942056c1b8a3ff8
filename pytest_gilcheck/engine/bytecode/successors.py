"""Where the execution of a function may go on after each of its instructions."""

from __future__ import annotations

import dis
from bisect import bisect_left
from types import CodeType

from ...core.own_builtins import PutBack
from .code_facts import OfCode, instructions_of
from .instructions import INSTRUCTIONS, JUMPS


class Successors:
    """The instructions that may run after each one, all by their indexes.

    Attributes:
        next: by index, the instruction behind it, if that may run next.
        jump: by index, the instruction to which it may jump.
        handlers: by index, those of its exceptions: each with the depth of the stack there, and whether an offset is pushed, too.
    """

    def __init__(self, code: CodeType) -> None:
        instructions = instructions_of(code)
        index_of = {instruction.offset: index for index, instruction in enumerate(instructions)}
        last = len(instructions) - 1
        self.next = [
            index + 1 if index < last and not INSTRUCTIONS[instruction.opname].ends else None
            for index, instruction in enumerate(instructions)
        ]
        self.jump = [index_of.get(instruction.argval) if instruction.opname in JUMPS else None for instruction in instructions]
        self.handlers: list[list[tuple[int, int, bool]]] = [[] for _ in instructions]
        offsets = list(index_of)
        with PutBack():
            entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined,unused-ignore]
        for entry in entries:
            if entry.target in index_of:
                handler = index_of[entry.target], entry.depth, bool(entry.lasti)
                for index in range(bisect_left(offsets, entry.start), bisect_left(offsets, entry.end)):
                    self.handlers[index].append(handler)


successors_of = OfCode(Successors)
"""Those of a code object."""
