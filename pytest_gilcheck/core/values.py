"""Unchecked values into checked ones: each check's arguments arrive as whatever the user wrote."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .errors import BadValue

D = TypeVar("D")


def whole(name: str, value: object, least: int, source: str = "argument") -> int:
    """``value`` as a whole number of at least ``least``.

    Raises:
        BadValue: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadValue(name, value, f"a whole number, at least {least}", source)
    return value


def seconds(name: str, value: object, source: str = "argument") -> float:
    """``value`` as a finite number of seconds above 0.

    Raises:
        BadValue: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise BadValue(name, value, "seconds above 0", source)
    return float(value)


def interval(name: str, value: object, source: str = "argument") -> float:
    """``value`` as a switch interval.

    Raises:
        BadValue: it is none.
    """
    if not 1e-6 <= (checked := seconds(name, value, source)) <= 1:
        raise BadValue(name, value, "seconds from 0.000001 to 1", source)
    return checked


class Given:
    """What the user gave for one check, each value with where it came from; None takes the default.

    Args:
        sources: where values came from, by their names; ``"argument"`` for all others.

    Raises:
        BadValue: by every method, for a value of the wrong type or range.
    """

    def __init__(self, sources: Mapping[str, str] | None) -> None:
        self._sources = sources or {}

    def source(self, name: str) -> str:
        return self._sources.get(name, "argument")

    def whole(self, name: str, value: object, least: int, default: D) -> int | D:
        return default if value is None else whole(name, value, least, self.source(name))

    def seconds(self, name: str, value: object, default: D) -> float | D:
        return default if value is None else seconds(name, value, self.source(name))

    def callable(self, name: str, value: object) -> Callable[..., Any] | None:
        if value is not None and not callable(value):
            raise BadValue(name, value, "something to call", self.source(name))
        return value
