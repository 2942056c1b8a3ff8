"""Makes a program that fails smaller, after hypothesis has: fewer operations, fewer of them in threads, simpler arguments.

Hypothesis deletes and lowers what it draws; it does not delete two operations that only fail together with a third, nor exchange
threads. This does, each change by itself, until none makes the program smaller. First it tries the smallest programs of the same
operations: a class has several failures, and no way leads from one to a smaller one by small changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from .operations import BEFORE, DrawnOperation, DrawnProgram, InLane

MOST = 160  # programs that are tried
_SMALL = 3  # operations
_MOST_DIFFERENT = 3


def smaller(
    drawn: DrawnProgram, fails: Callable[[DrawnProgram], bool], simplest: Callable[[DrawnOperation], DrawnOperation]
) -> DrawnProgram:
    """The smallest program that is found to fail.

    Args:
        fails: whether a program fails.
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


def along(drawn: DrawnProgram, way: Sequence[str], simplest: Callable[[DrawnOperation], DrawnOperation]) -> DrawnProgram | None:
    """The program at the end of a way that `smaller` has gone, by the texts of those on it; None if it no longer leads there."""
    found: DrawnProgram | None = drawn
    for text in way:
        if found is None:
            break
        found = next((candidate for candidate in _candidates(found, simplest) if candidate.text == text), None)
    return found


def _measure(drawn: DrawnProgram) -> tuple[tuple[int, int, int], int, str]:
    """What is to become less: sizes, the length of the arguments, and last the text, so that one of equal programs is chosen."""
    return drawn.size, len(drawn.text), drawn.text


def _candidates(drawn: DrawnProgram, simplest: Callable[[DrawnOperation], DrawnOperation]) -> Iterator[DrawnProgram]:
    steps = drawn.steps
    yield from _smallest_of(drawn)
    free = [index for index, step in enumerate(steps) if not step.operation.kind.always_first]
    for count in (2, 1):
        for left_out in combinations(free, count):
            yield from _overlapping(drawn, [step for index, step in enumerate(steps) if index not in left_out])
    for index, step in enumerate(steps):
        if step.lane != BEFORE:
            rest = [*steps[:index], *steps[index + 1 :]]
            yield from _overlapping(drawn, [*rest, InLane(BEFORE, step.operation)])
            yield from _overlapping(drawn, [InLane(BEFORE, step.operation), *rest])
    yield from _exchanged(drawn)
    for index, step in enumerate(steps):
        yield drawn.replaced([*steps[:index], InLane(step.lane, simplest(step.operation)), *steps[index + 1 :]])


def _smallest_of(drawn: DrawnProgram) -> Iterator[DrawnProgram]:
    """The smallest programs of the same operations: two side by side; then also one before them, or before one of them."""
    known = {str(step.operation): step.operation for step in drawn.steps if not step.operation.kind.alone}
    operations = list(known.values())[:_MOST_DIFFERENT]
    for first, second in product(operations, repeat=2):
        yield from _allowed(drawn, [InLane(1, first), InLane(2, second)])
    if len(drawn.steps) > _SMALL:
        for lane in (BEFORE, 1):
            for one, first, second in product(operations, repeat=_SMALL):
                yield from _allowed(drawn, [InLane(lane, one), InLane(1, first), InLane(2, second)])


def _allowed(drawn: DrawnProgram, steps: list[InLane]) -> Iterator[DrawnProgram]:
    """The program, with what has to come first, if its operations may be where they are."""
    first = [step for step in drawn.steps if step.lane == BEFORE and step.operation.kind.always_first]
    if all(step.operation.kind.may_be_in(step.lane, drawn.threads) for step in steps):
        yield drawn.replaced([*first, *steps])


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
