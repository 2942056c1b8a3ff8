"""Whether the keys of a dict, or the elements of a set, compare without code of their own, which C calls in the middle of its work.

To look at all keys takes as long as the container is large, and a program that fills one would be recorded in quadratic time. So
while a run is recorded, what was found of a large container holds until its keys may be others (`changed`). That is sound where
all that the steps touch is known; where it is not, the run is no ground for a proof anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from types import WrapperDescriptorType
from typing import Any

from ...core.classes import in_class
from .operands import SCALARS, immutable

_LARGE = 32  # elements
_TUPLES = (tuple, frozenset)
_PLAIN = frozenset({object, range, *SCALARS})


class QuietKeys:
    """What is known of the containers of one recorded run.

    Args:
        number: of an object, which no other object gets.
    """

    def __init__(self, number: Callable[[Any], int]) -> None:
        self._number = number
        self._known: set[int] = set()

    def of(self, container: Any) -> bool:
        """Whether all its keys compare without code of their own."""
        if len(container) < _LARGE:
            return _quiet(container)
        number = self._number(container)
        if number not in self._known:
            if not _quiet(container):
                return False
            self._known.add(number)
        return True

    def changed(self, number: int) -> None:
        """A container may have keys that nobody has looked at."""
        self._known.discard(number)


_recorded: QuietKeys | None = None


def remember(known: QuietKeys | None) -> None:
    """From now on a run is recorded, or None: no longer."""
    global _recorded
    _recorded = known


def keys_compare_quietly(container: Any) -> bool:
    """Whether no key or element of a dict or a set has a comparison of its own."""
    return _quiet(container) if _recorded is None else _recorded.of(container)


def _quiet(container: Any) -> bool:
    kinds = set(map(type, container))
    return all(map(_compares_quietly, kinds)) and (
        kinds.isdisjoint(_TUPLES) or all(immutable(each) for each in container if type(each) in _TUPLES)
    )


def _compares_quietly(kind: type) -> bool:
    own = in_class(kind, "__eq__")
    return type(own) is WrapperDescriptorType and (own.__objclass__ in _PLAIN or kind in _TUPLES)
