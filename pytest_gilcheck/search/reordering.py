"""Put the segments of a failing run in other orders, with fewer preemptions.

Minimising step by step ends where no neighbour fails. A deadlock of four threads in a ring needs one preemption and one certain
order of the other threads. No single move of a segment leads there from a schedule with two preemptions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random

from .ledger import ORDERS_OF_CUTS
from .segments import Segment

_TO_THE_END = sys.maxsize  # steps of a thread's last segment


def reordered(segments: Sequence[Segment], cuts: int) -> Iterator[list[Segment]]:
    """Generate other orders of the segments.

    Args:
        cuts: the number of places at which a thread was interrupted and still is; at all others, its segments are joined.
    """
    pieces: dict[int, list[int]] = {}
    for thread, steps in segments:
        pieces.setdefault(thread, []).append(steps)
    places = [(thread, number) for thread, counts in pieces.items() for number in range(1, len(counts))]
    draw = Random(len(segments))  # the same orders in each check
    for kept in combinations(places, cuts):
        parts = {thread: _parts(counts, [number for each, number in kept if each == thread]) for thread, counts in pieces.items()}
        for order in _orders([thread for thread, counts in parts.items() for _ in counts], draw):
            left = {thread: iter(counts) for thread, counts in parts.items()}
            yield [(thread, next(left[thread])) for thread in order]


def _parts(counts: list[int], kept: list[int]) -> list[int]:
    """Join a thread's segments, except at the places that are kept. The last segment runs to the thread's end."""
    starts = [0, *kept]
    return [*(sum(counts[start:end]) for start, end in zip(starts, kept, strict=False)), _TO_THE_END]


def _orders(threads: list[int], draw: Random) -> Iterator[list[int]]:
    """Generate orders of these entries in which no thread comes twice in a row: all orders if they are few, otherwise some."""
    found = list(_all_orders(threads, []))[: 10 * ORDERS_OF_CUTS] if len(threads) <= 6 else []
    if not found:
        for _ in range(10 * ORDERS_OF_CUTS):
            order = list(threads)
            draw.shuffle(order)
            if _apart(order) and order not in found:
                found.append(order)
    if len(found) > ORDERS_OF_CUTS:
        found = draw.sample(found, ORDERS_OF_CUTS)
    yield from found


def _all_orders(left: list[int], order: list[int]) -> Iterator[list[int]]:
    if not left:
        yield order
    for thread in sorted(set(left)):
        if not order or order[-1] != thread:
            rest = list(left)
            rest.remove(thread)
            yield from _all_orders(rest, [*order, thread])


def _apart(order: list[int]) -> bool:
    return all(one != other for one, other in pairwise(order))
