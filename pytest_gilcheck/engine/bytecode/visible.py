"""The step tables of code under test: which of its instructions are visible steps.

Between two visible steps a thread does nothing that another thread could notice, so a switch there is equivalent to one right
before the next visible step: searching switches at visible steps alone loses nothing. The rule is that every instruction is a step,
except those that are known to touch nothing shared. `instructions` has the exceptions with their reasons; `operands` knows what an
instruction works on, `changing` which names are constant, and `calls` which calls make steps of their own.

`tests/fuzz/test_soundness.py` compares the outcomes of generated programs with those of the same programs where every instruction
is a step.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ...core.lookup import looked_up
from ...core.origin import under_test
from ...core.source import Position, position_text
from .calls import first_argument, global_callee, is_step
from .changing import MISSING, Changing
from .code_facts import instructions_of
from .instructions import CALLS, INSTRUCTIONS
from .operands import Stack, operands
from .step_rule import GENERATOR, Operation, touched
from .successors import successors_of

Name = str  # what a step touches: ".balance", "global total", "cell n", "[]", "call"

ENTRY = "entry"  # the name of a step that nothing but C can notice
BY_C = 2  # in `StepTable.locations`: a step only if C has called the function
_NONE_PASSED = 3  # arguments of a call of __exit__ at the end of a with statement


@dataclass(frozen=True)
class Access:
    """What a visible step does.

    Attributes:
        kind: ``"read"``, ``"write"`` or ``"call"``; ``"end"`` if all that can be seen of it is that an object ends.
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
        return mine == others or (mine in _ANYTHING and others in _ANYTHING)


_ANYTHING = ("[]", "call", ENTRY)
BOUNDARY = Access("call", "an operation", 0)  # that begins: a point between two operations of a thread
ACQUIRE = Access("write", "a lock", 0)
CLOCK_READING = Access("read", "the clock", 0)
IN_C = Access("read", "[]", 0)  # in the middle of a call in C that is taken apart (`apart`)


@dataclass
class StepTable:
    """The steps of one code object, by bytecode offset.

    Attributes:
        namespace: the globals of the code.
        steps: the visible steps that are not calls; up to 3.11, calls too.
        calls: the calls, which are classified when they happen, each with its step, the number of its arguments (-1: not known),
            and whether the end of an argument may be noticed; from 3.12 on. None stands for a call that is among ``steps``.
        checks: the offsets at or right before which the interpreter checks for a request to release the GIL.
        locations: every offset of ``steps`` or ``checks``, with its step or None, and whether it is in ``checks``; `BY_C` for the
            beginning of a function that may end without any other step: C that calls it is interrupted there.
        apart: the offsets of steps and calls that are taken apart (`apart`).
    """

    code: CodeType
    namespace: dict[str, Any]
    steps: dict[int, Access] = field(default_factory=dict)
    calls: dict[int, tuple[Access | None, int, bool]] = field(default_factory=dict)
    checks: frozenset[int] = frozenset()
    locations: dict[int, tuple[Access | None, int]] = field(default_factory=dict)
    apart: frozenset[int] = frozenset()


class Visibility:
    """Makes the step tables of code under test.

    Args:
        everything: whether every instruction is to be a step. This is slow; it is what the rule is compared with.

    Attributes:
        names: what is known about the names of the program.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self.names = Changing()
        self._everything = everything

    def table(self, code: CodeType, namespace: dict[str, Any]) -> StepTable:
        """The table of a code object.

        Args:
            namespace: its globals.
        """
        self.names.file(code.co_filename)
        table = StepTable(code, namespace)
        instructions = instructions_of(code)
        stacks = operands(code, instructions, lambda name: self.names.value_of(namespace, name))
        checks: set[int] = set()
        line, ended_loop, at_entry, switch = code.co_firstlineno, False, False, ""
        nones = 0  # the number of consecutive instructions before this one that load None
        entry: dict[int, Access] = {}
        for before, instruction in zip(instructions[:1] + instructions, instructions, strict=False):
            name, offset = instruction.opname, instruction.offset
            known = INSTRUCTIONS[name]
            if known.event is False:
                continue
            if known.event is None or (name == "POP_TOP" and ended_loop):
                ended_loop, switch = name == "END_FOR", ""
                continue
            if instruction.positions is not None and instruction.positions.lineno is not None:
                line = instruction.positions.lineno
            if known.switch == "at its target":  # it checks only if it jumps
                checks.add(instruction.argval)
            if known.switch == "here" or switch == "behind":
                checks.add(offset)
            if switch == "behind" and at_entry and not entry:
                entry = {offset: Access("call", ENTRY, line)}
            at_entry, switch, ended_loop = name == "RESUME", known.switch, False
            drops = self.names.ends_matter and not _is_of_a_local(instruction, before)
            self._classify(instruction, line, nones, looked_up(stacks, offset) or (), table, drops=drops)
            nones = nones + 1 if name == "LOAD_CONST" and instruction.argval is None else 0
        if code.co_flags & GENERATOR or not _ends_without(table.steps, code, instructions):
            entry = {}
        table.steps |= entry
        table.checks = frozenset(checks)
        table.locations = {
            offset: (table.steps.get(offset), BY_C if offset in entry else offset in checks) for offset in (*table.steps, *checks)
        }
        if self.names.takes_apart:
            table.apart = frozenset(each for each in (*table.steps, *table.calls) if self.names.is_apart(place_in_code(code, each)))
        return table

    def _classify(
        self, instruction: dis.Instruction, line: int, nones: int, stack: Stack, table: StepTable, *, drops: bool
    ) -> None:
        """Enter an instruction into the table, as a step or as a call, if it is one.

        Args:
            drops: whether it may be noticed that an object ends in it.
        """
        name, offset, names = instruction.opname, instruction.offset, self.names
        operation = Operation(name, instruction.arg or 0, instruction.argval, stack, table.code, names)
        always = self._everything or names.looked_into or names.all_visible
        if name in CALLS:
            # A call of __exit__ has an event in some versions only, and CALL_FUNCTION_EX reads its arguments before it calls.
            at_once = always or nones >= _NONE_PASSED or (names.ends_matter and sys.version_info < (3, 12))
            if sys.version_info >= (3, 12):
                access = None if at_once else Access("call", "call", line)
                table.calls[offset] = access, int(instruction.arg or 0) if name == "CALL" else -1, names.ends_matter
                if name != "CALL_FUNCTION_EX" and not at_once:
                    return
            elif name != "CALL_FUNCTION_EX" and not at_once and self._harmless_by_name(instruction, table):
                return
        what = touched(operation, ends_matter=False)
        if what is None and (always or (drops and touched(operation, ends_matter=True) is not None)):
            what = "end []"  # it may drop a reference, and touches nothing else
        if what is not None:
            kind, _, name = what.partition(" ")
            table.steps[offset] = Access(kind, name, line)

    def _harmless_by_name(self, instruction: dis.Instruction, table: StepTable) -> bool:
        """Whether the source text names a global callee that makes steps of its own, or no step at all."""
        code = table.code
        text = _text(instruction, code)
        name = global_callee(text)
        if name is None or name in code.co_varnames or name in code.co_cellvars or name in code.co_freevars:
            return False
        callee = self.names.value_of(table.namespace, name)
        return callee is not MISSING and not is_step(callee, first_argument(text), under_test)


def _is_of_a_local(instruction: dis.Instruction, before: dis.Instruction) -> bool:
    """Whether an attribute is loaded of what a local variable goes on to refer to, so that no object ends in it."""
    loads = instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and not instruction.is_jump_target
    return loads and before.opname.startswith("LOAD_FAST") and "CLEAR" not in before.opname


def _ends_without(steps: Container[int], code: CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """Whether a function may end without one of these steps. (A call that is judged when it happens need be none.)"""
    successors, seen, waiting = successors_of(code), set[int](), [0]
    while waiting:
        index = waiting.pop()
        if index in seen or instructions[index].offset in steps:
            continue
        seen.add(index)
        after = [following for following in (successors.next[index], successors.jump[index]) if following is not None]
        if not after:
            return True
        waiting += [*after, *(handler for handler, _, _ in successors.handlers[index])]
    return False


def place_in_code(code: CodeType, offset: int) -> str:
    """The name by which a call in C is taken apart (`Changing.take_apart`): the same in each process."""
    return f"in C {code.co_qualname}+{offset}"


def _text(instruction: dis.Instruction, code: CodeType) -> str:
    """The source text of an instruction; empty if it extends over several lines."""
    return position_text(code.co_filename, Position(*instruction.positions or ()))
