"""What an extension module's entry point does, followed on its machine code without running it.

`PyInit_NAME` is walked instruction by instruction with the values that are known: constants, addresses in the image, imported
functions, places on the stack, results of calls. Both ways of a branch are walked unless the known values decide it. Where ways
meet, what differs becomes unknown. So the walk covers every path, and what it knows of an argument is so on each of them.

Calls into the image are followed where the callee reaches a function of Python's API that matters, or is short. Any other call
makes unknown what it may change. What the walk does not know decides nothing: the answer is then "cannot tell". Steps are bounded.

What does not work: looking for slot tables in the data alone. A library may hold tables of several modules, and tables that are
filled at run time (pybind11) look empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .image import Image

MASK = (1 << 64) - 1
_MOST_STEPS = 60_000
_MOST_SCANNED = 6_000  # instructions of one function that are looked through for calls
_SHORT = 160  # instructions of a function without calls that is always followed
_DEEPEST = 10  # calls inside calls

SET_GIL = "PyUnstable_Module_SetGIL"
MULTI_PHASE = "PyModuleDef_Init"
CREATORS = frozenset({"PyModule_Create2", "PyModule_FromDefAndSpec2", "PyModule_New", "PyModule_NewObject"})
MATTERS = CREATORS | {SET_GIL, MULTI_PHASE}
_FAILS = frozenset({"PyErr_SetString", "PyErr_Format", "PyErr_SetObject", "PyErr_NoMemory", "PyErr_SetNone", "PyErr_BadArgument"})
_RECOVERS = frozenset(
    {"PyErr_Clear", "PyErr_Print", "PyErr_PrintEx", "PyErr_Fetch", "PyErr_GetRaisedException", "PyErr_WriteUnraisable"}
)
ENDS = frozenset(
    {"abort", "exit", "_exit", "__stack_chk_fail", "Py_FatalError", "_Py_FatalErrorFunc", "__cxa_throw", "_Unwind_Resume",
     "__cxa_rethrow", "_ZSt9terminatev", "__assert_fail", "_CxxThrowException", "Py_Exit", "__clang_call_terminate",
     "_invalid_parameter_noinfo_noreturn", "__fortify_fail", "longjmp", "_ZSt17__throw_bad_allocv"}
)  # fmt: skip


class ImportedSymbol(NamedTuple):
    """The address of another library's function or object."""

    name: str


class OnStack(NamedTuple):
    """An address on the stack, by its distance from the stack pointer at the entry."""

    offset: int


class Result(NamedTuple):
    """What a call of an imported function returned, there."""

    name: str
    place: int
    calls: tuple[int, ...]


Value = int | ImportedSymbol | OnStack | Result | None  # None: unknown
Cell = tuple[bool, int]  # on the stack; address or offset


class Flags(NamedTuple):
    """The last comparison: of these two values; ``register`` is what was compared with zero, where one was."""

    left: Value
    right: Value
    register: int | None
    test: bool  # left & right instead of left - right


@dataclass
class WalkState:
    """What is known at one instruction."""

    pc: int
    registers: dict[int, Value]
    memory: dict[Cell, tuple[int, Value]] = field(default_factory=dict)  # size and value
    calls: tuple[int, ...] = ()  # return addresses
    gil: Value | str = "unset"  # the argument of the last PyUnstable_Module_SetGIL
    called: bool = False  # whether anything was called that may have changed memory that we do not know of
    lost: bool = False  # whether code of this image ran that was not followed, and may have written anywhere
    failing: bool = False  # whether an exception is set: whatever is returned, the import fails
    flags: Flags | None = None

    def copy(self, pc: int) -> WalkState:
        kept = (self.calls, self.gil, self.called, self.lost, self.failing, self.flags)
        return WalkState(pc, self.registers.copy(), self.memory.copy(), *kept)

    def refined(self, register: int, zero: bool) -> None:
        """Take note that a register is zero, or is not, on this way."""
        value = self.registers[register]
        if zero:
            self.registers[register] = 0
            if isinstance(value, Result):
                self.registers.update({number: 0 for number, held in self.registers.items() if held == value})
        elif isinstance(value, Result) and value.name == "PyErr_Occurred":
            self.failing = True


class Flow(NamedTuple):
    """How one instruction goes on.

    Attributes:
        size: its length in bytes.
        kind: ``next``, ``jump``, ``branch``, ``call``, ``return``, ``stop``.
        target: where to; None where that is computed.
        slot: the place that the target is read from, for ``jmp [rip+X]``.
    """

    size: int
    kind: str
    target: int | None = None
    slot: int | None = None


class Machine(Protocol):
    """What the walk needs to know of an architecture."""

    @property
    def registers(self) -> int: ...  # how many
    @property
    def arguments(self) -> tuple[int, ...]: ...  # registers of the first arguments
    @property
    def result(self) -> int: ...
    @property
    def stack(self) -> int: ...
    @property
    def clobbered(self) -> tuple[int, ...]: ...  # by a call
    @property
    def link(self) -> int | None: ...  # holds the return address; None where that is on the stack

    def flow(self, pc: int) -> Flow: ...

    def stub_slot(self, image: Image, target: int) -> int | None:
        """The place that a stub at this address reads its jump's target from; None if there is no stub."""

    def step(self, walk: Walk, state: WalkState) -> list[WalkState]: ...


class Unknown(Exception):
    """The walk cannot go on; the message says why, in one line."""


@dataclass(frozen=True)
class Call:
    """A call of a function that matters, with what was known there."""

    name: str
    arguments: tuple[Value, ...]
    state: WalkState


@dataclass
class WalkOutcome:
    """What a walk found.

    Attributes:
        calls: of the functions that matter.
        returns: what was returned, and the declaration by then, of each way out.
    """

    calls: list[Call] = field(default_factory=list)
    returns: list[tuple[Value, Value | str, WalkState]] = field(default_factory=list)


class Walk:
    """A walk through one function of an image.

    Args:
        guards: places that say whether a static variable of C++ is initialised; none is at the first import. A walk finds them and
            keeps them in its attribute of this name: a second walk then knows that the initialisation runs.

    Raises:
        Unknown: there are more steps than the bound, or bytes that are no code.
    """

    def __init__(self, image: Image, machine: Machine, guards: frozenset[int] = frozenset()) -> None:
        self.image, self.machine = image, machine
        self.guards = set(guards)
        self.outcome = WalkOutcome()
        self._reaches: dict[int, bool] = {}
        self._sizes: dict[int, int] = {}
        self._waiting: list[WalkState] = []
        self._seen: dict[tuple[object, ...], WalkState] = {}
        self._steps = 0

    def run(self, entry: int) -> WalkOutcome:
        registers: dict[int, Value] = dict.fromkeys(range(self.machine.registers))
        registers[self.machine.stack] = OnStack(0)
        if self.machine.link is not None:
            registers[self.machine.link] = ImportedSymbol("the caller")
        self._waiting.append(WalkState(entry, registers))
        while self._waiting:
            state = self._waiting.pop()
            for after in self.machine.step(self, state):
                self._go(after)
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise Unknown(f"its initialisation has more than {_MOST_STEPS:,} steps")
        return self.outcome

    def _go(self, state: WalkState) -> None:
        """Walk on from a state, unless no more is known there than was before."""
        key = (state.pc, state.calls, state.gil, state.failing, state.registers[self.machine.stack])
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = state.copy(state.pc)
            self._waiting.append(state)
        elif self._join(known, state):
            self._waiting.append(known.copy(known.pc))

    def _join(self, known: WalkState, new: WalkState) -> bool:
        """Keep of ``known`` what holds in both; whether it changed."""
        changed = False
        for register, value in known.registers.items():
            if value is not None and new.registers[register] != value:
                known.registers[register], changed = None, True
        for cell, held in list(known.memory.items()):
            if held[1] is not None and new.memory.get(cell) != held:
                known.memory[cell], changed = (held[0], None), True
        for cell, held in new.memory.items():
            if cell not in known.memory:
                known.memory[cell], changed = (held[0], None), True
        if new.called and not known.called:
            known.called = changed = True
        if new.lost and not known.lost:
            known.lost = changed = True
        if known.flags is not None and known.flags != new.flags:
            known.flags, changed = None, True
        return changed

    # -- memory ------------------------------------------------------------------------------------------------------------------

    def load(self, state: WalkState, address: Value, size: int, initial: bool = False) -> Value:
        """What is at an address; ``initial`` trusts the file for what no instruction was seen to write."""
        if isinstance(address, OnStack):
            cell: Cell = (True, address.offset)
        elif isinstance(address, int):
            cell = (False, address)
        else:
            return None
        if (held := state.memory.get(cell)) is not None and held[0] == size:
            return held[1]
        for distance in range(16):
            held = state.memory.get((cell[0], cell[1] - distance))
            if held is None or held[0] <= distance:
                continue
            if distance + size <= held[0] and isinstance(held[1], int):
                return held[1] >> 8 * distance & (1 << 8 * size) - 1
            return None
        if any((cell[0], cell[1] + distance) in state.memory for distance in range(1, size)):
            return None
        return None if cell[0] else self._loaded(state, cell[1], size, initial)

    def _loaded(self, state: WalkState, address: int, size: int, initial: bool) -> Value:
        if address in self.image.imported:
            return ImportedSymbol(self.image.imported[address]) if size == 8 else None
        if address in self.image.pointers:
            return self.image.pointers[address] if size == 8 else None
        segment = self.image.segment(address, size)
        if address in self.guards:
            return 0
        if segment is None or (segment.writable and state.called and not initial):
            return None
        return self.image.number(address, size)

    def store(self, state: WalkState, address: Value, size: int, value: Value) -> None:
        """Write; to an unknown address, whatever is there is taken to be none of what we know."""
        if isinstance(address, OnStack):
            on_stack, start = True, address.offset
        elif isinstance(address, int):
            on_stack, start = False, address
        else:
            state.called = state.lost = True
            return
        for place in range(start - 15, start + size):
            if (held := state.memory.get((on_stack, place))) is not None and place + held[0] > start:
                del state.memory[on_stack, place]
                if place < start or place + held[0] > start + size:
                    state.memory[on_stack, place] = (held[0], None)
        if isinstance(value, int):
            value &= (1 << 8 * size) - 1
        elif size != 8:
            value = None
        state.memory[on_stack, start] = (size, value)

    # -- control flow ------------------------------------------------------------------------------------------------------------

    def call(self, state: WalkState, target: Value, after: int) -> list[WalkState]:
        """The states after a call of ``target`` that returns to ``after``."""
        target = self.resolved(target)
        if isinstance(target, ImportedSymbol):
            return self._imported(state, target.name, after)
        if isinstance(target, int) and self._follow(state, target):
            inside = state.copy(target)
            inside.calls = (*state.calls, after)
            if self.machine.link is not None:
                inside.registers[self.machine.link] = after
            else:
                self._push(inside, after)
            return [inside]
        self._clobber(state)
        state.lost = True
        return [state.copy(after)]

    def jump(self, state: WalkState, target: Value) -> list[WalkState]:
        """The states after a jump that may be the last call of a function."""
        found = self.resolved(target)
        if isinstance(found, ImportedSymbol):
            return [final for after in self._imported(state, found.name, 0) for final in self.leave(after)]
        return [state.copy(found)] if isinstance(found, int) else self._lost(state)

    def leave(self, state: WalkState) -> list[WalkState]:
        """Return from a function."""
        if not state.calls:
            if not state.failing:
                self.outcome.returns.append((state.registers[self.machine.result], state.gil, state))
            return []
        outside = state.copy(state.calls[-1])
        outside.calls = state.calls[:-1]
        if self.machine.link is None and isinstance(pointer := outside.registers[self.machine.stack], OnStack):
            outside.registers[self.machine.stack] = OnStack(pointer.offset + 8)
        return [outside]

    def resolved(self, target: Value) -> Value:
        """Through stubs, to the imported function that they jump to."""
        for _ in range(4):
            if not isinstance(target, int):
                return target
            name = self._stub(target)
            if name is None:
                return target
            target = name
        return target

    def _lost(self, state: WalkState) -> list[WalkState]:
        """A jump to nowhere we know: a table of a switch, or a tail call through a pointer."""
        self.outcome.returns.append((None, state.gil if state.gil != "unset" else None, state))
        return []

    def _push(self, state: WalkState, address: int) -> None:
        pointer = state.registers[self.machine.stack]
        if isinstance(pointer, OnStack):
            state.registers[self.machine.stack] = OnStack(pointer.offset - 8)
            self.store(state, OnStack(pointer.offset - 8), 8, address)

    def _imported(self, state: WalkState, name: str, after: int) -> list[WalkState]:
        if name in ENDS:
            return []
        arguments = tuple(state.registers[number] for number in self.machine.arguments)
        if name in MATTERS:
            self.outcome.calls.append(Call(name, arguments, state.copy(state.pc)))
        if name == SET_GIL:
            second = arguments[1]
            state.gil = second if isinstance(second, int) else None
        self._clobber(state)
        state.failing = (state.failing or name in _FAILS) and name not in _RECOVERS
        result: Value = Result(name, state.pc, state.calls)
        if name == "__cxa_guard_acquire":
            result = 1  # the first import: nobody has been here before
            if isinstance(arguments[0], int):
                self.guards.add(arguments[0])
        elif name == "PyState_FindModule":
            result = 0  # for the same reason
        elif name == "__cxa_guard_release" and isinstance(arguments[0], int):
            self.store(state, arguments[0], 1, 1)
        state.registers[self.machine.result] = result
        return [state.copy(after)]

    def _clobber(self, state: WalkState) -> None:
        for register in self.machine.clobbered:
            state.registers[register] = None
        state.called, state.flags = True, None

    def _follow(self, state: WalkState, target: int) -> bool:
        if len(state.calls) >= _DEEPEST or target in state.calls:
            return False
        segment = self.image.segment(target)
        if segment is None or not segment.executable:
            return False
        if self.reaches(target):
            return True
        return self._sizes.get(target, _SHORT + 1) <= _SHORT

    # -- what a function calls ---------------------------------------------------------------------------------------------------

    def reaches(self, target: int) -> bool:
        """Whether a function calls, through direct calls, a function that matters."""
        if target in self._reaches:
            return self._reaches[target]
        order: list[int] = [target]
        callers: dict[int, set[int]] = {}
        seen, hits = {target}, set()
        while order and len(seen) < 400:
            function = order.pop()
            for callee in self._callees(function):
                if isinstance(callee, ImportedSymbol):
                    if callee.name in MATTERS:
                        hits.add(function)
                    continue
                callers.setdefault(callee, set()).add(function)
                if self._reaches.get(callee):
                    hits.add(function)
                elif callee not in seen and callee not in self._reaches:
                    seen.add(callee)
                    order.append(callee)
        reaching, spread = set(hits), list(hits)
        while spread:
            for caller in callers.get(spread.pop(), ()):
                if caller not in reaching:
                    reaching.add(caller)
                    spread.append(caller)
        if not order:  # all was seen
            self._reaches.update(dict.fromkeys(seen, False))
        self._reaches.update(dict.fromkeys(reaching, True))
        self._reaches.setdefault(target, False)
        return self._reaches[target]

    def _callees(self, function: int) -> Iterator[int | ImportedSymbol]:
        waiting = [function]
        seen: set[int] = set()
        found: dict[int | ImportedSymbol, None] = {}
        while waiting and len(seen) < _MOST_SCANNED:
            pc = waiting.pop()
            while pc not in seen and len(seen) < _MOST_SCANNED:
                seen.add(pc)
                try:
                    flow = self.machine.flow(pc)
                except Unknown:
                    break
                if flow.kind in ("call", "jump") and flow.slot is not None and flow.slot in self.image.imported:
                    found[ImportedSymbol(self.image.imported[flow.slot])] = None
                elif flow.kind == "call" and flow.target is not None:
                    target = self.resolved(flow.target)
                    if isinstance(target, (int, ImportedSymbol)):
                        found[target] = None
                if flow.kind in ("return", "stop"):
                    break
                if flow.kind == "jump":
                    if flow.target is None:
                        break
                    target = self.resolved(flow.target)
                    if isinstance(target, ImportedSymbol):
                        found[target] = None
                        break
                    if target in self._sizes or abs(flow.target - pc) > 1 << 16:  # a tail call, most likely
                        found[flow.target] = None
                    pc = flow.target
                    continue
                if flow.kind == "branch" and flow.target is not None:
                    waiting.append(flow.target)
                pc += flow.size
        self._sizes[function] = len(seen) + (0 if not found else _SHORT)
        return iter(found)

    def _stub(self, target: int) -> ImportedSymbol | None:
        """The imported function that a stub at this address jumps to; None if there is no stub."""
        if (slot := self.machine.stub_slot(self.image, target)) is not None and slot in self.image.imported:
            return ImportedSymbol(self.image.imported[slot])
        return None
