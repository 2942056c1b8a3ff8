"""Which instructions of code under test a run comes to.

What only the first run does, nobody sees again: it fills a cache, adds a handler, makes a file, and later runs find it so. Wherever
that is kept, it shows in the path: the first run comes to instructions to which no later one comes.
"""

from __future__ import annotations

from types import CodeType

from ...core.origin import standard
from ...core.source import code_position

_OF_ABC = (".__subclasshook__", ".__subclasscheck__", ".__instancecheck__", "_check_methods")
_Key = tuple[str, str, int]  # a run may make the same code anew


class Covered:
    """The instructions that some runs have come to, in threads of the program."""

    def __init__(self) -> None:
        self._codes: dict[_Key, CodeType] = {}
        self._offsets: dict[_Key, set[int]] = {}

    def add(self, code: CodeType, offset: int) -> None:
        key = code.co_filename, code.co_qualname, code.co_firstlineno
        if key not in self._offsets:
            self._codes[key], self._offsets[key] = code, set()
        self._offsets[key].add(offset)

    def beyond(self, others: Covered) -> str:
        """The first place to which these runs came and the others did not, ``"file:line (function)"``; empty if there is none."""
        for key, offsets in self._offsets.items():
            if key[1].endswith(_OF_ABC) and standard(key[0]):  # a class in C keeps what they answered, and no run can make it anew
                continue
            if alone := offsets - others._offsets.get(key, set()):
                return f"{key[0]}:{code_position(self._codes[key], min(alone)).line} ({key[1]})"
        return ""
