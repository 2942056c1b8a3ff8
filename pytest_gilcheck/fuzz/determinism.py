"""Whether a program does the same when it is given the same schedule."""

from __future__ import annotations

from types import CodeType

from ..core.source import code_position, unnumbered
from ..engine.bytecode.visible import Access
from ..search.explorer import Explorer
from ..search.strategy import observed


def differing_steps(explorer: Explorer) -> str:
    """What the same schedule does differently the second time, as a sentence; empty if nothing."""
    seen: list[list[_Seen]] = []
    for _ in range(2):
        steps: list[_Seen] = []
        with observed(
            explorer.engine,
            lambda task, point, access, frame, steps=steps: steps.append(  # type: ignore[misc]
                (task.index, access, frame.f_code, frame.f_lasti)
            ),
        ):
            explorer.in_order()
        seen.append(steps)
    for index, (first, second) in enumerate(zip(*seen, strict=False)):
        if (first != second or first[2].co_filename != second[2].co_filename) and _compared(first) != _compared(second):
            one, other = _in_words(first), _in_words(second)
            return f"the same schedule gave different steps: step {index + 1} is {one!r} first, then {other!r}"
    if len(seen[0]) == len(seen[1]):
        return ""
    return f"the same schedule gave different steps: {len(seen[0])} first, then {len(seen[1])}"


_Seen = tuple[int, Access, CodeType, int]  # of a step: its thread, what it does, its code and the offset in that


def _compared(step: _Seen) -> tuple[object, ...]:
    thread, access, code, offset = step
    return thread, access.kind, access.name, unnumbered(code.co_filename), code_position(code, offset).line


def _in_words(step: _Seen) -> str:
    thread, access, code, offset = step
    return f"T{thread} {access.kind}s {access.name} at {code.co_filename}:{code_position(code, offset).line}"
