"""Whether a test changes, in its own process, a value of a wider fixture whose teardown might look at it.

The teardown of a module's or session's fixture runs in pytest's process, and sees nothing of what a forked test changed: an
assertion there would pass unasked.
"""

from __future__ import annotations

import inspect

import pytest

from ..core.changes import Looked


class WiderValues:
    """The values of a test's wider fixtures that have a teardown, as they are when this is made."""

    def __init__(self, item: pytest.Item) -> None:
        self._values: dict[str, Looked] = {}
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        for name, value in getattr(item, "funcargs", {}).items():
            definition = known.get(name, (None,))[-1]
            if definition is None or definition.scope == "function" or not inspect.isgeneratorfunction(definition.func):
                continue
            if not str(definition.func.__module__).startswith("_pytest."):
                self._values[f"{name!r} is {definition.scope}-scoped"] = Looked(value)

    def changed(self) -> list[str]:
        """Which have changed since then, in words."""
        return [words for words, value in self._values.items() if value.changed()]


def warning(test: str, words: str) -> str:
    """What to tell of a change."""
    found = f"gilcheck: {words}, and {test} changed it in its own process: neither its teardown nor a later test sees that"
    return f"{found}; make it function-scoped, or use --gilcheck-isolate=none"
