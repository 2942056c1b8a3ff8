"""Outcomes of programs as text: what each operation returned, in columns or in one line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from .copies import shown
from .operations import DrawnOperation, DrawnProgram, value_text
from .oracle import Outcome, Parts
from .subject import Subject
from .worker import LEFT_OUT, PENDING, RAISED, WEAK

_MOST_ALLOWED = 5
_LONGEST, _LAST = 160, 40  # characters of a value, and of its end where it is longer
_NAME = "x"


def result_shown(result: Any) -> str:
    """What an operation returned, as an arrow and a value."""
    if result == PENDING:
        return "never returns"
    if result == LEFT_OUT:
        return "is left out: there is no earlier result"
    if result[0] == WEAK:
        return "(not compared)"
    return f"raises {_clipped(result[1])}" if result[0] == RAISED else f"-> {_clipped(result[1])}"


def _clipped(copy: Any) -> str:
    text = shown(copy)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _LAST - 3]}...{text[-_LAST:]}"


def _final_shown(final: Any) -> str:
    return f"raises {_clipped(final[1])}" if type(final) is tuple and final[:1] == (RAISED,) else _clipped(final)


def _cells(operations: Sequence[DrawnOperation], results: Sequence[Any]) -> list[str]:
    return [
        f"{operation} {result_shown(result)}" if result is not None else f"{operation} is not reached"
        for operation, result in zip_longest(operations, results)
    ]


def told_in_line(drawn: DrawnProgram, outcome: Outcome) -> str:
    """An outcome in one line: threads beside each other, then what came after."""
    parts = Parts(*outcome)
    threads = [
        "; ".join(_cells(operations, results))
        for operations, results in zip(drawn.parallel, parts.threads, strict=True)
        if operations
    ]
    text = "  ||  ".join(threads)
    after = "; ".join(_cells(drawn.lanes[-1], parts.after)) if parts.after else ""
    final = f"final {_final_shown(parts.final)}" if parts.final not in (None, ("dict",)) else ""
    return " | ".join(filter(None, (text, after, final)))


def columns(subject: Subject, drawn: DrawnProgram, outcome: Outcome) -> list[str]:
    """A run in columns: what came first, the threads with their results, and what came after."""
    parts = Parts(*outcome)
    made = f"{_NAME} = {subject.constructor}({', '.join(map(value_text, drawn.init))})"
    first = "; ".join([made, *(operation.written(_NAME) for operation in drawn.lanes[0])])
    lanes = [
        [f"thread {index}", *_cells(operations, results)]
        for index, (operations, results) in enumerate(zip(drawn.parallel, parts.threads, strict=True))
        if operations
    ]
    width = max(len(cell) for lane in lanes for cell in lane) + 3
    rows = ["".join(cell.ljust(width) for cell in row).rstrip() for row in zip_longest(*lanes, fillvalue="")]
    lines = [f"  first   {first}", *(f"          {row}" for row in rows)]
    lines += [f"  then    {cell}" for cell in (_cells(drawn.lanes[-1], parts.after) if parts.after else [])]
    if parts.final not in (None, ("dict",)):
        lines.append(f"  final   {_final_shown(parts.final)}")
    return lines


def alternatives(drawn: DrawnProgram, outcome: Outcome, allowed: Sequence[Outcome], by_model: bool) -> list[str]:
    """What the sequential orders give instead of this outcome."""
    whose = " of the model" if by_model else ""
    if not allowed:
        return [f"  no sequential order{whose} comes to its end"]
    if outcome in allowed:
        return [f"  an order{whose} gives that only if an operation comes before one that had returned when it was called"]
    lines = [f"  no order{whose} of these gives that; {'this' if len(allowed) == 1 else 'these'} they do give:"]
    lines += [f"    {told_in_line(drawn, each)}" for each in allowed[:_MOST_ALLOWED]]
    more = len(allowed) - _MOST_ALLOWED
    return [*lines, f"    and {more} more"] if more > 0 else lines
