"""The instructions of a code object, read once: each new state of what is known of names asks for them again."""

from __future__ import annotations

import dis
from types import CodeType

_MOST = 5_000  # code objects; a program may make new ones in each run
_known: dict[int, tuple[CodeType, list[dis.Instruction]]] = {}


def instructions_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a code object, in order."""
    known = _known.get(id(code))
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[id(code)] = code, list(dis.get_instructions(code))  # a reference to the code, so that its id stays in use
    return known[1]
