"""ELF, 64-bit and little-endian, through its program headers and dynamic section alone: section headers may be stripped."""

from __future__ import annotations

from collections.abc import Iterator

from .image import AARCH64, X86_64, Damaged, Image, Reader, Segment

_MACHINES = {62: X86_64, 183: AARCH64, 243: "riscv", 21: "ppc64", 22: "s390x", 258: "loongarch", 3: "i386", 40: "arm"}
_RELATIVE = {62: 8, 183: 1027}
_SYMBOLIC = {62: (1, 6, 7), 183: (257, 1025, 1026)}  # absolute, GLOB_DAT, JUMP_SLOT
_LOAD, _DYNAMIC = 1, 2
_STRTAB, _SYMTAB, _RELA, _RELASZ, _JMPREL, _PLTRELSZ, _HASH, _GNU_HASH, _RELR, _RELRSZ = 5, 6, 7, 8, 23, 2, 4, 0x6FFFFEF5, 36, 35
_MOST = 1 << 22  # relocations or symbols


def read(data: bytes | bytearray) -> Image:
    """The image of a shared library.

    Raises:
        Damaged: cut off, or no shared library.
    """
    reader = Reader(data)
    reader.part(0, 64)
    wide, little = data[4], data[5]
    kind, machine = reader.unpack("<HH" if little == 1 else ">HH", 16)
    image = Image("ELF", _MACHINES.get(machine, f"machine {machine}"))
    if wide != 2 or little != 1 or machine not in _RELATIVE:
        if wide == 1:
            image.machine += ", 32-bit"
        return image
    if kind != 3:
        raise Damaged("ELF, and no shared library")
    (table,) = reader.unpack("<Q", 32)
    size, count = reader.unpack("<HH", 54)
    dynamic: dict[int, int] = {}
    for index in range(min(count, 256)):
        kind, flags, offset, address, _, filled, whole, _ = reader.unpack("<IIQQQQQQ", table + index * max(size, 56))
        if kind == _LOAD and whole:
            image.segments.append(
                Segment(address, whole, reader.part(offset, min(filled, whole)), bool(flags & 2), bool(flags & 1))
            )
        elif kind == _DYNAMIC:
            dynamic = _dynamic(reader, offset, filled)
    if not dynamic:
        raise Damaged("ELF without a dynamic section")
    _link(image, _Tables(image, dynamic), machine)
    return image


def _dynamic(reader: Reader, offset: int, size: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for place in range(offset, offset + size - 15, 16):
        tag, value = reader.unpack("<QQ", place)
        if tag == 0:
            break
        found.setdefault(tag, value)
    return found


class _Tables:
    """The tables that the dynamic section names, read through memory as a loader does."""

    def __init__(self, image: Image, dynamic: dict[int, int]) -> None:
        self._image, self._dynamic = image, dynamic
        self._symbols: dict[int, tuple[str, int, int]] = {}

    def word(self, address: int, size: int = 8) -> int:
        self._image.spend()
        value = self._image.number(address, size)
        if value is None:
            raise Damaged(f"a table at {address:#x}, outside the file")
        return value

    def symbol(self, index: int) -> tuple[str, int, int]:
        """Name, section (0: undefined) and address."""
        if index not in self._symbols:
            place = self._dynamic.get(_SYMTAB, 0) + 24 * index
            name = self._image.text(self._dynamic.get(_STRTAB, 0) + self.word(place, 4)) or ""
            self._symbols[index] = (name, self.word(place + 6, 2), self.word(place + 8))
        return self._symbols[index]

    def count(self) -> int:
        """Symbols in the table, from a hash table's size."""
        if (table := self._dynamic.get(_GNU_HASH)) is not None:
            buckets, first, bloom = (self.word(table + place, 4) for place in (0, 4, 8))
            if buckets > _MOST or bloom > _MOST:
                raise Damaged("a hash table of impossible size")
            base = table + 16 + 8 * bloom
            last = max((self.word(base + 4 * index, 4) for index in range(buckets)), default=0)
            if last < first:
                return self._after(first)
            chain = base + 4 * buckets
            while last < _MOST and not self.word(chain + 4 * (last - first), 4) & 1:
                last += 1
            return min(last + 1, _MOST)
        if (table := self._dynamic.get(_HASH)) is not None:
            return min(self.word(table + 4, 4), _MOST)
        return 0

    def _after(self, first: int) -> int:
        """A library that exports nothing: its undefined symbols come before the first hashed one."""
        return min(first, _MOST)

    def relocations(self) -> Iterator[tuple[int, int, int, int]]:
        """Place, type, symbol and addend of each."""
        for start, size in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
            base = self._dynamic.get(start)
            length = self._dynamic.get(size, 0)
            if base is None or length // 24 > _MOST:
                continue
            for place in range(base, base + length - 23, 24):
                info, addend = self.word(place + 8), self.word(place + 16)
                yield self.word(place), info & 0xFFFFFFFF, info >> 32, addend - (1 << 64) if addend >> 63 else addend

    def packed(self) -> Iterator[int]:
        """Places of packed relative relocations (``DT_RELR``)."""
        base, size = self._dynamic.get(_RELR), self._dynamic.get(_RELRSZ, 0)
        if base is None or size // 8 > _MOST:
            return
        where = 0
        for place in range(base, base + size - 7, 8):
            word = self.word(place)
            if not word & 1:
                yield word
                where = word + 8
                continue
            for bit in range(1, 64):
                if word >> bit & 1:
                    yield where + 8 * (bit - 1)
            where += 8 * 63


def _link(image: Image, tables: _Tables, machine: int) -> None:
    for place in tables.packed():
        image.pointers[place] = tables.word(place)
    for place, kind, index, addend in tables.relocations():
        if kind == _RELATIVE[machine]:
            image.pointers[place] = addend
        elif kind in _SYMBOLIC[machine]:
            name, section, value = tables.symbol(index)
            if section == 0:
                image.imported[place] = name
            else:
                image.pointers[place] = value + (addend if kind == _SYMBOLIC[machine][0] else 0)
    for index in range(1, tables.count()):
        name, section, value = tables.symbol(index)
        if section:
            image.exports[name] = value
        else:
            image.undefined.add(name)
    image.undefined.update(image.imported.values())
