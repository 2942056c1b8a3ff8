"""A shared library as a dynamic loader lays it out in memory: segments, relocated pointers, imports and exports.

The readers are our own. General libraries were weighed: `pyelftools` reads one of the three formats; `lief` reads all three, but is
a native extension that a hostile file could crash. What the audit needs of a format is the loader's view alone, so it has no
dependency for this. Every reader checks bounds and raises `Damaged`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

X86_64, AARCH64 = "x86-64", "aarch64"
_MOST_ENTRIES = 1_500_000  # of all tables of an image; the largest libraries of the index have a tenth
_LONGEST_NAME = 512  # bytes of a C string that is read


class Damaged(Exception):
    """The file is cut off, contradicts itself, or is of another format; the message is one line."""


@dataclass(frozen=True)
class Segment:
    """A part of memory: ``data`` may be shorter than ``size``, the rest is zero."""

    address: int
    size: int
    data: memoryview
    writable: bool
    executable: bool = False

    def holds(self, address: int, size: int = 1) -> bool:
        return self.address <= address and address + size <= self.address + self.size


@dataclass
class Image:
    """One architecture of one shared library.

    Attributes:
        kind: ``ELF``, ``Mach-O`` or ``PE``.
        machine: ``x86-64``, ``aarch64``, or the format's own name of another.
        pointers: places that the loader fills with an address in this image, and that address.
        imported: places that it fills with the address of another library's symbol, and the symbol's name.
        exports: exported symbols and their addresses.
        undefined: names of all symbols that it takes from other libraries.
    """

    kind: str
    machine: str
    segments: list[Segment] = field(default_factory=list)
    pointers: dict[int, int] = field(default_factory=dict)
    imported: dict[int, str] = field(default_factory=dict)
    exports: dict[str, int] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    _entries: int = 0

    def spend(self, entries: int = 1) -> None:
        """Count entries of tables that were read: a damaged size must not keep a reader busy.

        Raises:
            Damaged: there are more than any library has.
        """
        self._entries += entries
        if self._entries > _MOST_ENTRIES:
            raise Damaged(f"tables with more than {_MOST_ENTRIES:,} entries")

    def segment(self, address: int, size: int = 1) -> Segment | None:
        for one in self.segments:
            if one.holds(address, size):
                return one
        return None

    def number(self, address: int, size: int) -> int | None:
        """The unsigned little-endian number there, as the loader leaves it; None outside all segments."""
        if size == 8 and address in self.pointers:
            return self.pointers[address]
        one = self.segment(address, size)
        if one is None:
            return None
        start = address - one.address
        return int.from_bytes(bytes(one.data[start : start + size]).ljust(size, b"\0"), "little")

    def text(self, address: int) -> str | None:
        """The C string there, if it is one of printable ASCII."""
        one = self.segment(address)
        if one is None:
            return None
        start = address - one.address
        raw = bytes(one.data[start : start + _LONGEST_NAME])
        end = raw.find(b"\0")
        if end < 0 or not raw[:end].isascii():
            return None
        text = raw[:end].decode("ascii")
        return text if text.isprintable() else None

    def is_zero_filled(self, address: int) -> bool:
        """Whether the file has no content for this place (``.bss``)."""
        one = self.segment(address)
        return one is not None and address - one.address >= len(one.data)


class Reader:
    """Bounded reads of a file's bytes."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.data = memoryview(data)

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(layout, self.data, offset)
        except (struct.error, OverflowError):
            raise Damaged(
                f"cut off: {struct.calcsize(layout)} bytes at {offset:#x} of a file of {len(self.data):,} bytes"
            ) from None

    def part(self, offset: int, size: int) -> memoryview:
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise Damaged(f"cut off: {size:,} bytes at {offset:#x} of a file of {len(self.data):,} bytes")
        return self.data[offset : offset + size]

    def text(self, offset: int, limit: int = _LONGEST_NAME * 8) -> str:
        raw = bytes(self.data[offset : offset + limit]) if 0 <= offset < len(self.data) else b""
        end = raw.find(b"\0")
        return raw[: end if end >= 0 else limit].decode("utf-8", "replace")


def uleb(data: memoryview, place: int) -> tuple[int, int]:
    """An unsigned LEB128 number and where it ends."""
    value = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if not byte & 0x80:
            return value, place
    raise Damaged("a LEB128 number without an end")


def sleb(data: memoryview, place: int) -> tuple[int, int]:
    """A signed LEB128 number and where it ends."""
    value, end = uleb(data, place)
    bits = 7 * (end - place)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), end
