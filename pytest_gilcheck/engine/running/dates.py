"""``datetime`` and ``date`` by the virtual clock.

Their methods cannot be replaced, because they are types of C. So names that refer to them are replaced by subclasses, which make
instances of the real types, and of which all instances of the real types are instances.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from .clocks import now_of_caller

REAL: Mapping[str, Any] = {"datetime": datetime, "date": date}  # no names of a module: freezegun replaces those


class _Stands(type):
    """The metaclass of a class that stands for the first of its bases."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _replaced[cls]) if cls in _replaced else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _replaced[cls]) if cls in _replaced else type.__subclasscheck__(cls, other)


class VirtualDatetime(datetime, metaclass=_Stands):
    """``datetime.datetime``."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        return REAL["datetime"].__new__(_kind(cls, VirtualDatetime, REAL["datetime"]), *arguments, **keywords)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        seconds = now_of_caller(sys._getframe(1))
        return _kind(cls, VirtualDatetime, REAL["datetime"]).fromtimestamp(seconds, tz)

    @classmethod
    def today(cls) -> Any:
        return _kind(cls, VirtualDatetime, REAL["datetime"]).fromtimestamp(now_of_caller(sys._getframe(1)))

    @classmethod
    def utcnow(cls) -> Any:
        at = REAL["datetime"].fromtimestamp(now_of_caller(sys._getframe(1)), UTC)
        return at.replace(tzinfo=None)


class VirtualDate(date, metaclass=_Stands):
    """``datetime.date``."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        return REAL["date"].__new__(_kind(cls, VirtualDate, REAL["date"]), *arguments, **keywords)

    @classmethod
    def today(cls) -> Any:
        return _kind(cls, VirtualDate, REAL["date"]).fromtimestamp(now_of_caller(sys._getframe(1)))


def _kind(cls: Any, stands: Any, kind: Any) -> Any:
    return kind if cls is stands else cls


_replaced: dict[type, type] = {VirtualDatetime: REAL["datetime"], VirtualDate: REAL["date"]}
for _stand, _real in _replaced.items():
    _stand.__module__, _stand.__qualname__ = _real.__module__, _real.__qualname__  # under which pickle finds it meanwhile


def reduced(value: Any) -> tuple[Any, ...]:
    """For ``copyreg``: how an instance of a real type is pickled, while its name refers to the type that stands for it."""
    stand = VirtualDatetime if type(value) is REAL["datetime"] else VirtualDate
    return stand, value.__reduce_ex__(2)[1]
