"""Where the execution of a function may go on after each of its instructions."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import CodeType

NO_NEXT = frozenset(  # instructions after which the one behind them does not run
    {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
)


class Successors:
    """The instructions that may run after each one, all by their indexes.

    Args:
        instructions: of the code, in order.
    """

    def __init__(self, code: CodeType, instructions: Sequence[dis.Instruction]) -> None:
        self._instructions = instructions
        self._index = {instruction.offset: index for index, instruction in enumerate(instructions)}
        self._handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined,unused-ignore]

    def next(self, index: int) -> int | None:
        """The instruction behind it, if that may run next."""
        follows = self._instructions[index].opname not in NO_NEXT and index + 1 < len(self._instructions)
        return index + 1 if follows else None

    def jump(self, index: int) -> int | None:
        """The instruction to which it may jump."""
        instruction = self._instructions[index]
        jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
        return self._index.get(instruction.argval) if jumps else None

    def handlers(self, index: int) -> Iterator[tuple[int, int, bool]]:
        """The handlers of its exceptions: each with the depth of the stack there, and whether an offset is pushed, too."""
        offset = self._instructions[index].offset
        for entry in self._handlers:
            if entry.start <= offset < entry.end and entry.target in self._index:
                yield self._index[entry.target], entry.depth, bool(entry.lasti)
