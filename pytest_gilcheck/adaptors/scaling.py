"""The marker ``gil_scaling``: the test body as the workload."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from ..calls import SCALING_ARGUMENTS, Gilcheck, refuse_unknown
from ..core.errors import BadValue
from ..core.team import TeamHung

MARKER = "gil_scaling"
_SOURCE = f"marker {MARKER}"


def arguments(item: pytest.Item) -> dict[str, Any] | None:
    """The marker's arguments, the closest marker's winning name by name; None without the marker.

    Raises:
        BadValue: a positional or unknown argument.
    """
    markers = list(item.iter_markers(MARKER))
    if not markers:
        return None
    merged: dict[str, Any] = {}
    for marker in reversed(markers):
        if marker.args:
            raise BadValue("argument", marker.args[0], "arguments by name only, such as min_speedup=1.5", _SOURCE)
        refuse_unknown(marker.kwargs, SCALING_ARGUMENTS, _SOURCE)
        merged |= marker.kwargs
    return merged


def unsupported(item: pytest.Item) -> str | None:
    """Why the marker cannot be used on this item; None if it can."""
    if not isinstance(item, pytest.Function):
        return f"{MARKER} marks a {type(item).__name__}, and only test functions and methods can be measured"
    if item.cls is not None and hasattr(item.cls, "debug") and hasattr(item.cls, "countTestCases"):
        return f"{MARKER} marks a unittest.TestCase method, which sets up and runs itself; use a plain class, or gilcheck.scaling"
    if "subtests" in item._fixtureinfo.argnames:
        return f"{MARKER} cannot be used with subtests, which report from one thread only"
    function = _coroutine_function(item) or item.obj
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return f"{MARKER} marks a generator, which is no test"
    if _coroutine_function(item) is not None and (fixture := _async_fixture(item)) is not None:
        return f"{MARKER}: fixture {fixture!r} is async and belongs to another event loop; each thread has a loop of its own"
    return None


def run(item: pytest.Function, checks: Gilcheck) -> None:
    """Measure the test body and judge the marker's claim.

    Raises:
        Failed: the claim is violated, or the marker's arguments cannot be used; the message is the result's headline.
        Inconclusive: it could not be decided.
        BaseException: what the body raised.
    """
    words, group = "", None
    try:
        given = arguments(item)
        assert given is not None, "only marked items come here"
        result = checks.checked_scaling(_body(item), given, _SOURCE, item.name)
    except (BadValue, TeamHung) as error:
        words = f"gilcheck: {error}"
    except BaseExceptionGroup as error:
        group = error
    if words:  # outside the except blocks: one line, and not the story of how it came to it
        pytest.fail(words, pytrace=False)
    if group is not None:
        if group.split(pytest.skip.Exception)[1] is None:  # pytest would take it for a skip of the test
            words = "gilcheck: the test skips itself in some of its calls, and not in the first"
            pytest.fail(f"{words}: {'; '.join(_skips(group))}", pytrace=False)
        raise group.with_traceback(None)
    if result.verdict == "violated":
        pytest.fail(result.headline(), pytrace=False)
    result.assert_holds()


def _skips(group: BaseExceptionGroup[BaseException]) -> list[str]:
    """Every skip in the group, with where it happened."""
    lines = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            lines += _skips(error)
        else:
            lines.append(f"{error} ({'; '.join(getattr(error, '__notes__', []))})")
    return lines


def _body(item: pytest.Function) -> Callable[[], Any]:
    """The test as a callable without arguments; its fixtures were set up once and are shared by all threads."""
    function: Callable[..., Any] = item.obj
    if (coroutine := _coroutine_function(item)) is not None:
        function = coroutine if item.instance is None or inspect.ismethod(coroutine) else coroutine.__get__(item.instance)
    names = item._fixtureinfo.argnames  # what the function asks for; usefixtures and autouse are in funcargs too
    values = {name: item.funcargs[name] for name in names}
    if inspect.iscoroutinefunction(function):

        async def awaited() -> None:
            await function(**values)

        return awaited
    return lambda: function(**values)


def _coroutine_function(item: pytest.Function) -> Callable[..., Any] | None:
    """The test's own coroutine function, from under what an async plugin wrapped it in."""
    candidates: tuple[Callable[..., Any] | None, ...] = (
        inspect.unwrap(item.obj, stop=inspect.iscoroutinefunction),
        getattr(item, "_obj", None),
    )
    return next((function for function in candidates if inspect.iscoroutinefunction(function)), None)


def _async_fixture(item: pytest.Function) -> str | None:
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        for definition in definitions:
            function = inspect.unwrap(definition.func)
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                return name
    return None
