"""What a recorded run says to a `focus`: which of its steps other runs can do without, and what is reached from what is not known.

Objects that a step of which it is not known what it touches works on lead to others, which its thread may change as well.
"""

from __future__ import annotations

import gc
from collections.abc import Container, Iterable, Set
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ...core.classes import dictionary_of, is_a, names_of
from ..bytecode.instructions import backward_jumps, instructions_of
from ..bytecode.visible import ENTRY
from ..running.record import anchor
from ..summary import Focusing
from .trace import Trace

_MOST_REACHED = 5_000  # objects, from what one thread works on; if there are more, it may touch everything
_PACKAGE = __name__.partition(".")[0]
_CODE = (ModuleType, FunctionType, CodeType, FrameType, type)


def focusing_of(trace: Trace, codes: Container[int]) -> Focusing:
    """What can be made a focus of: of a run that has ended.

    Args:
        codes: the ids of code that had started before it. Other code was made in the run, and each run makes it anew (a template
            that is compiled, a named tuple), so that its steps cannot be hidden in another one.
    """
    alive = trace.objects.alive()
    numbers = {id(thing): number for number, thing in alive.items()}
    touched = {part.holder for parts in trace.parts.values() for part in parts}
    wanted = {key for key, number in numbers.items() if number in touched}
    reached: dict[int, frozenset[int]] = {}
    as_one: list[tuple[int, int]] = []
    for thread, unknown_on in trace.unknown_on.items():
        objects = [alive[number] for number in unknown_on if number in alive]
        of_names = ((numbers[id(each)], numbers.get(id(dictionary_of(each)), 0)) for each in objects)
        as_one += [(mine, names) for mine, names in of_names if mine in touched and names in touched]
        reached[thread] = frozenset(numbers[key] for key in _reachable(objects, wanted))
    return Focusing(
        steps={key: access for key, (access, _, _) in trace.places.items()},
        of_point={point: id(access) for point, access in trace.accesses.items()},
        hideable={key for key, (_, code, offset) in trace.places.items() if id(code) in codes and offset not in while_loops(code)},
        entries={point for point, access in trace.accesses.items() if access.name == ENTRY},
        reached=reached,
        as_one=as_one,
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


def _reachable(objects: Iterable[Any], wanted: Set[int]) -> Set[int]:
    """The ids of those wanted that can be reached from these objects, without the code of the program; all, if there is much."""
    seen: set[int] = set()
    waiting = list(objects)
    while waiting:
        each = waiting.pop()
        if id(each) in seen or _of_no_program(each):
            continue
        seen.add(id(each))
        if len(seen) > _MOST_REACHED:
            return wanted
        waiting += [other for other in gc.get_referents(each) if gc.is_tracked(other) or id(other) in wanted]
    return seen & wanted


def _of_no_program(each: object) -> bool:
    """Whether it is code, the names of a module, or an object of this package, to which each thread of a run leads."""
    if is_a(each, _CODE) or (type(each) is dict and "__builtins__" in each):
        return True
    module = names_of(type(each)).get("__module__")
    return type(module) is str and module.partition(".")[0] == _PACKAGE


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
