"""Which parameters of a test run by default. The others have the mark ``slow``."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """Of each ``count`` values (or ``pytest.param`` of several) the first runs by default, all others with ``-m slow``."""
    return [_marked(value, index % count == 0) for index, value in enumerate(values)]


def only(chosen: Collection[str], names: Iterable[str]) -> list[Any]:
    """Of all names the chosen ones run by default, the others with ``-m slow``.

    Raises:
        ValueError: a chosen name is none of the names.
    """
    names = list(names)
    if unknown := set(chosen) - set(names):
        raise ValueError(f"none of the parameters is called {unknown}")
    return [_marked(name, name in chosen) for name in names]


def _marked(value: Any, by_default: bool) -> Any:
    parameters = value if hasattr(value, "marks") else pytest.param(value)
    if by_default:
        return parameters
    return pytest.param(*parameters.values, id=parameters.id, marks=(*parameters.marks, pytest.mark.slow))
