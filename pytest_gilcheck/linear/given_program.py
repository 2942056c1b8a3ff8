"""One program that the user gives, in place of those that are drawn: rows of a lane, an operation and its arguments."""

from __future__ import annotations

from typing import Any

from ..core.arguments import Arguments
from .drawing import simplest
from .operations import BEFORE, DrawnOperation, DrawnProgram, InLane, OperationKind
from .subject import Subject

_EXPECTED = "rows such as ('before', 'put', 1), (1, 'get'), (2, 'get') or ('after', 'size')"


def given_program(subject: Subject, given: Arguments) -> DrawnProgram | None:
    """The program that was given; None if it is to be drawn.

    Raises:
        BadValue: a row that names no lane, or no operation.
    """
    rows = given.get("program")
    if rows is None:
        return None
    kinds = {kind.name: kind for kind in subject.kinds}
    steps = [_step(row, kinds, subject, given) for row in rows]
    return DrawnProgram(tuple(map(simplest, subject.init)), tuple(steps), subject.threads)


def _step(row: Any, kinds: dict[str, OperationKind], subject: Subject, given: Arguments) -> InLane:
    if not isinstance(row, tuple) or len(row) < 2 or row[1] not in kinds:
        raise given.refused("program", f"{_EXPECTED}, of the operations {', '.join(kinds)}", row)
    lanes = {"before": BEFORE, "after": subject.threads + 1} | {lane: lane for lane in range(1, subject.threads + 1)}
    place, name, *values = row
    if place not in lanes:
        raise given.refused("program", f"{_EXPECTED}, in a lane of {', '.join(map(repr, lanes))}", row)
    named = values.pop() if values and isinstance(values[-1], dict) and kinds[name].named else {}
    return InLane(lanes[place], DrawnOperation(kinds[name], tuple(values), tuple(named.items())))
