"""What a step touches, in words: an object, what of it, and whether it changes that; and the kinds of built-in objects."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

ALL, SIZE = "*", "#"  # of a container: every part of it; how many elements it has, and in which order


class Touch(NamedTuple):
    """One thing that a step touches.

    Attributes:
        holder: the object.
        part: of it: the name of an attribute, the key of an element in a tuple, `SIZE` or `ALL`.
        changes: whether the step may change it.
        inner: whether code of the standard library does, in several steps behind a lock of its own.
        torn: whether C does, in several steps of which none is visible.
    """

    holder: Any
    part: Any
    changes: bool
    inner: bool = False
    torn: bool = False


Touches = list[Touch] | None
UNKNOWN = None
UnderTest = Callable[[str], bool]

State = list[tuple[Any, str | None, bool]]
"""Likewise in shorter words: (object, its attribute, or None for a container's contents, whether it may change)."""

SCALARS = frozenset(
    {int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range}
)  # no slice: its bounds may be anything
LISTS = frozenset({list, bytearray, collections.deque})
SETS = frozenset({set, frozenset})
DICTS = frozenset({dict, collections.OrderedDict, collections.defaultdict})  # no Counter: its methods are in Python
CONTAINERS = LISTS | SETS | DICTS | {tuple}


def of_state(state: State | None, *, inner: bool = False) -> Touches:
    """The touches that a `State` tells of, all `Touch.inner` or none."""
    if state is None:
        return UNKNOWN
    return [Touch(holder, ALL if part is None else part, changes, inner) for holder, part, changes in state]


def both(*parts: Touches) -> Touches:
    found: list[Touch] = []
    for part in parts:
        if part is UNKNOWN:
            return UNKNOWN
        found += part
    return found
