"""What a recorded run says to a `focus`: which of its steps other runs can do without."""

from __future__ import annotations

from collections.abc import Container
from types import CodeType

from ..bytecode.code_facts import backward_jumps, instructions_of
from ..bytecode.visible import ENTRY
from ..running.record import anchor
from ..summary import Focusing
from .trace import Trace


def focusing_of(trace: Trace, codes: Container[int]) -> Focusing:
    """What can be made a focus of: of a run that has ended.

    Args:
        codes: the ids of code that had started before it. Other code was made in the run, and each run makes it anew (a template
            that is compiled, a named tuple), so that its steps cannot be hidden in another one.
    """
    return Focusing(
        steps={key: access for key, (access, _, _) in trace.places.items()},
        of_point={point: id(access) for point, access in trace.accesses.items()},
        hideable={key for key, (_, code, offset) in trace.places.items() if id(code) in codes and offset not in while_loops(code)},
        entries={point for point, access in trace.accesses.items() if access.name == ENTRY},
        outlasting=trace.outlasting,
        anchors=_anchors(trace),
    )


def _anchors(trace: Trace) -> dict[int, str]:
    lines: dict[int, list[int]] = {}
    found: dict[int, str] = {}
    for point, access in trace.accesses.items():
        if id(access) not in found:
            code, offset = trace.spots[point]
            if id(code) not in lines:
                lines[id(code)] = [position[0] or 0 for position in code.co_positions()]
            found[id(access)] = anchor(access, code, lines[id(code)][offset // 2])
    return found


def while_loops(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions in loops whose end nothing but their own steps decides: no ``for`` loop, and no ``await``."""
    known = _loops.get(id(code))
    if known is None:
        name_at = {each.offset: each.opname for each in instructions_of(code)}
        inside: set[int] = set()
        for jump in backward_jumps(code):
            if "NO_INTERRUPT" not in jump.opname and name_at[jump.argval] != "FOR_ITER":
                inside.update(offset for offset in name_at if jump.argval <= offset <= jump.offset)
        known = _loops[id(code)] = code, frozenset(inside)  # a reference to the code, so that its id stays in use
    return known[1]


_loops: dict[int, tuple[CodeType, frozenset[int]]] = {}
