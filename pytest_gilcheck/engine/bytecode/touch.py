"""What a step touches, in words: an object, what of it, and whether it changes that; and the kinds of built-in objects."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.classes import bases_of
from ...core.lookup import looked_up

ALL = "*"  # of a container, every part of it; of another object, every attribute


class Touch(NamedTuple):
    """One thing that a step touches.

    Attributes:
        holder: the object.
        part: of it: the name of an attribute, the key of an element in a tuple, or `ALL`.
        changes: whether the step may change it.
        inner: whether code of the standard library does, in several steps behind a lock of its own.
        torn: whether C does, in several steps of which none is visible.
        guess: whether it is a guess, of code of which it is not known what it touches.
    """

    holder: Any
    part: Any
    changes: bool
    inner: bool = False
    torn: bool = False
    guess: bool = False


Touches = list[Touch] | None
UNKNOWN = None
UnderTest = Callable[[str], bool]

State = list[tuple[Any, str | None, bool]]
"""Likewise in shorter words: (object, its attribute, or None for a container's contents, whether it may change)."""

SCALARS = frozenset(
    {int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range}
)  # no slice: its bounds may be anything
DICTS = frozenset({dict, collections.OrderedDict, collections.defaultdict})  # no Counter: its methods are in Python
CHANGING = DICTS | {list, bytearray, collections.deque, set}
VIEWS = frozenset({type({}.keys()), type({}.values()), type({}.items())})
_BASES = (*CHANGING, frozenset, tuple, *SCALARS)
_containers: dict[int, tuple[type, type]] = {}  # with the class, so that its id stays in use


def container_of(kind: type) -> type:
    """The container or value from which a class is derived, whatever it has otherwise; itself if there is none."""
    key = id(kind)
    known = looked_up(_containers, key)
    if known is None:
        known = _containers[key] = kind, next((each for each in bases_of(kind) if any(each is base for base in _BASES)), kind)
    return known[1]


def of_state(state: State | None, *, inner: bool = False) -> Touches:
    """The touches that a `State` tells of, all `Touch.inner` or none."""
    if state is None:
        return UNKNOWN
    return [Touch(holder, ALL if part is None else part, changes, inner) for holder, part, changes in state]
