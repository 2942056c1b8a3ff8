"""Context managers that `contextlib.contextmanager` makes of a generator: the code between both makes no steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from ...core.classes import names_of

_Manager: Any = vars(contextlib)["_GeneratorContextManager"]


@contextlib.contextmanager
def _example() -> Iterator[None]:
    yield


_MAKER = _example.__code__
_ENTERED, _LEFT = (names_of(_Manager)[name].__code__ for name in ("__enter__", "__exit__"))
_FUNCTION = _MAKER.co_freevars.index("func")


def made_by(function: FunctionType) -> FunctionType | None:
    """The generator function of which a call of this one makes a context manager; None if it makes none."""
    if function.__code__ is not _MAKER or function.__closure__ is None:
        return None
    cell: CellType = function.__closure__[_FUNCTION]
    try:
        found = cell.cell_contents
    except ValueError:  # it is empty
        return None
    return found if type(found) is FunctionType else None


def generator_of(manager: Any) -> GeneratorType[Any, Any, Any] | None:
    """The generator of such a context manager; None if this is none."""
    found = vars(manager).get("gen") if type(manager) is _Manager else None
    return found if type(found) is GeneratorType else None


def left(method: MethodType) -> Any:
    """The context manager that a call of this method leaves; None if it is another method."""
    function = method.__func__
    return method.__self__ if type(function) is FunctionType and function.__code__ is _LEFT else None


def is_of_a_context(code: CodeType) -> bool:
    """Whether this is the code that enters such a context manager, or leaves it."""
    return code is _ENTERED or code is _LEFT
