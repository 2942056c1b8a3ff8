"""Unchecked values into checked ones: each check's arguments arrive as whatever the user wrote."""

from __future__ import annotations

import math

from .errors import BadValue


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
