"""Which instructions may drop the last reference to an object that ends then.

Where code under test may notice the end of an object (`changing`), an instruction that drops a reference is a visible step. Most of
them drop none that is the last: a local that is stored for the first time referred to nothing before, and what a local refers to
does not end when the stack lets it go. Numbers, texts and None end unnoticed: they have no weak references, and no finalizer.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType

from ...core.lookup import looked_up
from .code_facts import kept
from .operands import Operand, Stack, parameters_of
from .successors import successors_of

_UNNOTICED = frozenset({Operand.IMMUTABLE, Operand.NUMBERS, Operand.RANGE_TYPE, Operand.PURE_FUNCTION})
_KEPT = _UNNOTICED | {Operand.HELD}
_POPPED = {"POP_TOP": 1, "IS_OP": 2, "LOAD_ATTR": 1, "LOAD_METHOD": 1} | {
    f"POP_JUMP_{direction}IF_{what}": 1 for direction in ("", "FORWARD_", "BACKWARD_") for what in ("NONE", "NOT_NONE")
}
_known: dict[CodeType, tuple[dict[int, Stack], dict[int, frozenset[str]]]] = {}  # what was followed, with the stacks that it used
_STORING = frozenset({"STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_MAYBE_NULL"})


class Dropping:
    """What one code object may drop.

    Args:
        stacks: the stack before each instruction, by offset (`operands.operands`).
    """

    def __init__(self, code: CodeType, instructions: Sequence[dis.Instruction], stacks: dict[int, Stack]) -> None:
        self._instructions, self._stacks = instructions, stacks
        known = looked_up(_known, code)
        if known is None or known[0] is not stacks:
            known = kept(_known, code, (stacks, self._followed(code) if stacks else {}))
        self._bound = known[1]

    def may_end(self, instruction: dis.Instruction) -> bool:
        """Whether an object may end in an instruction that drops a reference."""
        name, stack = instruction.opname, self._stacks.get(instruction.offset)
        if stack is None:
            return True
        if name in _POPPED:
            count = _POPPED[name]
            return len(stack) < count or any(each not in _KEPT for each in stack[-count:])
        bound = self._bound.get(instruction.offset)
        if bound is None or (name not in _STORING and name != "DELETE_FAST"):
            return True
        if name == "STORE_FAST_STORE_FAST":
            first, second = instruction.argval
            return first == second or first in bound or second in bound
        return _stored(instruction) in bound

    def arguments_end(self, instruction: dis.Instruction) -> bool:
        """Whether an argument of a call may end in it, if the callee does not keep it."""
        stack, count = self._stacks.get(instruction.offset), int(instruction.arg or 0)
        if instruction.opname != "CALL" or stack is None or len(stack) < count:
            return True
        return any(each not in _KEPT for each in stack[len(stack) - count :])

    def _followed(self, code: CodeType) -> dict[int, frozenset[str]]:
        """By offset, the locals that may refer to an object whose end can be noticed."""
        before: dict[int, frozenset[str]] = {0: frozenset(parameters_of(code))}
        successors, waiting = successors_of(code), [0]

        def join(index: int, bound: frozenset[str]) -> None:
            known = before.get(index)
            if known is None or not bound <= known:
                before[index] = bound | (known or frozenset())
                waiting.append(index)

        while waiting:
            index = waiting.pop()
            instruction, bound = self._instructions[index], before[index]
            for handler, _, _ in successors.handlers[index]:
                join(handler, bound)
            after = self._after(instruction, bound)
            for following in (successors.next[index], successors.jump[index]):
                if following is not None:
                    join(following, after)
        return {self._instructions[index].offset: bound for index, bound in before.items()}

    def _after(self, instruction: dis.Instruction, bound: frozenset[str]) -> frozenset[str]:
        name = instruction.opname
        if name in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
            return bound - {instruction.argval}
        if name not in _STORING:
            return bound
        stored = list(instruction.argval) if name == "STORE_FAST_STORE_FAST" else [_stored(instruction)]
        stack = self._stacks.get(instruction.offset, ())
        for depth, local in enumerate(stored, 1):
            value = stack[-depth] if len(stack) >= depth else Operand.UNKNOWN
            bound = bound - {local} if value in _UNNOTICED else bound | {local}
        return bound


def _stored(instruction: dis.Instruction) -> str:
    """The local to which an instruction stores, or which it deletes."""
    name = instruction.argval
    return name[0] if isinstance(name, tuple) else str(name)
