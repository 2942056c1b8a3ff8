"""The steps of a recorded run that touch what several threads may touch.

Most steps of a large program touch what only their own thread can reach. A schedule that switches right before such a step is
equivalent to one that switches before the next step that others can notice. So where there is no time to sample at every step,
samples switch at the others alone: fewer steps, each of which is more likely to matter, and the rest costs nothing.

This is for samples, which prove nothing: in another interleaving, a step may touch what several threads touch, although it did not
in this run. A step that the recorded run has not made is never hidden, and no step in a ``while`` loop is: a thread that
polls there would never be stopped. A step at which all that others can notice is the end of an object is hidden: what it ends is
not known, and the steps before and after it are left.

What one thread alone changes in the recorded run, and what lives on after that, counts as touched by several: who takes which item
of a queue depends on the schedule, and in a run without preemption one worker may take them all.

A step of which it is not known what it touches is never hidden, and what can be reached from what it works on counts as changed by
its thread. If such a step works on an object, the object and its ``__dict__`` count as one.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Set
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from ..core.classes import dictionary_of, is_a, names_of
from ..engine.bytecode.code_facts import backward_jumps, instructions_of
from ..engine.bytecode.visible import ENTRY, Access
from ..engine.running.record import Deed, Place, ScheduleRun, anchor_of
from ..engine.schedule import Choice, Schedule
from ..engine.touched.trace import Trace

_MOST_REACHED = 5_000  # objects, from what one thread works on; if there are more, it may touch everything
_PACKAGE = __name__.partition(".")[0]
_CODE = (ModuleType, FunctionType, CodeType, FrameType, type)


@dataclass(frozen=True)
class Focus:
    """What a recorded run says of its steps.

    Attributes:
        hidden: the steps that touch nothing that several threads touch, and calls that made no step, by id; they are kept, so an id
            has one meaning.
        lengths: by thread, the number of its other points.
        hidden_points: of the run, in order.
        anchors: where the run came to a step at its other points, by point (`record.anchor_of`).
    """

    hidden: dict[int, Access]
    lengths: dict[int, int]
    hidden_points: list[int]
    anchors: Mapping[int, tuple[Access, Place]]

    def without(self, schedule: Schedule) -> Schedule:
        """A schedule that branches off from the recorded run, where the hidden steps are no points."""
        return Schedule(tuple(Choice(self._left(point), thread, forced) for point, thread, forced in schedule.choices))

    def led(self, run: ScheduleRun, schedule: Schedule) -> bool:
        """Whether a run that followed `without` made the first choice where the schedule does, as far as that is known.

        A run without any choice may have: behind the last step of a thread that is left, no other one interrupts it.
        """
        point = schedule.choices[0].point
        while (at := bisect_left(self.hidden_points, point)) < len(self.hidden_points) and self.hidden_points[at] == point:
            point += 1
        known = self.anchors.get(point)
        return known is None or (bool(run.choices) and run.anchors[0] == anchor_of(*known))

    def _left(self, point: int) -> int:
        """The number of this point, or of the next one that is left."""
        before = bisect_left(self.hidden_points, point)
        return point - before

    @property
    def points(self) -> int:
        """The points of the run that are left."""
        return sum(self.lengths.values())


def focus_of(trace: Trace, codes: Container[int]) -> Focus:
    """The focus of one recorded run.

    Args:
        trace: of a run that has ended.
        codes: the ids of code that had started before it. Other code was made in the run, and each run makes it anew (a template
            that is compiled, a named tuple), so that its steps cannot be hidden in another one.
    """
    users: dict[int, set[int]] = {}
    changed: set[int] = set()
    for point, parts in trace.parts.items():
        for part in parts:
            users.setdefault(part.holder, set()).add(trace.owners[point])
            if part.deed is not Deed.READ:
                changed.add(part.holder)
    alive = trace.objects.alive()
    numbers = {id(thing): number for number, thing in alive.items()}
    wanted = {key for key, number in numbers.items() if number in users}
    for thread, unknown_on in trace.unknown_on.items():
        objects = [alive[number] for number in unknown_on if number in alive]
        for each in objects:
            mine, names = numbers[id(each)], numbers.get(id(dictionary_of(each)), 0)
            if mine in users and names in users:
                users[mine] = users[names] = users[mine] | users[names]
        for key in _reachable(objects, wanted):
            users[numbers[key]].add(thread)
            changed.add(numbers[key])
    contested = {holder for holder in changed if len(users[holder]) > 1 or holder in trace.outlasting}
    matters: set[int] = set()
    for point, access in trace.accesses.items():
        unknown = (point in trace.not_known and access.kind != "end") or access.name == ENTRY
        if unknown or any(part.holder in contested for part in trace.parts.get(point, ())):
            matters.add(id(access))
    hidden = {
        key: access
        for key, (access, code, offset) in trace.places.items()
        if key not in matters and id(code) in codes and offset not in while_loops(code)
    }
    left = Counter(owner for point, owner in trace.owners.items() if id(trace.accesses.get(point)) not in hidden)
    anchors = {point: (access, trace.spots[point]) for point, access in trace.accesses.items() if id(access) not in hidden}
    hidden_points = sorted(point for point, access in trace.accesses.items() if id(access) in hidden)
    return Focus(hidden, dict(left), hidden_points, anchors)


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
