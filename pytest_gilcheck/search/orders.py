"""Choose the sequential orders that run: the first ones, and further ones that may refute what the first have in common."""

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
    """Return the sequential orders that run first: all orders of up to three threads, otherwise the rotations."""
    threads = range(count)
    if count <= ALL_AT_FIRST:
        return list(permutations(threads))
    return [(*threads[index:], *threads[:index]) for index in threads][:_MOST_AT_FIRST]


def further_orders(late: Mapping[Order, Collection[int]]) -> Generator[Order, Collection[int], None]:
    """Generate orders that have not run yet. The caller sends back the threads that failed in each.

    The first ones move the threads that failed to the end, because a consumer may need a producer before it. Then come all other
    orders of four threads, or some orders of more.

    Args:
        late: the orders that have run, and the threads that failed in each.
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
