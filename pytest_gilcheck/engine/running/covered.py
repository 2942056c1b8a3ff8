"""Which instructions of code under test a run comes to.

What only the first run does, nobody sees again: it fills a cache, adds a handler, makes a file, and later runs find it so. Wherever
that is kept, it shows in the path: the first run comes to instructions to which no later one comes.
"""

from __future__ import annotations

import zlib
from types import CodeType

from ...core.origin import standard
from ...core.source import code_position, unnumbered

_OF_ABC = (".__subclasshook__", ".__subclasscheck__", ".__instancecheck__", "_check_methods")
_Key = tuple[str, str, int]  # a run may make the same code anew


def _of_abc(key: _Key) -> bool:
    """Whether it is code whose answer a class in C keeps: no run can make it anew."""
    return key[1].endswith(_OF_ABC) and standard(key[0])


class Covered:
    """The instructions that some runs have come to, in threads of the program."""

    def __init__(self) -> None:
        self._codes: dict[_Key, CodeType] = {}
        self._offsets: dict[_Key, set[int]] = {}
        self._by_id: dict[int, tuple[set[int], CodeType]] = {}  # the same sets; with the code, so that its id stays in use

    def add(self, code: CodeType, offset: int) -> None:
        """Called for every instruction, so it makes no key of texts."""
        try:  # no `get`: see `looked_up`
            self._by_id[id(code)][0].add(offset)
        except KeyError:
            key = unnumbered(code.co_filename), code.co_qualname, code.co_firstlineno
            self._codes.setdefault(key, code)
            offsets = self._offsets.setdefault(key, set())
            offsets.add(offset)
            self._by_id[id(code)] = offsets, code

    @property
    def digest(self) -> int:
        """A checksum of the whole path, by which another process knows that its run took the same."""
        taken = sorted((key, sorted(offsets)) for key, offsets in self._offsets.items() if not _of_abc(key))
        return zlib.crc32(repr(taken).encode())

    def beyond(self, *others: Covered) -> str:
        """The first place to which these runs came and no other did, ``"file:line (function)"``; empty if there is none."""
        for key, offsets in self._offsets.items():
            if _of_abc(key):
                continue
            if alone := offsets.difference(*(other._offsets.get(key, ()) for other in others)):
                code = self._codes[key]
                return f"{code.co_filename}:{_line(code, alone)} ({key[1]})"
        return ""


def _line(code: CodeType, offsets: set[int]) -> int:
    """The line of the first of these instructions that has one: those before the first line of a function have none."""
    lines = (code_position(code, offset).line for offset in sorted(offsets))
    return next((line for line in lines if line is not None), code.co_firstlineno)
