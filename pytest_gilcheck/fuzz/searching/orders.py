"""The sequential orders of a program's threads: which of them run, and which may refute what the first ones have in common."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator, Mapping
from itertools import permutations
from random import Random

Order = tuple[int, ...]

ALL_AT_FIRST = 3  # threads, of which every order runs
_MOST_AT_FIRST = 6
_ALL = 4  # threads, of which every order runs if need be
_SHUFFLED = 40  # orders of more threads


def orders_of(count: int) -> list[Order]:
    """The sequential orders that are run of so many threads: all of up to three, otherwise some."""
    threads = range(count)
    if count <= ALL_AT_FIRST:
        return list(permutations(threads))
    return [(*threads[index:], *threads[:index]) for index in threads][:_MOST_AT_FIRST]


def further_orders(late: Mapping[Order, Collection[int]]) -> Generator[Order, Collection[int], None]:
    """Orders that have not run, those first in which the threads that fail come last: a consumer may need a producer before it.

    Then all others of four threads, and some of more. Send the threads that fail in each.

    Args:
        late: the threads that fail in each order that has run.
    """
    seen, waiting = set(late), deque(late.items())
    count = len(next(iter(late)))
    most = len(seen) + 2 * count
    while waiting and len(seen) < most:
        order, failing = waiting.popleft()
        moved = (*(each for each in order if each not in failing), *(each for each in order if each in failing))
        if moved not in seen:
            seen.add(moved)
            waiting.append((moved, (yield moved)))
    for order in permutations(range(count)) if count <= _ALL else _shuffled(count):
        if order not in seen:
            seen.add(order)
            yield order


def _shuffled(count: int) -> Generator[Order, None, None]:
    draw, threads = Random(count), list(range(count))  # the same orders in each check
    for _ in range(_SHUFFLED):
        draw.shuffle(threads)
        yield tuple(threads)
