"""PE32+, the format of ``.pyd`` files: sections, base relocations, exports and imports. Addresses include the preferred base."""

from __future__ import annotations

from itertools import count as numbers

from .image import AARCH64, X86_64, Damaged, Image, Reader, Segment

_MACHINES = {0x8664: X86_64, 0xAA64: AARCH64, 0x14C: "i386"}
_EXPORT, _IMPORT, _RELOC, _DELAY = 0, 1, 5, 13


def read(data: bytes | bytearray) -> Image:
    """The image of a dynamic-link library.

    Raises:
        Damaged: cut off, or no PE file.
    """
    reader = Reader(data)
    (start,) = reader.unpack("<I", 0x3C)
    if bytes(reader.part(start, 4)) != b"PE\0\0":
        raise Damaged("a DOS program, and no PE file")
    machine, sections, _, _, _, optional, _ = reader.unpack("<HHIIIHH", start + 4)
    image = Image("PE", _MACHINES.get(machine, f"machine {machine:#x}"))
    header = start + 24
    (magic,) = reader.unpack("<H", header)
    if magic != 0x20B:
        image.machine += ", 32-bit"
        return image
    (base,) = reader.unpack("<Q", header + 24)
    (count,) = reader.unpack("<I", header + 108)
    folders = [reader.unpack("<II", header + 112 + 8 * index) for index in range(min(count, 16))]
    for index in range(sections):
        size, address, filled, offset = reader.unpack("<IIII", header + optional + 40 * index + 8)
        (flags,) = reader.unpack("<I", header + optional + 40 * index + 36)
        whole = max(size, filled)
        part = reader.part(offset, min(filled, whole)) if filled else memoryview(b"")
        image.segments.append(Segment(base + address, whole, part, bool(flags & 0x80000000), bool(flags & 0x20000000)))

    def folder(index: int) -> tuple[int, int]:
        return (folders[index][0], folders[index][1]) if index < len(folders) and folders[index][0] else (0, 0)

    _relocations(image, base, *folder(_RELOC))
    _exports(image, base, folder(_EXPORT)[0])
    _imports(image, base, folder(_IMPORT)[0], 20, 0, 16)
    _imports(image, base, folder(_DELAY)[0], 32, 16, 12)
    image.undefined.update(image.imported.values())
    return image


def _word(image: Image, address: int, size: int) -> int:
    image.spend()
    value = image.number(address, size)
    if value is None:
        raise Damaged(f"a table at {address:#x}, outside all sections")
    return value


def _relocations(image: Image, base: int, start: int, size: int) -> None:
    place, end = base + start, base + start + size
    while place + 8 <= end:
        page, length = _word(image, place, 4), _word(image, place + 4, 4)
        if length < 8:
            break
        for entry in range(place + 8, min(place + length, end) - 1, 2):
            word = _word(image, entry, 2)
            if word >> 12 == 10:
                where = base + page + (word & 0xFFF)
                if (value := image.number(where, 8)) is not None:
                    image.pointers[where] = value
        place += length


def _exports(image: Image, base: int, start: int) -> None:
    if not start:
        return
    table = base + start
    count, functions, names, ordinals = (_word(image, table + place, 4) for place in (24, 28, 32, 36))
    for index in range(count):
        name = image.text(base + _word(image, base + names + 4 * index, 4))
        ordinal = _word(image, base + ordinals + 2 * index, 2)
        if name:
            image.exports[name] = base + _word(image, base + functions + 4 * ordinal, 4)


def _imports(image: Image, base: int, start: int, size: int, names_at: int, slots_at: int) -> None:
    if not start:
        return
    for index in range(4096):
        entry = base + start + size * index
        names, slots = _word(image, entry + names_at, 4), _word(image, entry + slots_at, 4)
        if not slots:
            return
        for number in numbers():
            word = _word(image, base + (names or slots) + 8 * number, 8)
            if not word:
                break
            if not word >> 63:  # by name
                image.imported[base + slots + 8 * number] = image.text(base + (word & 0x7FFFFFFF) + 2) or ""
