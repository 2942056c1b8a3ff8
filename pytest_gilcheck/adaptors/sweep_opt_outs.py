"""What keeps tests from running in threads already: marks and ini lists of pytest-run-parallel, also where it is not installed."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from fnmatch import fnmatch
from types import CodeType, ModuleType
from typing import Any

import pytest

from ..core.classes import is_a

_FIXTURES, _FUNCTIONS = "thread_unsafe_fixtures", "thread_unsafe_functions"
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


class OptOuts:
    """The opt-outs of a suite."""

    def __init__(self, config: pytest.Config) -> None:
        self._fixtures, self._functions = (_listed(config, name) for name in (_FIXTURES, _FUNCTIONS))

    def of(self, item: pytest.Item) -> str:
        """Why this test does not run in threads; empty if nothing keeps it."""
        if item.get_closest_marker("thread_unsafe") is not None:
            return "it has the mark thread_unsafe"
        for name in ("parallel_threads", "parallel_threads_limit"):
            limit = item.get_closest_marker(name)
            if limit is not None and limit.args == (1,):
                return f"it has the mark {name}(1)"
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in self._fixtures:
                return f"{_FIXTURES} has {fixture!r}"
        if self._functions and isinstance(item, pytest.Function):
            function = inspect.unwrap(getattr(item.obj, "__func__", item.obj))
            called = list(_names(function)) if hasattr(function, "__code__") else []
            for pattern in self._functions:
                if any(fnmatch(name, pattern) for name in called):
                    return f"{_FUNCTIONS} has {pattern!r}"
        return ""


def _listed(config: pytest.Config, name: str) -> list[str]:
    try:
        return [*config.getini(name)]
    except (KeyError, ValueError):  # of no plugin that is installed
        stored = getattr(config, "_inicfg", None)  # `inicfg` warns since pytest 9
        given = (config.inicfg if stored is None else stored).get(name, "")
        text = getattr(given, "value", given)
        lines = text if isinstance(text, list) else str(text).splitlines()
        return [line.strip() for line in lines if line.strip()]


def _names(function: Any) -> Iterator[str]:
    """The full names that a function uses: ``"module.function"``, as far as they begin with a global one."""
    yield from _of_code(function.__code__, function.__globals__)


def _of_code(code: CodeType, names: dict[str, Any]) -> Iterator[str]:
    chain = ""
    for each in dis.get_instructions(code):
        if each.opname in _GLOBALS:
            value = names.get(str(each.argval))
            chain = _full_name(value)
        elif each.opname in _ATTRIBUTES and chain:
            chain = f"{chain}.{each.argval}"
        elif each.opname not in ("CACHE", "PUSH_NULL"):
            chain = ""
        if chain:
            yield chain
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, names)


def _full_name(value: Any) -> str:
    if is_a(value, ModuleType):
        return str(value.__name__)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else ""
