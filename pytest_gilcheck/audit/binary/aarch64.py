"""aarch64: the meaning of the instructions that move addresses and constants; every other one makes what it writes unknown."""

from __future__ import annotations

from .image import Image
from .walk import MASK, Flags, Flow, ImportedSymbol, OnStack, Result, Unknown, Value, Walk, WalkState

_SP = 31
_VECTOR = 32  # two halves of each vector register: 32 + 2 * number
_LOOKED_BACK = 8  # instructions before an indirect call that may load its target


class Arm64Processor:
    """The machine, for one image."""

    arguments, result, stack, link = (0, 1), 0, _SP, 30
    registers = 96
    clobbered = (*range(19), *range(_VECTOR, 96))

    def __init__(self, image: Image) -> None:
        self._image = image

    def word(self, pc: int) -> int:
        segment = self._image.segment(pc, 4)
        if segment is None or not segment.executable or pc & 3:
            raise Unknown(f"it goes to {pc:#x}, where there is no code")
        start = pc - segment.address
        return int.from_bytes(bytes(segment.data[start : start + 4]), "little")

    def flow(self, pc: int) -> Flow:
        word = self.word(pc)
        if word >> 26 in (0b000101, 0b100101):
            return Flow(4, "call" if word >> 31 else "jump", pc + 4 * _signed(word, 26) & MASK)
        if word & 0xFF000010 == 0x54000000:
            return Flow(4, "jump" if word & 15 >= 14 else "branch", pc + 4 * _signed(word >> 5, 19) & MASK)
        if word & 0x7E000000 == 0x34000000:  # CBZ, CBNZ
            return Flow(4, "branch", pc + 4 * _signed(word >> 5, 19) & MASK)
        if word & 0x7E000000 == 0x36000000:  # TBZ, TBNZ
            return Flow(4, "branch", pc + 4 * _signed(word >> 5, 14) & MASK)
        if word & 0xFE000000 == 0xD6000000:  # branches to registers, authenticated ones included
            kind = word >> 21 & 3
            if kind == 2:
                return Flow(4, "return")
            return Flow(4, "call" if kind == 1 else "jump", None, self._loaded_from(pc, word >> 5 & 31))
        if word & 0xFFE0001F == 0xD4200000 or word >> 16 == 0:  # BRK, UDF
            return Flow(4, "stop")
        return Flow(4, "next")

    def _loaded_from(self, pc: int, register: int) -> int | None:
        """The place that this register was read from just before, by ADRP and LDR."""
        offset: int | None = None
        base = register
        for place in range(pc - 4, pc - 4 * _LOOKED_BACK, -4):
            try:
                word = self.word(place)
            except Unknown:
                return None
            if offset is None and word & 0xFFC0001F == 0xF9400000 | register:
                offset, base = (word >> 10 & 0xFFF) * 8, word >> 5 & 31
            elif offset is not None and word & 0x9F00001F == 0x90000000 | base:
                return _page(word, place) + offset
            elif word & 0x9F00001F == 0x10000000 | base and offset is not None:
                return _near(word, place) + offset
        return None

    def stub_slot(self, image: Image, target: int) -> int | None:
        try:
            for distance in range(0, 20, 4):
                flow = self.flow(target + distance)
                if flow.kind == "jump" and flow.target is None:
                    register = self.word(target + distance) >> 5 & 31
                    return flow.slot if flow.slot is not None and self._begins(target, register) else None
                if flow.kind != "next":
                    return None
        except Unknown:
            pass
        return None

    def _begins(self, target: int, register: int) -> bool:
        """Whether a stub begins here: with ADRP, perhaps after a landing pad or a no-operation."""
        return register in (8, 9, 16, 17) and any(self.word(target + 4 * index) & 0x9F000000 == 0x90000000 for index in (0, 1))

    # -- meaning -----------------------------------------------------------------------------------------------------------------

    def step(self, walk: Walk, state: WalkState) -> list[WalkState]:
        word, flow, after = self.word(state.pc), self.flow(state.pc), state.pc + 4
        if flow.kind in ("call", "jump"):
            target: Value = flow.target
            if target is None:
                target = self._get(state, word >> 5 & 31)
            return walk.call(state, target, after) if flow.kind == "call" else walk.jump(state, target)
        if flow.kind == "return":
            return walk.leave(state)
        if flow.kind == "stop":
            return []
        if flow.kind == "branch":
            assert flow.target is not None, "branches are relative"
            return self._branch(state, word, flow.target, after)
        self._execute(walk, state, word)
        return [state.copy(after)]

    def _branch(self, state: WalkState, word: int, target: int, after: int) -> list[WalkState]:
        register: int | None = None
        equal_when: bool | None = None
        taken: bool | None = None
        if word & 0x7E000000 == 0x34000000:
            register, nonzero = word & 31, bool(word >> 24 & 1)
            value = self._get(state, register, 8 if word >> 31 else 4)
            equal_when = not nonzero
            if isinstance(value, int):
                taken = (value != 0) is nonzero
            elif isinstance(value, (OnStack, ImportedSymbol)):
                taken = nonzero
        elif word & 0x7E000000 == 0x36000000:
            value = self._get(state, word & 31)
            if isinstance(value, int):
                taken = bool(value >> ((word >> 26 & 0x20) | (word >> 19 & 0x1F)) & 1) is bool(word >> 24 & 1)
        else:
            condition, flags = word & 15, state.flags
            taken = _holds(flags, condition)
            if flags is not None and condition < 2:
                register, equal_when = flags.register, condition == 0
        states = []
        for holds, where in ((True, target), (False, after)):
            if taken is (not holds):
                continue
            way = state.copy(where)
            if register is not None and register != 31 and equal_when is not None:
                way.refined(register, equal_when is holds)
            states.append(way)
        return states

    def _get(self, state: WalkState, number: int, size: int = 8) -> Value:
        """A general register; 31 is zero."""
        return 0 if number == 31 else _cut(state.registers[number], size)

    def _set(self, state: WalkState, number: int, value: Value, size: int = 8) -> None:
        if number != 31:
            state.registers[number] = _cut(value, size)

    def _execute(self, walk: Walk, state: WalkState, word: int) -> None:
        registers = state.registers
        size = 8 if word >> 31 else 4
        target, source = word & 31, word >> 5 & 31
        if word & 0x9F000000 == 0x90000000:
            self._set(state, target, _page(word, state.pc))
        elif word & 0x9F000000 == 0x10000000:
            self._set(state, target, _near(word, state.pc))
        elif word & 0x1F800000 == 0x11000000:  # ADD, SUB of an immediate
            number = (word >> 10 & 0xFFF) << (12 if word >> 22 & 1 else 0)
            left = _cut(registers[source], size)  # 31 is the stack pointer
            value = _sum(left, -number if word >> 30 & 1 else number)
            if word >> 29 & 1:
                subtracts = bool(word >> 30 & 1)
                state.flags = Flags(left, number, source if number == 0 and source != 31 else None, False) if subtracts else None
                self._set(state, target, value, size)
            else:
                registers[target] = _cut(value, size)
        elif word & 0x1F800000 == 0x12800000 and word >> 29 & 3 != 1:  # MOVN, MOVZ, MOVK
            shift, field, kind = 16 * (word >> 21 & 3), word >> 5 & 0xFFFF, word >> 29 & 3
            held = registers[target] if target != 31 else 0
            value = (
                ~(field << shift) & MASK
                if kind == 0
                else field << shift
                if kind == 2
                else held & ~(0xFFFF << shift) | field << shift
                if isinstance(held, int)
                else None
            )
            self._set(state, target, value, size)
        elif word & 0x1F000000 == 0x0A000000:  # AND, ORR, EOR, ANDS of registers
            self._logical(state, word, size)
        elif word & 0x1F200000 == 0x0B000000:  # ADD, SUB of registers
            left, right = self._get(state, source, size), self._get(state, word >> 16 & 31, size)
            shift = word >> 10 & 0x3F
            summand: Value = right << shift if isinstance(right, int) and word >> 22 & 3 == 0 else None
            subtracts = bool(word >> 30 & 1)
            if summand is None and shift == 0 and isinstance(left, int) and not subtracts:
                left, summand = right, left
            value = _sum(left, -summand if subtracts else summand) if isinstance(summand, int) else None
            if word >> 29 & 1:
                zero = right == 0 and source != 31
                state.flags = Flags(left, right, source if zero else None, False) if subtracts and shift == 0 else None
            self._set(state, target, value, size)
        elif word & 0x3B000000 == 0x39000000:
            self._memory(walk, state, word, (word >> 10 & 0xFFF) * self._size(word), 0)
        elif word & 0x3B200000 == 0x38000000:
            self._memory(walk, state, word, _signed(word >> 12, 9), word >> 10 & 3)
        elif word & 0x3B200C00 == 0x38200800:  # a register as the offset
            offset = self._get(state, word >> 16 & 31)
            shift = self._size(word).bit_length() - 1 if word >> 12 & 1 else 0
            self._memory(walk, state, word, offset << shift if isinstance(offset, int) else None, 0)
        elif word & 0x3B000000 == 0x18000000:  # a literal
            size = 8 if word >> 30 & 1 else 4
            value = walk.load(state, state.pc + 4 * _signed(word >> 5, 19) & MASK, size)
            if word >> 26 & 1:
                self._lose(state, word)
            else:
                self._set(state, target, value if size == 8 or word >> 30 != 2 else None)
        elif word & 0x3A000000 == 0x28000000:
            self._pair(walk, state, word)
        elif word & 0x1FE00000 == 0x1A800000:  # CSEL and its kind
            self._select(state, word, size)
        elif (word & 0x9FF8FC00 == 0x0F00E400 and word & 0x000703E0 == 0) or (
            word & 0xFFF8FC00 == 0x6F00E400 and word & 0x000703E0 == 0
        ):  # MOVI of zero
            registers[_VECTOR + 2 * target] = registers[_VECTOR + 2 * target + 1] = 0
        elif word & 0xFFFFFC00 == 0x9E670000:  # FMOV Dd, Xn
            registers[_VECTOR + 2 * target], registers[_VECTOR + 2 * target + 1] = self._get(state, source), 0
        elif word & 0xFFFFFC00 == 0x4E181C00:  # MOV Vd.D[1], Xn
            registers[_VECTOR + 2 * target + 1] = self._get(state, source)
        elif word & 0xFFE0FC00 == 0x4EA01C00 and source == word >> 16 & 31:  # MOV of a vector
            for half in (0, 1):
                registers[_VECTOR + 2 * target + half] = registers[_VECTOR + 2 * source + half]
        elif word & 0xFFFFF01F == 0xD503201F or word & 0xFFFFF000 == 0xD5033000:
            pass  # hints and barriers
        elif word & 0x1F800000 == 0x12000000:  # logical with an immediate mask
            left = self._get(state, source, size)
            mask = _mask(word, size)
            kind = word >> 29 & 3
            value = None
            if isinstance(left, int):
                value = (left & mask) if kind in (0, 3) else (left | mask) if kind == 1 else left ^ mask
            elif isinstance(left, OnStack) and kind == 0:
                value = OnStack(left.offset & _signed(mask, 64))
            if kind == 3:
                state.flags = Flags(value, value, None, True) if isinstance(value, int) else None
                self._set(state, target, value, size)
            else:
                registers[target] = _cut(value, size)
        else:
            self._lose(state, word)

    def _logical(self, state: WalkState, word: int, size: int) -> None:
        left, right = self._get(state, word >> 5 & 31, size), self._get(state, word >> 16 & 31, size)
        kind, inverted, shift = word >> 29 & 3, bool(word >> 21 & 1), word >> 10 & 0x3F
        value: Value = None
        if kind == 1 and word >> 5 & 31 == 31 and not inverted and shift == 0:
            value = right
        elif isinstance(left, int) and isinstance(right, int) and word >> 22 & 3 == 0:
            other = right << shift & MASK
            other = ~other & MASK if inverted else other
            value = (left & other) if kind in (0, 3) else (left | other) if kind == 1 else left ^ other
        if kind == 3:
            same = word >> 5 & 31 == word >> 16 & 31 and shift == 0 and not inverted
            state.flags = Flags(left, right, word >> 5 & 31 if same else None, True) if shift == 0 and not inverted else None
        self._set(state, word & 31, value, size)

    def _select(self, state: WalkState, word: int, size: int) -> None:
        holds = _holds(state.flags, word >> 12 & 15)
        first, second = self._get(state, word >> 5 & 31, size), self._get(state, word >> 16 & 31, size)
        kind = (word >> 30 & 1) << 1 | word >> 10 & 1
        if kind:
            mask = (1 << 8 * size) - 1
            second = (
                (second + 1 & mask if kind == 1 else ~second & mask if kind == 2 else -second & mask)
                if isinstance(second, int)
                else None
            )
        self._set(state, word & 31, first if holds or first == second else second if holds is False else None, size)

    def _size(self, word: int) -> int:
        """Bytes that a load or store moves."""
        size = word >> 30
        return 16 if word >> 26 & 1 and word >> 23 & 1 and size == 0 else 1 << size

    def _memory(self, walk: Walk, state: WalkState, word: int, offset: int | None, mode: int) -> None:
        """A load or store of one register; mode 1 and 3 write the address back."""
        registers = state.registers
        size, vector, target, base = self._size(word), word >> 26 & 1, word & 31, word >> 5 & 31
        start = registers[base]
        address = _sum(start, offset) if offset is not None and mode != 1 else start if mode == 1 else None
        if mode in (1, 3):
            registers[base] = _sum(start, offset or 0)
        stores = word >> 22 & 3 == 0 if not (vector and size == 16) else word >> 22 & 1 == 0
        if stores:
            if vector:
                walk.store(state, address, min(size, 8), registers[_VECTOR + 2 * target])
                if size == 16:
                    walk.store(state, _sum(address, 8), 8, registers[_VECTOR + 2 * target + 1])
            else:
                walk.store(state, address, size, self._get(state, target, size))
        elif vector:
            registers[_VECTOR + 2 * target] = walk.load(state, address, min(size, 8))
            registers[_VECTOR + 2 * target + 1] = walk.load(state, _sum(address, 8), 8) if size == 16 else 0
        elif word >> 22 & 3 == 1:
            self._set(state, target, walk.load(state, address, size))
        elif word >> 30 != 3:  # sign-extending
            value = walk.load(state, address, size)
            wide = word >> 22 & 3 == 2
            self._set(state, target, _signed(value, 8 * size) & MASK if isinstance(value, int) else None, 8 if wide else 4)

    def _pair(self, walk: Walk, state: WalkState, word: int) -> None:
        registers = state.registers
        vector, kind, mode = word >> 26 & 1, word >> 30, word >> 23 & 3
        size = (4 << kind) if vector else (8 if kind == 2 else 4)
        offset, base = _signed(word >> 15, 7) * size, word >> 5 & 31
        start = registers[base]
        address = start if mode == 1 else _sum(start, offset)
        if mode in (1, 3):
            registers[base] = _sum(start, offset)
        for index, number in enumerate((word & 31, word >> 10 & 31)):
            place = _sum(address, index * size)
            if word >> 22 & 1:
                if vector:
                    registers[_VECTOR + 2 * number] = walk.load(state, place, min(size, 8))
                    registers[_VECTOR + 2 * number + 1] = walk.load(state, _sum(place, 8), 8) if size == 16 else 0
                else:
                    self._set(state, number, walk.load(state, place, size) if kind != 1 else None)
            elif vector:
                walk.store(state, place, min(size, 8), registers[_VECTOR + 2 * number])
                if size == 16:
                    walk.store(state, _sum(place, 8), 8, registers[_VECTOR + 2 * number + 1])
            else:
                walk.store(state, place, size, self._get(state, number, size))

    def _lose(self, state: WalkState, word: int) -> None:
        """An instruction whose meaning is not modelled: what it may write becomes unknown."""
        registers = state.registers
        state.flags = None
        for number in {
            word & 31,
            word >> 16 & 31 if word & 0x3F000000 == 0x08000000 or word & 0x3B200C00 == 0x38200000 else word & 31,
        }:
            if number != 31:
                registers[number] = None
            registers[_VECTOR + 2 * number] = registers[_VECTOR + 2 * number + 1] = None
        if word & 0x0A000000 == 0x08000000:  # loads and stores that are not modelled: exclusive, atomic, of several vectors
            if word >> 10 & 31 != 31:
                registers[word >> 10 & 31] = None
            base = registers[word >> 5 & 31]
            cell = (True, base.offset) if isinstance(base, OnStack) else (False, base) if isinstance(base, int) else None
            if cell is None:
                state.called = state.lost = True
            for distance in range(0, 64, 4):
                place = None if cell is None else (cell[0], cell[1] + distance)
                if place is not None and place in state.memory:
                    state.memory[place] = (state.memory[place][0], None)


def _page(word: int, pc: int) -> int:
    return (pc & ~0xFFF) + (_signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) << 12) & MASK


def _near(word: int, pc: int) -> int:
    return pc + _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) & MASK


def _mask(word: int, size: int) -> int:
    """The immediate of a logical instruction: a repeated, rotated run of ones."""
    width, rotation, ones = word >> 22 & 1, word >> 16 & 0x3F, word >> 10 & 0x3F
    length = (width << 6 | ~ones & 0x3F).bit_length() - 1
    if length < 1:
        return 0
    element = 1 << length
    run, turn = (ones & element - 1) + 1, rotation & element - 1
    pattern = (1 << run) - 1
    pattern = (pattern >> turn | pattern << element - turn) & (1 << element) - 1
    return sum(pattern << element * index for index in range(64 // element)) & (1 << 8 * size) - 1


def _holds(flags: Flags | None, condition: int) -> bool | None:
    """Whether a condition holds; None where the compared values do not decide it."""
    if condition >= 14:
        return True
    if flags is None or condition > 1:
        return None
    left, right = flags.left, flags.right
    if isinstance(left, int) and isinstance(right, int):
        return ((left & right) == 0 if flags.test else left == right) is (condition == 0)
    if isinstance(left, (OnStack, ImportedSymbol)) and (left == right if flags.test else right == 0):
        return condition == 1  # an address is not zero
    return None


def _sum(value: Value, number: int) -> Value:
    if isinstance(value, int):
        return value + number & MASK
    return OnStack(value.offset + number) if isinstance(value, OnStack) else None


def _cut(value: Value, size: int) -> Value:
    if isinstance(value, int):
        return value & (1 << 8 * size) - 1
    return value if size == 8 or (size == 4 and isinstance(value, Result)) else None


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
