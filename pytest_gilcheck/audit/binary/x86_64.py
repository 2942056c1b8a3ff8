"""x86-64: the length of every instruction, and the meaning of those that move addresses and constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .image import Image
from .walk import MASK, Flags, Flow, ImportedSymbol, OnStack, Result, Unknown, Value, Walk, WalkState

RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI = range(8)
_XMM = 16  # two halves of each vector register: 16 + 2 * number
_NO_MODRM_0F = {
    0x05,
    0x06,
    0x07,
    0x08,
    0x09,
    0x0B,
    0x0E,
    0x30,
    0x31,
    0x32,
    0x33,
    0x34,
    0x35,
    0x37,
    0x77,
    0xA0,
    0xA1,
    0xA2,
    0xA8,
    0xA9,
    0xAA,
}
_IMM8_0F = {0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6, 0x0F}
_LOADS, _STORES = {0x10, 0x28, 0x6F}, {0x11, 0x29, 0x7F}  # movups, movaps, movdqa, movdqu


@dataclass(frozen=True)
class Instruction:
    """One decoded instruction; ``space`` is 0 for one-byte opcodes, 1 for 0F, 2 for 0F 38, 3 for 0F 3A."""

    size: int
    space: int
    opcode: int
    wide: bool = False  # REX.W
    small: bool = False  # 66
    repeat: int = 0  # F2, F3
    vector: bool = False  # VEX or EVEX
    segment: bool = False  # FS or GS
    rex: bool = False
    mod: int = -1  # -1: no ModRM byte
    reg: int = 0
    rm: int = 0
    base: int | None = None
    index: int | None = None
    scale: int = 1
    displacement: int = 0
    relative: bool = False  # to the next instruction
    immediate: int = 0

    @property
    def width(self) -> int:
        """Operand size in bytes, of an instruction that is not of bytes."""
        return 8 if self.wide else 2 if self.small else 4


class X86Processor:
    """The machine, for one image."""

    stack, result, link, registers = RSP, RAX, None, 48

    def __init__(self, image: Image) -> None:
        self._image = image
        windows = image.kind == "PE"
        self.arguments = (RCX, RDX) if windows else (RDI, RSI)
        saved = {RBX, RBP, RSP, 12, 13, 14, 15} | ({RDI, RSI} if windows else set())
        self.clobbered = tuple(number for number in range(48) if number not in saved)
        self.decode = lru_cache(maxsize=1 << 16)(self._decode)

    # -- decoding ----------------------------------------------------------------------------------------------------------------

    def _bytes(self, pc: int) -> bytes:
        segment = self._image.segment(pc)
        if segment is None or not segment.executable:
            raise Unknown(f"it goes to {pc:#x}, where there is no code")
        start = pc - segment.address
        return bytes(segment.data[start : start + 16])

    def _decode(self, pc: int) -> Instruction:
        code = self._bytes(pc).ljust(16, b"\xcc")
        place, small, repeat, segment = 0, False, 0, False
        while code[place] in (0x66, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF0, 0x67) and place < 12:
            small |= code[place] == 0x66
            repeat = code[place] if code[place] in (0xF2, 0xF3) else repeat
            segment |= code[place] in (0x64, 0x65)
            place += 1
        rex = code[place] if 0x40 <= code[place] <= 0x4F else 0
        place += bool(rex)
        wide, high_reg, high_index, high_base = bool(rex & 8), rex & 4, rex & 2, rex & 1
        space, vector = 0, False
        opcode = code[place]
        if opcode in (0xC4, 0xC5, 0x62):
            vector = True
            if opcode == 0xC5:
                high_reg, space, prefix, place = ~code[place + 1] & 0x80, 1, code[place + 1] & 3, place + 2
            else:
                first, second = code[place + 1], code[place + 2]
                high_reg, high_index, high_base = ~first & 0x80, ~first & 0x40, ~first & 0x20
                space, wide, prefix = first & (7 if opcode == 0x62 else 0x1F), bool(second & 0x80), second & 3
                place += 4 if opcode == 0x62 else 3
            small, repeat = prefix == 1, (0, 0, 0xF3, 0xF2)[prefix]
            opcode = code[place]
            place += 1
        else:
            place += 1
            if opcode == 0x0F:
                opcode, space, place = code[place], 1, place + 1
                if opcode in (0x38, 0x3A):
                    opcode, space, place = code[place], 2 if opcode == 0x38 else 3, place + 1
        shape = _shape(space, opcode, vector)
        if shape is None:
            raise Unknown(f"bytes at {pc:#x} that are no instruction")
        modrm, immediate = shape
        mod, reg, rm, base, index, scale, displacement, relative = -1, 0, 0, None, None, 1, 0, False
        if modrm:
            byte = code[place]
            place += 1
            mod, reg, rm = byte >> 6, byte >> 3 & 7 | (8 if high_reg else 0), byte & 7 | (8 if high_base else 0)
            if mod != 3:
                base = rm
                if byte & 7 == 4:
                    sib = code[place]
                    place += 1
                    base, index, scale = sib & 7 | (8 if high_base else 0), sib >> 3 & 7 | (8 if high_index else 0), 1 << (sib >> 6)
                    index = None if index == 4 else index
                    if sib & 7 == 5 and mod == 0:
                        base = None
                        displacement, place = _signed(code, place, 4), place + 4
                elif byte & 7 == 5 and mod == 0:
                    base, relative = None, True
                    displacement, place = _signed(code, place, 4), place + 4
                if mod in (1, 2):
                    size = 1 if mod == 1 else 4
                    displacement, place = _signed(code, place, size), place + size
            if space == 0 and opcode in (0xF6, 0xF7) and byte >> 3 & 7 < 2:
                immediate = "b" if opcode == 0xF6 else "z"
        value = 0
        if immediate:
            size = {
                "b": 1,
                "w": 2,
                "z": 2 if small and not wide else 4,
                "v": 8 if wide else 2 if small else 4,
                "d": 4,
                "q": 8,
                "e": 3,
            }[immediate]
            value, place = _signed(code, place, size), place + size
        if not modrm and space == 0 and (0x50 <= opcode <= 0x5F or 0x90 <= opcode <= 0x97 or 0xB0 <= opcode <= 0xBF):
            rm = opcode & 7 | (8 if high_base else 0)
        if place > 15:
            raise Unknown(f"bytes at {pc:#x} that are no instruction")
        return Instruction(place, space, opcode, wide, small, repeat, vector, segment, bool(rex), mod, reg, rm, base, index, scale,
                           displacement, relative, value)  # fmt: skip

    def flow(self, pc: int) -> Flow:
        one = self.decode(pc)
        after = pc + one.size
        if one.space == 0:
            if one.opcode == 0xE8:
                return Flow(one.size, "call", after + one.immediate & MASK)
            if one.opcode in (0xE9, 0xEB):
                return Flow(one.size, "jump", after + one.immediate & MASK)
            if 0x70 <= one.opcode <= 0x7F or 0xE0 <= one.opcode <= 0xE3:
                return Flow(one.size, "branch", after + one.immediate & MASK)
            if one.opcode in (0xC2, 0xC3):
                return Flow(one.size, "return")
            if one.opcode in (0xCC, 0xF4):
                return Flow(one.size, "stop")
            if one.opcode == 0xFF and one.reg & 7 in (2, 4):
                slot = after + one.displacement & MASK if one.relative else None
                return Flow(one.size, "call" if one.reg & 7 == 2 else "jump", None, slot)
        if one.space == 1 and 0x80 <= one.opcode <= 0x8F and not one.vector:
            return Flow(one.size, "branch", after + one.immediate & MASK)
        if one.space == 1 and one.opcode == 0x0B:
            return Flow(one.size, "stop")
        return Flow(one.size, "next")

    def stub_slot(self, image: Image, target: int) -> int | None:
        try:
            for _ in range(3):  # endbr64, perhaps a push, and the jump
                flow = self.flow(target)
                if flow.kind == "jump":
                    return flow.slot
                one = self.decode(target)
                if not (one.space == 1 and one.opcode in (0x1E, 0x1F)):
                    return None
                target += flow.size
        except Unknown:
            pass
        return None

    # -- meaning -----------------------------------------------------------------------------------------------------------------

    def step(self, walk: Walk, state: WalkState) -> list[WalkState]:
        one = self.decode(state.pc)
        flow = self.flow(state.pc)
        after = state.pc + one.size
        if flow.kind == "call":
            if flow.target is not None and self._checks_cookie(flow.target):
                return [state.copy(after)]
            return walk.call(state, flow.target if flow.target is not None else self._operand(walk, state, one, 8), after)
        if flow.kind == "jump":
            target: Value = flow.target
            if target is None:
                target = self._operand(walk, state, one, 8)
                return walk.jump(state, target)
            return walk.jump(state, target)
        if flow.kind == "return":
            return walk.leave(state)
        if flow.kind == "stop":
            return []
        if flow.kind == "branch":
            assert flow.target is not None, "branches are relative"
            return self._branch(state, one, flow.target, after)
        self._execute(walk, state, one)
        return [state.copy(after)]

    def _checks_cookie(self, target: int) -> bool:
        """Whether it is ``__security_check_cookie`` of Microsoft's compiler, which changes no register and returns or ends."""
        code = self._bytes(target) if self._image.kind == "PE" else b""
        return code[:3] == b"\x48\x3b\x0d" and (code[7:8] == b"\x75" or code[7:9] == b"\xf2\x75")

    def _branch(self, state: WalkState, one: Instruction, target: int, after: int) -> list[WalkState]:
        taken = _holds(state.flags, one.opcode & 15) if one.opcode & 0xF0 in (0x70, 0x80) else None
        states = []
        flags = state.flags
        for holds, where in ((True, target), (False, after)):
            if taken is (not holds):
                continue
            way = state.copy(where)
            equal = (one.opcode & 15 == 4) is holds if one.opcode & 14 == 4 and one.opcode & 0xF0 in (0x70, 0x80) else None
            if equal is not None and flags is not None and flags.register is not None:
                way.refined(flags.register, equal)
            states.append(way)
        return states

    def _address(self, state: WalkState, one: Instruction) -> Value:
        """Of the memory operand."""
        if one.segment:
            return None
        if one.relative:
            return state.pc + one.size + one.displacement & MASK
        total: Value = 0 if one.base is None else state.registers[one.base]
        if one.index is not None:
            index = state.registers[one.index]
            total = _sum(total, index * one.scale) if isinstance(index, int) else None
        return _sum(total, one.displacement)

    def _operand(self, walk: Walk, state: WalkState, one: Instruction, size: int) -> Value:
        """What the ModRM operand holds."""
        if one.mod == 3:
            return _cut(state.registers[self._byte(one, one.rm, size)], size)
        return walk.load(state, self._address(state, one), size)

    def _byte(self, one: Instruction, number: int, size: int) -> int:
        """AH to BH are parts of RAX to RBX, and unknown here as those are after a write to them."""
        return number - 4 if size == 1 and 4 <= number < 8 and not one.rex else number

    def _put(self, walk: Walk, state: WalkState, one: Instruction, size: int, value: Value) -> None:
        if one.mod == 3:
            self._set(state, self._byte(one, one.rm, size), size, value)
        else:
            walk.store(state, self._address(state, one), size, value)

    def _set(self, state: WalkState, number: int, size: int, value: Value) -> None:
        if size >= 4:
            state.registers[number] = _cut(value, size)
        else:
            held = state.registers[number]
            mask = (1 << 8 * size) - 1
            known = isinstance(held, int) and isinstance(value, int)
            state.registers[number] = held & ~mask | value & mask if known else None  # type: ignore[operator]

    def _execute(self, walk: Walk, state: WalkState, one: Instruction) -> None:
        if one.vector or one.space > 1 or (one.space == 1 and not self._two_bytes(walk, state, one)):
            self._vector(walk, state, one)
        elif one.space == 0:
            self._one_byte(walk, state, one)

    def _one_byte(self, walk: Walk, state: WalkState, one: Instruction) -> None:
        code = one.opcode
        size = 1 if code < 0x40 and code & 1 == 0 else one.width
        registers = state.registers
        if code < 0x40 and code & 7 < 6:
            kind = code >> 3
            if code & 7 < 4:
                left, right = self._operand(walk, state, one, size), _cut(registers[self._byte(one, one.reg, size)], size)
                to_register = bool(code & 2)
                if to_register:
                    left, right = right, left
                register = one.reg if to_register else one.rm if one.mod == 3 else None
                same = one.mod == 3 and one.reg == one.rm
            else:
                left, right, register, same, to_register = _cut(registers[RAX], size), one.immediate, RAX, False, True
            value = self._arithmetic(state, kind, left, right, size, register, same)
            if kind != 7:
                if code & 7 >= 4:
                    self._set(state, RAX, size, value)
                elif to_register:
                    self._set(state, self._byte(one, one.reg, size), size, value)
                else:
                    self._put(walk, state, one, size, value)
        elif code in (0x80, 0x81, 0x83):
            size = 1 if code == 0x80 else one.width
            left = self._operand(walk, state, one, size)
            value = self._arithmetic(state, one.reg & 7, left, one.immediate, size, one.rm if one.mod == 3 else None, False)
            if one.reg & 7 != 7:
                self._put(walk, state, one, size, value)
        elif code in (0x84, 0x85):
            size = 1 if code == 0x84 else one.width
            same = one.mod == 3 and one.reg == one.rm
            left = self._operand(walk, state, one, size)
            state.flags = Flags(left, _cut(registers[one.reg], size), one.rm if same and size >= 4 else None, True)
        elif code in (0x88, 0x89):
            size = 1 if code == 0x88 else one.width
            self._put(walk, state, one, size, _cut(registers[self._byte(one, one.reg, size)], size))
        elif code in (0x8A, 0x8B):
            size = 1 if code == 0x8A else one.width
            self._set(state, self._byte(one, one.reg, size), size, self._operand(walk, state, one, size))
        elif code == 0x8D:
            self._set(state, one.reg, one.width, self._address(state, one))
        elif code == 0x63:
            value = self._operand(walk, state, one, 4)
            self._set(state, one.reg, one.width, _extended(value, 4))
        elif 0xB0 <= code <= 0xB7:
            self._set(state, self._byte(one, one.rm, 1), 1, one.immediate)
        elif 0xB8 <= code <= 0xBF:
            self._set(state, one.rm, one.width, one.immediate & (1 << 8 * one.width) - 1)
        elif code in (0xC6, 0xC7):
            size = 1 if code == 0xC6 else one.width
            self._put(walk, state, one, size, one.immediate & (1 << 8 * size) - 1)
        elif 0x50 <= code <= 0x57:
            value = registers[one.rm]
            registers[RSP] = _sum(registers[RSP], -8)
            walk.store(state, registers[RSP], 8, value)
        elif 0x58 <= code <= 0x5F:
            registers[one.rm] = walk.load(state, registers[RSP], 8)
            if one.rm != RSP:
                registers[RSP] = _sum(registers[RSP], 8)
        elif code in (0x68, 0x6A):
            registers[RSP] = _sum(registers[RSP], -8)
            walk.store(state, registers[RSP], 8, one.immediate & MASK)
        elif code == 0xC9:
            registers[RSP] = _sum(registers[RBP], 8)
            registers[RBP] = walk.load(state, registers[RBP], 8)
        elif code == 0xFF and one.reg & 7 == 6:
            value = self._operand(walk, state, one, 8)
            registers[RSP] = _sum(registers[RSP], -8)
            walk.store(state, registers[RSP], 8, value)
        elif code in (0x90, 0x98, 0x9B, 0xF5, 0xF8, 0xF9, 0xFC, 0xFD) and not (code == 0x90 and one.rm):
            if code == 0x98:
                registers[RAX] = _extended(_cut(registers[RAX], one.width // 2), one.width // 2)
        elif code in (0xA8, 0xA9):
            size = 1 if code == 0xA8 else one.width
            state.flags = Flags(_cut(registers[RAX], size), one.immediate & (1 << 8 * size) - 1, None, True)
        elif code in (0xF6, 0xF7) and one.reg & 7 < 2:
            size = 1 if code == 0xF6 else one.width
            state.flags = Flags(self._operand(walk, state, one, size), one.immediate & (1 << 8 * size) - 1, None, True)
        elif code in (0xFE, 0xFF) and one.reg & 7 < 2:
            size = 1 if code == 0xFE else one.width
            value = self._operand(walk, state, one, size)
            self._put(walk, state, one, size, _sum(value, 1 if one.reg & 7 == 0 else -1))
            state.flags = None
        elif code in (0xC0, 0xC1, 0xD0, 0xD1) and one.reg & 7 in (4, 5):
            size = 1 if code in (0xC0, 0xD0) else one.width
            value = self._operand(walk, state, one, size)
            bits = one.immediate & 63 if code < 0xD0 else 1
            moved = None
            if isinstance(value, int):
                moved = value << bits if one.reg & 7 == 4 else value >> bits
            self._put(walk, state, one, size, None if moved is None else moved & (1 << 8 * size) - 1)
            state.flags = None
        else:
            self._unknown(walk, state, one)

    def _arithmetic(
        self, state: WalkState, kind: int, left: Value, right: Value, size: int, register: int | None, same: bool
    ) -> Value:
        """ADD, OR, ADC, SBB, AND, SUB, XOR, CMP."""
        mask = (1 << 8 * size) - 1
        right = right & mask if isinstance(right, int) else right
        state.flags = None
        if kind == 7:
            zero = right == 0 and size >= 4
            state.flags = Flags(left, right, register if zero else None, False)
            return None
        if same and kind in (5, 6):
            state.flags = Flags(0, 0, None, False)
            return 0
        if kind in (0, 5):
            signed = _signed_value(right, size) if isinstance(right, int) else None
            value = None if signed is None else _sum(left, signed if kind == 0 else -signed)
            if value is None and kind == 0 and isinstance(left, int) and isinstance(right, OnStack):
                value = _sum(right, left)
            return _cut(value, size)
        if kind == 1 and isinstance(right, int) and right == mask:
            return mask
        if kind == 4 and right == 0:
            return 0
        if isinstance(left, int) and isinstance(right, int) and kind in (1, 4, 6):
            value = (left | right) if kind == 1 else (left & right) if kind == 4 else left ^ right
            state.flags = Flags(value, value, None, True)
            return value & mask
        if kind == 4 and isinstance(left, OnStack) and size == 8:  # the stack pointer is aligned
            return None if not isinstance(right, int) else OnStack(left.offset & _signed_value(right, 8))
        return None

    def _two_bytes(self, walk: Walk, state: WalkState, one: Instruction) -> bool:
        """An instruction of 0F that moves values between registers and memory; False for those of vectors."""
        code = one.opcode
        if code in (0x1E, 0x1F, 0x0D, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1D):
            return True  # hints
        if code in (0xB6, 0xB7, 0xBE, 0xBF):
            size = 1 if code in (0xB6, 0xBE) else 2
            value = self._operand(walk, state, one, size)
            self._set(state, one.reg, one.width, value if code < 0xBE else _extended(value, size))
            return True
        if 0x90 <= code <= 0x9F:
            holds = _holds(state.flags, code & 15)
            self._put(walk, state, one, 1, None if holds is None else int(holds))
            return True
        if 0x40 <= code <= 0x4F:
            holds = _holds(state.flags, code & 15)
            value, held = self._operand(walk, state, one, one.width), _cut(state.registers[one.reg], one.width)
            chosen = value if holds or value == held else held if holds is False else None
            self._set(state, one.reg, one.width, chosen)
            return True
        if code in (0xA2, 0x31, 0x01):
            for number in (RAX, RBX, RCX, RDX):
                state.registers[number] = None
            return code != 0x01
        if (
            code in (0xAF, 0xA3, 0xAB, 0xB3, 0xBB, 0xBA, 0xBC, 0xBD, 0xB8, 0xA4, 0xA5, 0xAC, 0xAD, 0xB0, 0xB1, 0xC0, 0xC1, 0xC7)
            or 0xC8 <= code <= 0xCF
        ):
            self._unknown(walk, state, one)
            if 0xC8 <= code <= 0xCF:
                state.registers[(code & 7) | 8] = state.registers[code & 7] = None
            return True
        return False

    def _vector(self, walk: Walk, state: WalkState, one: Instruction) -> None:
        """Moves of 16 bytes, by which compilers fill tables; everything else makes its operands unknown."""
        registers = state.registers
        low, high = _XMM + 2 * (one.reg & 15), _XMM + 2 * (one.reg & 15) + 1
        other = _XMM + 2 * (one.rm & 15)
        code, plain = one.opcode, one.space == 1 and one.mod >= 0
        if (
            plain
            and code in _LOADS
            and not (code == 0x10 and one.repeat)
            and not (code == 0x6F and not one.small and not one.repeat)
        ):
            if one.mod == 3:
                registers[low], registers[high] = registers[other], registers[other + 1]
            else:
                address = self._address(state, one)
                registers[low], registers[high] = walk.load(state, address, 8), walk.load(state, _sum(address, 8), 8)
        elif (
            plain
            and code in _STORES
            and not (code == 0x11 and one.repeat)
            and not (code == 0x7F and not one.small and not one.repeat)
        ):
            if one.mod == 3:
                registers[other], registers[other + 1] = registers[low], registers[high]
            else:
                address = self._address(state, one)
                walk.store(state, address, 8, registers[low])
                walk.store(state, _sum(address, 8), 8, registers[high])
                if one.vector:  # it may be one of 32 or 64 bytes
                    for distance in range(16, 64, 8):
                        self._forget(walk, state, _sum(address, distance))
        elif plain and code == 0x6E and one.small:
            registers[low], registers[high] = self._operand(walk, state, one, 8 if one.wide else 4), 0
        elif plain and code == 0x7E and one.repeat == 0xF3:
            registers[low], registers[high] = (
                (registers[other] if one.mod == 3 else walk.load(state, self._address(state, one), 8)),
                0,
            )
        elif plain and code == 0x7E and one.small:
            self._put(walk, state, one, 8 if one.wide else 4, _cut(registers[low], 8 if one.wide else 4))
        elif plain and code == 0xD6 and one.small and one.mod != 3:
            walk.store(state, self._address(state, one), 8, registers[low])
        elif plain and code in (0x13, 0x17) and one.mod != 3:
            walk.store(state, self._address(state, one), 8, registers[low if code == 0x13 else high])
        elif plain and code == 0x16 and one.mod != 3 and not one.repeat and not one.vector:
            registers[high] = walk.load(state, self._address(state, one), 8)
        elif plain and code in (0x6C, 0x16) and one.mod == 3 and not one.vector and (one.small or code == 0x16):
            registers[high] = registers[other]
        elif plain and code in (0xEF, 0x57) and one.mod == 3 and one.reg == one.rm:
            registers[low] = registers[high] = 0
        elif one.space == 3 and code == 0x22 and one.wide and not one.vector:
            registers[high if one.immediate & 1 else low] = self._operand(walk, state, one, 8)
        else:
            self._unknown(walk, state, one)

    def _forget(self, walk: Walk, state: WalkState, address: Value) -> None:
        cell = (True, address.offset) if isinstance(address, OnStack) else (False, address) if isinstance(address, int) else None
        if cell is not None and cell in state.memory:
            state.memory[cell] = (state.memory[cell][0], None)

    def _unknown(self, walk: Walk, state: WalkState, one: Instruction) -> None:
        """An instruction whose meaning is not modelled: whatever it may write becomes unknown."""
        state.flags = None
        registers = state.registers
        for number in (RAX, RDX) if one.space == 0 else (RAX,):
            registers[number] = None
        if one.mod >= 0:
            registers[one.reg] = None
            registers[_XMM + 2 * (one.reg & 15)] = registers[_XMM + 2 * (one.reg & 15) + 1] = None
            if one.mod == 3:
                registers[one.rm] = None
                registers[_XMM + 2 * (one.rm & 15)] = registers[_XMM + 2 * (one.rm & 15) + 1] = None
            else:
                address = self._address(state, one)
                if address is None:
                    state.called = state.lost = True
                for distance in range(0, 64 if one.vector else 16, 4):
                    self._forget(walk, state, _sum(address, distance))
        elif one.space == 0 and one.opcode in (0xA4, 0xA5, 0xAA, 0xAB):  # string moves: any part of memory
            for number in (RCX, RDI, RSI):
                registers[number] = None
            state.memory = {cell: (held[0], None) for cell, held in state.memory.items()}
            state.called = state.lost = True
        elif one.space == 0 and 0x90 <= one.opcode <= 0x97:
            registers[one.rm] = None


def _shape(space: int, opcode: int, vector: bool) -> tuple[bool, str] | None:
    """Whether there is a ModRM byte, and which immediate; None for what is no opcode in 64-bit mode."""
    if space == 0 and not vector:
        return _ONE_BYTE.get(opcode)
    if space == 1:
        if vector:
            return (opcode != 0x77, "b" if opcode in (0x70, 0x71, 0x72, 0x73, 0xC2, 0xC4, 0xC5, 0xC6) else "")
        if 0x80 <= opcode <= 0x8F:
            return (False, "d")
        if opcode in _NO_MODRM_0F or 0xC8 <= opcode <= 0xCF:
            return (False, "")
        return (True, "b" if opcode in _IMM8_0F else "")
    if space in (2, 5, 6):
        return (True, "")
    return (True, "b") if space == 3 else None


def _one_byte_shapes() -> dict[int, tuple[bool, str]]:
    shapes: dict[int, tuple[bool, str]] = {}
    for opcode in range(0x40):
        if opcode & 7 < 6:
            shapes[opcode] = (opcode & 7 < 4, "" if opcode & 7 < 4 else "b" if opcode & 7 == 4 else "z")
    plain = (*range(0x50, 0x60), *range(0x90, 0x9A), *range(0x9B, 0xA0), *range(0xA4, 0xA8), *range(0xAA, 0xB0), *range(0xEC, 0xF0))
    for opcode in (*plain, 0xC3, 0xC9, 0xCB, 0xCC, 0xCF, 0xD7, 0xF1, 0xF4, 0xF5, *range(0xF8, 0xFE)):
        shapes[opcode] = (False, "")
    for opcode in (0x63, *range(0x84, 0x90), *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xF6, 0xF7, 0xFE, 0xFF):
        shapes[opcode] = (True, "")
    for opcode in (*range(0x70, 0x80), *range(0xB0, 0xB8), 0x6A, 0xA8, 0xCD, 0xEB, *range(0xE0, 0xE8)):
        shapes[opcode] = (False, "b")
    for opcode in (0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6):
        shapes[opcode] = (True, "b")
    for opcode in (0x69, 0x81, 0xC7):
        shapes[opcode] = (True, "z")
    for opcode in range(0xB8, 0xC0):
        shapes[opcode] = (False, "v")
    for opcode in range(0xA0, 0xA4):
        shapes[opcode] = (False, "q")
    shapes |= {
        0x68: (False, "z"),
        0xA9: (False, "z"),
        0xC2: (False, "w"),
        0xC8: (False, "e"),
        0xE8: (False, "d"),
        0xE9: (False, "d"),
    }
    return shapes


_ONE_BYTE = _one_byte_shapes()


def _holds(flags: Flags | None, condition: int) -> bool | None:
    """Whether a condition holds; None where the compared values do not decide it."""
    if flags is None:
        return None
    left, right = flags.left, flags.right
    if isinstance(left, int) and isinstance(right, int):
        equal = (left & right) == 0 if flags.test else left == right
        if condition in (4, 5):
            return equal is (condition == 4)
        if not flags.test and condition in (2, 3):
            return (left < right) is (condition == 2)
        if not flags.test and condition in (6, 7):
            return (left <= right) is (condition == 6)
        return None
    address = isinstance(left, (OnStack, ImportedSymbol))
    if condition in (4, 5) and address and ((flags.test and left == right) or (not flags.test and right == 0)):
        return condition == 5  # an address is not zero
    return None


def _sum(value: Value, number: int) -> Value:
    if isinstance(value, int):
        return value + number & MASK
    return OnStack(value.offset + number) if isinstance(value, OnStack) else None


def _cut(value: Value, size: int) -> Value:
    if isinstance(value, int):
        return value & (1 << 8 * size) - 1
    return value if size == 8 or (size == 4 and isinstance(value, Result)) else None


def _extended(value: Value, size: int) -> Value:
    return _signed_value(value, size) & MASK if isinstance(value, int) else None


def _signed_value(value: int, size: int) -> int:
    value &= (1 << 8 * size) - 1
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value


def _signed(code: bytes, place: int, size: int) -> int:
    return int.from_bytes(code[place : place + size], "little", signed=True)
