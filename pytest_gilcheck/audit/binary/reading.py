"""Which of the three formats a shared library is of."""

from __future__ import annotations

from collections.abc import Iterator

from . import elf, macho, pe
from .image import Damaged, Image


def images(data: bytes | bytearray) -> Iterator[Image]:
    """The images in a file: one, or one for each architecture of a universal Mach-O file.

    Raises:
        Damaged: none of the three formats, or cut off.
    """
    magic = bytes(data[:4])
    if magic == b"\x7fELF":
        yield elf.read(data)
    elif magic in macho.MAGICS:
        yield from macho.read(data)
    elif magic[:2] == b"MZ":
        yield pe.read(data)
    else:
        raise Damaged("neither ELF nor Mach-O nor PE")
