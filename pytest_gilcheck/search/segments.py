"""A run as segments: which thread ran, and how many of its own steps it made, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Segment = tuple[int, int]  # the index of a thread, and the number of its own steps


def merged(segments: Iterable[Segment]) -> list[Segment]:
    """The segments with neighbours of one thread made one."""
    result: list[Segment] = []
    for thread, steps in segments:
        if result and result[-1][0] == thread:
            result[-1] = thread, result[-1][1] + steps
        else:
            result.append((thread, steps))
    return result


def by_thread(segments: Iterable[Segment]) -> list[Segment]:
    """One segment for each thread, in the order of first appearance, with all of its steps."""
    steps_of: dict[int, int] = {}
    for thread, steps in segments:
        steps_of[thread] = steps_of.get(thread, 0) + steps
    return list(steps_of.items())


def of_order(order: Iterable[int]) -> list[Segment]:
    """The segments of a run.

    Args:
        order: the index of the thread of each step.
    """
    return merged((thread, 1) for thread in order)


def with_stretch(segments: Sequence[Segment], start: int, size: int, stretch: Sequence[Segment]) -> list[Segment]:
    """The segments with those from `start` on, `size` of them, replaced."""
    return merged([*segments[:start], *stretch, *segments[start + size :]])
