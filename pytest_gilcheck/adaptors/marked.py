"""The markers: the test body as the workload of a check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from ..calls import INJECTION_ARGUMENTS, INTERRUPT_ARGUMENTS, LATENCY_ARGUMENTS, SCALING_ARGUMENTS, Gilcheck, refuse_unknown
from ..core.errors import BadValue
from ..core.team import TeamHung
from ..core.verdict import Judged
from ..fuzz.check import ReplayDiverged
from .fuzzed import MARKER_ARGUMENTS, fuzz


@dataclass(frozen=True)
class Marker:
    """A marker and the check it stands for.

    Attributes:
        known: the arguments it takes.
        check: called with the checks, the body, the arguments, their source and the test's name.
        in_children: whether the check itself runs the body in child processes, and in no other.
        called: arguments that are called, and may ask for the test's fixtures by name.
        of_item: whether the check is one of the item itself, which sets its fixtures up.
    """

    name: str
    known: tuple[str, ...]
    check: Callable[..., Judged]
    in_children: bool = False
    called: tuple[str, ...] = ()
    of_item: bool = False

    @property
    def source(self) -> str:
        return f"marker {self.name}"

    def arguments(self, item: pytest.Item) -> dict[str, Any]:
        """The marker's arguments, the closest marker's winning name by name.

        Raises:
            BadValue: a positional or unknown argument.
        """
        merged: dict[str, Any] = {}
        for marker in reversed(list(item.iter_markers(self.name))):
            if marker.args:
                raise BadValue("argument", marker.args[0], f"arguments by name only, such as {self.known[0]}=...", self.source)
            refuse_unknown(marker.kwargs, self.known, self.source)
            merged |= marker.kwargs
        return merged


MARKERS = {
    marker.name: marker
    for marker in (
        Marker("gil_scaling", SCALING_ARGUMENTS, Gilcheck.checked_scaling),
        Marker("gil_latency", LATENCY_ARGUMENTS, Gilcheck.checked_latency),
        Marker(
            "gil_interrupt",
            tuple(dict.fromkeys(INTERRUPT_ARGUMENTS + INJECTION_ARGUMENTS)),
            Gilcheck.checked_interrupt,
            in_children=True,
            called=("setup", "invariant"),
        ),
        Marker("gil_fuzz", MARKER_ARGUMENTS, fuzz, called=("invariant",), of_item=True),
    )
}


def markers_of(item: pytest.Item) -> list[Marker]:
    """The markers of this item that are ours."""
    return [marker for name, marker in MARKERS.items() if item.get_closest_marker(name) is not None]


def check_of(marker: Marker, item: pytest.Item) -> str:
    """What the marker's check is called in evidence."""
    injects = any(each.kwargs.get("inject") is not None for each in item.iter_markers(marker.name))
    return "injection" if injects else marker.name.removeprefix("gil_")


def unsupported(item: pytest.Item, marker: Marker) -> str | None:
    """Why the marker cannot be used on this item; None if it can."""
    if not isinstance(item, pytest.Function):
        return f"{marker.name} marks a {type(item).__name__}, and only test functions and methods can be checked"
    if item.cls is not None and hasattr(item.cls, "debug") and hasattr(item.cls, "countTestCases"):
        call = marker.name.removeprefix("gil_")
        return (
            f"{marker.name} marks a unittest.TestCase method, which sets up and runs itself; use a plain class, or gilcheck.{call}"
        )
    if "subtests" in item._fixtureinfo.argnames:
        return f"{marker.name} cannot be used with subtests, which report from one thread only"
    function = _coroutine_function(item) or item.obj
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return f"{marker.name} marks a generator, which is no test"
    if marker.of_item and (_coroutine_function(item) is not None or _async_fixture(item) is not None):
        return f"{marker.name} cannot be used with coroutines: an event loop schedules by itself, and no schedule controls it"
    if _coroutine_function(item) is not None and (fixture := _async_fixture(item)) is not None:
        return f"{marker.name}: fixture {fixture!r} is async and belongs to another event loop; the body gets a loop of its own"
    return None


class _Outcome(BaseException):
    """pytest's own outcomes (skip, fail, xfail, exit) on their way out of a child: they cannot be pickled themselves."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)


def run(item: pytest.Function, marker: Marker, checks: Gilcheck, started_by: Mapping[str, str]) -> None:
    """Check the test body and judge the marker's claim.

    Args:
        started_by: which fixture started which thread, both by name.

    Raises:
        Failed: the claim is violated, or the marker's arguments cannot be used; the message is the result's headline.
        Inconclusive: it could not be decided.
        BaseException: what the body raised.
    """
    __tracebackhide__ = True
    words, group, raised = "", None, None
    body = _body(item)
    if marker.in_children:
        body = _carrying_outcomes(body)
    try:
        given = marker.arguments(item)
        given |= {name: _with_fixtures(item, marker, name, given[name]) for name in marker.called if callable(given.get(name))}
        if marker.of_item:
            result = marker.check(item, checks, given, marker.source)
        else:
            result = marker.check(checks, body, given, marker.source, item.name)
    except (BadValue, TeamHung, ReplayDiverged) as error:
        words = f"gilcheck: {error}" + _fixture_to_blame(error, item, started_by)
    except _Outcome as error:
        raised = _outcome(*error.args)
    except BaseExceptionGroup as error:
        group = error
    except KeyboardInterrupt:  # the user's own: one in a child is a result
        raise
    except BaseException as error:
        if not marker.in_children:
            raise
        raised = error
    if raised is not None:  # from a child: its own story is in its notes, and this process has none to tell
        _raise(raised)
    if words:  # outside the except blocks: one line, and not the story of how it came to it
        _raise(pytest.fail.Exception(words, pytrace=False))
    if group is not None:
        if group.split(pytest.skip.Exception)[1] is None:  # pytest would take it for a skip of the test
            words = "gilcheck: the test skips itself in some of its calls, and not in the first"
            _raise(pytest.fail.Exception(f"{words}: {'; '.join(_skips(group))}", pytrace=False))
        _raise(group)
    if result.verdict == "violated":
        _raise(pytest.fail.Exception(result.headline(), pytrace=False))
    result.assert_holds()


def _raise(error: BaseException) -> NoReturn:
    """The one frame that pytest shows of ours: it wants at least one."""
    raise error.with_traceback(None)


def _outcome(kind: str, message: str) -> BaseException:
    if kind == "skip":
        return pytest.skip.Exception(message, _use_item_location=True)
    outcomes: dict[str, type[BaseException]] = {
        "fail": pytest.fail.Exception, "xfail": pytest.xfail.Exception, "exit": pytest.exit.Exception
    }  # fmt: skip
    return outcomes[kind](message)


def _carrying_outcomes(body: Callable[[], Any]) -> Callable[[], Any]:
    kinds = {
        pytest.skip.Exception: "skip",
        pytest.fail.Exception: "fail",
        pytest.xfail.Exception: "xfail",
        pytest.exit.Exception: "exit",
    }

    def carried(error: BaseException) -> BaseException:
        kind = next((word for outcome, word in kinds.items() if isinstance(error, outcome)), None)
        return error if kind is None else _Outcome(kind, str(error))

    if inspect.iscoroutinefunction(body):

        async def awaited() -> None:
            try:
                await body()
            except BaseException as error:
                raise carried(error) from None

        return awaited

    def called() -> None:
        try:
            body()
        except BaseException as error:
            raise carried(error) from None

    return called


def _fixture_to_blame(error: Exception, item: pytest.Function, started_by: Mapping[str, str]) -> str:
    """Which fixture of this test started a thread that the error names: it cannot exist in a child."""
    if not isinstance(error, BadValue):
        return ""
    found = [name for thread, name in started_by.items() if thread in error.expected and name in item.fixturenames]
    return f"; fixture {found[0]!r} started that thread" if found else ""


def _with_fixtures(item: pytest.Function, marker: Marker, name: str, function: Callable[..., Any]) -> Callable[[], Any]:
    """The function without arguments: those it has are fixtures of the test, by name."""
    try:
        wanted = [
            parameter.name for parameter in inspect.signature(function).parameters.values() if parameter.default is parameter.empty
        ]
    except (TypeError, ValueError):  # a builtin without a signature
        wanted = []
    if missing := [parameter for parameter in wanted if parameter not in item.funcargs]:
        raise BadValue(name, function, f"arguments that are fixtures of the test; {missing[0]!r} is none", marker.source)
    return lambda: function(**{parameter: item.funcargs[parameter] for parameter in wanted})


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
