"""Mach-O, 64-bit: segments, chained fixups or the older opcodes, and symbols; universal files hold several images."""

from __future__ import annotations

from collections.abc import Iterator

from .image import AARCH64, X86_64, Damaged, Image, Reader, Segment, sleb, uleb

MAGICS = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"\xce\xfa\xed\xfe")
_MACHINES = {0x01000007: X86_64, 0x0100000C: AARCH64, 7: "i386", 12: "arm"}
_SEGMENT, _SYMTAB, _INFO, _INFO_ONLY, _FIXUPS, _TRIE = 0x19, 0x2, 0x22, 0x80000022, 0x80000034, 0x80000033


def read(data: bytes | bytearray) -> Iterator[Image]:
    """The image of each architecture.

    Raises:
        Damaged: cut off, or no Mach-O file.
    """
    if data[:3] != b"\xca\xfe\xba":
        yield _read(data)
        return
    reader = Reader(data)
    (count,) = reader.unpack(">I", 4)
    if not 0 < count < 16:  # a Java class file begins the same way
        raise Damaged("a universal file with an impossible number of architectures")
    for index in range(count):
        if data[3] == 0xBF:
            _, _, offset, size = reader.unpack(">IIQQ", 8 + 32 * index)
        else:
            _, _, offset, size = reader.unpack(">IIII", 8 + 20 * index)
        yield _read(bytes(reader.part(offset, size)))


def _read(data: bytes | bytearray) -> Image:
    reader = Reader(data)
    magic, machine, _, _, count, _ = reader.unpack("<IIIIII", 0)
    image = Image("Mach-O", _MACHINES.get(machine, f"machine {machine:#x}"))
    if magic != 0xFEEDFACF:
        if magic != 0xFEEDFACE:
            raise Damaged("a part of a universal file that is no Mach-O file")
        return image
    commands: dict[int, int] = {}
    place = 32
    starts: list[int] = []
    for _ in range(min(count, 4096)):
        command, size = reader.unpack("<II", place)
        if size < 8:
            raise Damaged("a load command without a size")
        if command == _SEGMENT:
            address, whole, offset, filled, _, access = reader.unpack("<QQQQII", place + 24)
            starts.append(address)
            if whole:
                image.segments.append(
                    Segment(address, whole, reader.part(offset, min(filled, whole)), bool(access & 2), bool(access & 4))
                )
        commands.setdefault(command, place)
        place += size
    if _SYMTAB in commands:
        _symbols(image, reader, commands[_SYMTAB])
    if _TRIE in commands:
        offset, size = reader.unpack("<II", commands[_TRIE] + 8)
        _exports(image, reader.part(offset, size), _base(image))
    if _FIXUPS in commands:
        offset, size = reader.unpack("<II", commands[_FIXUPS] + 8)
        _chained(image, Reader(reader.part(offset, size)), starts)
    for command in (_INFO, _INFO_ONLY):
        if command in commands:
            parts = reader.unpack("<10I", commands[command] + 8)
            _rebase(image, reader.part(parts[0], parts[1]), starts)
            for which in (2, 4, 6):  # bound at once, weak, lazy
                _bind(image, reader.part(parts[which], parts[which + 1]), starts, lazy=which == 6)
            _exports(image, reader.part(parts[8], parts[9]), _base(image))
    image.undefined.update(image.imported.values())
    return image


def _base(image: Image) -> int:
    return next((one.address for one in image.segments if one.executable), 0)


def _symbols(image: Image, reader: Reader, place: int) -> None:
    symbols, count, strings, _ = reader.unpack("<IIII", place + 8)
    for index in range(count):
        image.spend()
        name, kind, _, _, value = reader.unpack("<IBBHQ", symbols + 16 * index)
        if kind & 0xE0 or not kind & 1:  # of a debugger, or local
            continue
        text = reader.text(strings + name).removeprefix("_")
        if kind & 0x0E == 0:
            image.undefined.add(text)
        elif kind & 0x0E == 0x0E:
            image.exports[text] = value


def _exports(image: Image, trie: memoryview, base: int) -> None:
    """Exported symbols of the trie, for files whose symbol table was stripped."""
    waiting: list[tuple[int, bytes]] = [(0, b"")]
    seen: set[int] = set()
    while waiting:
        place, prefix = waiting.pop()
        image.spend()
        if place in seen or place >= len(trie):
            continue
        seen.add(place)
        size, after = uleb(trie, place)
        if size:
            flags, inside = uleb(trie, after)
            if not flags & 0x08:  # not of another library
                value, _ = uleb(trie, inside)
                image.exports.setdefault(prefix.decode("utf-8", "replace").removeprefix("_"), base + value)
        here = after + size
        if here >= len(trie):
            continue
        children, here = trie[here], here + 1
        for _ in range(children):
            image.spend()
            end = here
            while end < len(trie) and trie[end]:
                end += 1
            label = bytes(trie[here:end])
            child, here = uleb(trie, end + 1)
            waiting.append((child, prefix + label))


def _chained(image: Image, fixups: Reader, starts: list[int]) -> None:
    _, where, imports, symbols, count, layout, _ = fixups.unpack("<7I", 0)
    image.spend(count)
    names = [_imported_name(fixups, imports, index, layout, symbols) for index in range(count)]
    (segments,) = fixups.unpack("<I", where)
    for index in range(min(segments, len(starts))):
        (offset,) = fixups.unpack("<I", where + 4 + 4 * index)
        if offset == 0:
            continue
        _, page, pointer, _, _, pages = fixups.unpack("<IHHQIH", where + offset)
        image.spend(pages)
        for number in range(pages):
            (first,) = fixups.unpack("<H", where + offset + 22 + 2 * number)
            if first != 0xFFFF:
                _chain(image, starts[index] + page * number + first, pointer, names)


def _imported_name(fixups: Reader, imports: int, index: int, layout: int, symbols: int) -> str:
    if layout == 1:
        (word,) = fixups.unpack("<I", imports + 4 * index)
        offset = word >> 9
    elif layout == 2:
        (word, _) = fixups.unpack("<II", imports + 8 * index)
        offset = word >> 9
    elif layout == 3:
        (word, _) = fixups.unpack("<QQ", imports + 16 * index)
        offset = word >> 32
    else:
        raise Damaged(f"chained imports of format {layout}")
    return fixups.text(symbols + offset).removeprefix("_")


def _chain(image: Image, place: int, pointer: int, names: list[str]) -> None:
    """Follow one page's chain of pointers; an unknown format leaves its places unknown."""
    if pointer not in (2, 6, 1, 9, 12):
        return
    base = _base(image)
    for _ in range(1 << 14):
        image.spend()
        segment = image.segment(place, 8)
        if segment is None:
            raise Damaged("a chain of pointers that leads out of its segment")
        start = place - segment.address
        word = int.from_bytes(bytes(segment.data[start : start + 8]).ljust(8, b"\0"), "little")
        if pointer in (2, 6):
            bound, step, stride = word >> 63, word >> 51 & 0xFFF, 4
            target = word & 0xFFFFFFFFF
            ordinal = word & 0xFFFFFF
            relative = pointer == 6
        else:  # arm64e
            signed = word >> 63
            bound, step, stride = word >> 62 & 1, word >> 51 & 0x7FF, 8
            target = word & 0xFFFFFFFF if signed else word & 0x7FFFFFFFFFF
            ordinal = word & (0xFFFFFF if pointer == 12 else 0xFFFF)
            relative = bool(signed) or pointer != 1
        if bound:
            if ordinal >= len(names):
                raise Damaged("a bound pointer without a name")
            image.imported[place] = names[ordinal]
        else:
            image.pointers[place] = target + base if relative else target
        if step == 0:
            return
        place += step * stride


def _rebase(image: Image, code: memoryview, starts: list[int]) -> None:
    """Pointers into the image: the file holds their values already."""
    place = address = 0

    def mark(count: int, skip: int = 0) -> int:
        where = address
        image.spend(count)
        for _ in range(count):
            value = image.number(where, 8)
            if value is None:
                raise Damaged("a rebased pointer outside all segments")
            image.pointers[where] = value
            where += 8 + skip
        return where

    while place < len(code):
        opcode, low = code[place] & 0xF0, code[place] & 0x0F
        place += 1
        image.spend()
        if opcode == 0x00:
            break
        if opcode == 0x20:
            offset, place = uleb(code, place)
            address = _start(starts, low) + offset
        elif opcode == 0x30:
            step, place = uleb(code, place)
            address += step
        elif opcode == 0x40:
            address += 8 * low
        elif opcode == 0x50:
            address = mark(low)
        elif opcode == 0x60:
            count, place = uleb(code, place)
            address = mark(count)
        elif opcode == 0x70:
            step, place = uleb(code, place)
            address = mark(1) + step
        elif opcode == 0x80:
            count, place = uleb(code, place)
            skip, place = uleb(code, place)
            address = mark(count, skip)


def _bind(image: Image, code: memoryview, starts: list[int], lazy: bool) -> None:
    place = address = 0
    name = ""
    while place < len(code):
        opcode, low = code[place] & 0xF0, code[place] & 0x0F
        place += 1
        image.spend()
        if opcode == 0x00:
            if not lazy:  # of lazy ones each has an end of its own
                break
        elif opcode == 0x20:
            _, place = uleb(code, place)
        elif opcode == 0x40:
            end = place
            while end < len(code) and code[end]:
                end += 1
            name = bytes(code[place:end]).decode("utf-8", "replace").removeprefix("_")
            place = end + 1
        elif opcode == 0x60:
            _, place = sleb(code, place)
        elif opcode == 0x70:
            offset, place = uleb(code, place)
            address = _start(starts, low) + offset
        elif opcode == 0x80:
            step, place = uleb(code, place)
            address = (address + step) & (1 << 64) - 1
        elif opcode in (0x90, 0xA0, 0xB0):
            image.imported[address] = name
            address += 8
            if opcode == 0xA0:
                step, place = uleb(code, place)
                address = (address + step) & (1 << 64) - 1
            elif opcode == 0xB0:
                address += 8 * low
        elif opcode == 0xC0:
            count, place = uleb(code, place)
            skip, place = uleb(code, place)
            image.spend(count)
            for _ in range(count):
                image.imported[address] = name
                address += 8 + skip


def _start(starts: list[int], index: int) -> int:
    if index >= len(starts):
        raise Damaged("an address in a segment that does not exist")
    return starts[index]
