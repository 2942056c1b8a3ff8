"""Makes a program that fails smaller, after hypothesis has: fewer operations, fewer of them in threads, simpler arguments.

Hypothesis deletes and lowers what it draws; it does not delete two operations that only fail together with a third, nor exchange
threads. This does, each change by itself, until none makes the program smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from .operations import BEFORE, DrawnOperation, DrawnProgram, InLane

MOST = 120  # programs that are tried


def smaller(
    drawn: DrawnProgram, fails: Callable[[DrawnProgram], bool], simplest: Callable[[DrawnOperation], DrawnOperation]
) -> DrawnProgram:
    """The smallest program that is found to fail.

    Args:
        fails: whether a program fails in the same way.
        simplest: the operation with its simplest arguments.
    """
    tried, best = {drawn.text}, drawn
    going_on = True
    while going_on and len(tried) < MOST:
        going_on = False
        for candidate in _candidates(best, simplest):
            if candidate.text in tried or _measure(candidate) >= _measure(best):
                continue
            if len(tried) >= MOST:
                break
            tried.add(candidate.text)
            if fails(candidate):
                best, going_on = candidate, True
                break
    return best


def _measure(drawn: DrawnProgram) -> tuple[tuple[int, int, int], int, str]:
    """What is to become less: sizes, the length of the arguments, and last the text, so that one of equal programs is chosen."""
    return drawn.size, len(drawn.text), drawn.text


def _candidates(drawn: DrawnProgram, simplest: Callable[[DrawnOperation], DrawnOperation]) -> Iterator[DrawnProgram]:
    steps = drawn.steps
    for count in (2, 1):
        for left_out in combinations(range(len(steps)), count):
            yield from _overlapping(drawn, [step for index, step in enumerate(steps) if index not in left_out])
    for index, step in enumerate(steps):
        if step.lane != BEFORE:
            rest = [*steps[:index], *steps[index + 1 :]]
            yield from _overlapping(drawn, [*rest, InLane(BEFORE, step.operation)])
            yield from _overlapping(drawn, [InLane(BEFORE, step.operation), *rest])
    yield from _exchanged(drawn)
    for index, step in enumerate(steps):
        yield drawn.replaced([*steps[:index], InLane(step.lane, simplest(step.operation)), *steps[index + 1 :]])


def _overlapping(drawn: DrawnProgram, steps: list[InLane]) -> Iterator[DrawnProgram]:
    """The program, if operations of two threads are left in it."""
    if len({lane for lane, _ in steps if BEFORE < lane < drawn.after}) > 1:
        yield drawn.replaced(steps)


def _exchanged(drawn: DrawnProgram) -> Iterator[DrawnProgram]:
    """The same with two threads exchanged, where their operations may be in both."""
    for one, other in combinations(range(1, drawn.after), 2):
        swapped = {one: other, other: one}
        steps = [InLane(swapped.get(lane, lane), operation) for lane, operation in drawn.steps]
        if all(step.operation.kind.may_be_in(step.lane, drawn.threads) for step in steps):
            yield drawn.replaced(steps)
