"""Whether a test changes, in its own process, a value of a wider fixture whose teardown might look at it.

The teardown of a module's or session's fixture runs in pytest's process, and sees nothing of what a forked test changed: an
assertion there would pass unasked. What was changed is told by identity, in containers and attributes, a few levels deep.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

import pytest

_DEPTH, _MOST = 4, 2000  # levels, and objects of one fixture, that are looked at
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class WiderValues:
    """The values of a test's wider fixtures that have a teardown, as they are when this is made."""

    def __init__(self, item: pytest.Item) -> None:
        self._values: dict[str, tuple[Any, list[Any]]] = {}
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        for name, value in getattr(item, "funcargs", {}).items():
            definition = known.get(name, (None,))[-1]
            if definition is None or definition.scope == "function" or not inspect.isgeneratorfunction(definition.func):
                continue
            if not str(definition.func.__module__).startswith("_pytest."):
                self._values[f"{name!r} is {definition.scope}-scoped"] = value, _looks(value)

    def changed(self) -> list[str]:
        """Which have changed since then, in words."""
        return [words for words, (value, before) in self._values.items() if not _same(_looks(value), before)]


def warning(test: str, words: str) -> str:
    """What to tell of a change."""
    found = f"gilcheck: {words}, and {test} changed it in its own process: neither its teardown nor a later test sees that"
    return f"{found}; make it function-scoped, or use --gilcheck-isolate=none"


def _looks(value: Any) -> list[Any]:
    """All objects that the value holds; they are kept, so that none is taken for another one with its address."""
    return list(islice(_walk(value, _DEPTH, set()), _MOST))


def _walk(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    yield value
    if depth == 0 or isinstance(value, _PLAIN) or id(value) in seen:
        return
    seen.add(id(value))
    parts: Any = ()
    kind = type(value)
    try:
        if isinstance(value, (list, tuple, deque, set, frozenset)):
            parts = iter(value)
        elif isinstance(value, bytearray):
            parts = iter((bytes(value),))
        elif isinstance(value, Mapping):
            parts = chain.from_iterable(value.items())
        elif kind.__module__ != "builtins" and isinstance(vars(value), dict):
            parts = chain.from_iterable(vars(value).items())
        for part in parts:
            yield from _walk(part, depth - 1, seen)
    except Exception:  # the user's containers and attributes; what they refuse is not looked at
        return


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(
        one is other or (type(one) is type(other) and isinstance(one, (*_PLAIN, tuple)) and _equal(one, other))
        for one, other in zip(now, before, strict=True)
    )


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, tuple) or one == other  # the parts of a tuple follow it
