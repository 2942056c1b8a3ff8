"""Whether a value was changed that another process has a copy of.

That is told by identity, in containers and attributes, a few levels deep.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from .classes import attributes_of, is_a, module_of_class

_DEPTH, _MOST = 6, 2000  # levels, and objects of one value, that are looked at
_UNREAD = ("builtins", "logging")  # modules whose classes have no attributes, or such that change by use: a logger has a cache
OF_ENUMS = frozenset({"_value2member_map_", "_unhashable_values_map_"})  # where a Flag keeps the combinations that were asked for
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class Looked:
    """A value as it is when this is made."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._held = _held_by(value)

    def changed(self) -> bool:
        """Whether it holds something else now."""
        return self.differs_from(Looked(self.value))

    def differs_from(self, now: Looked) -> bool:
        """Whether a value, such as the one that has this name now, is another one or holds something else."""
        return not _same(now._held, self._held)

    def has_other_content(self, now: Looked) -> bool:
        """Whether a value differs in more than identity: in structure, or in plain values."""
        return _content(now._held) != _content(self._held)


def _held_by(value: Any) -> list[Any]:
    """All objects that the value holds; they are kept, so that none is taken for another one with its address."""
    return list(islice(_walk(value, _DEPTH, set()), _MOST))


def _walk(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    yield value
    if depth == 0 or is_a(value, _PLAIN) or id(value) in seen:
        return
    seen.add(id(value))
    for part in held_by(value):
        yield from _walk(part, depth - 1, seen)


def held_by(value: Any) -> list[Any]:
    """What a container or an object holds itself; nothing, where the code of its class refuses to tell."""
    kind, parts = type(value), list[Any]()
    try:
        if is_a(value, (list, tuple, deque, set, frozenset)):
            parts += islice(value, _MOST)
        elif is_a(value, bytearray):
            parts.append(bytes(value))
        elif issubclass(kind, Mapping):
            parts += chain.from_iterable(islice(value.items(), _MOST))  # a table may have millions
        if module_of_class(kind) not in _UNREAD:
            of_enum = is_a(value, enum.EnumType)
            parts += chain.from_iterable(pair for pair in attributes_of(value) if not (of_enum and pair[0] in OF_ENUMS))
    except Exception:  # of the user's containers and attributes
        pass
    return parts


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(
        one is other or (type(one) is type(other) and is_a(one, (*_PLAIN, tuple)) and _equal(one, other))
        for one, other in zip(now, before, strict=True)
    )


def _content(held: list[Any]) -> list[Any]:
    """What can be compared of objects that are made anew: their classes, and plain values."""
    return [(type(each), each if is_a(each, _PLAIN) else None) for each in held]


def _equal(one: Any, other: Any) -> bool:
    return is_a(one, tuple) or one == other  # the parts of a tuple follow it
