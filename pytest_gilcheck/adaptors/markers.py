"""The markers: the test body as the workload of a check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import pytest

from ..calls import Gilcheck, refuse_without_selector
from ..checks import MARKERS, Check, selected
from ..core.arguments import Argument, refuse_unknown
from ..core.errors import BadValue
from ..core.team import TeamHung
from ..core.verdict import Inconclusive, Judged
from ..fuzz.check import ReplayDiverged
from .fuzz_marker import fuzz


def markers_of(item: pytest.Item) -> list[str]:
    """The names of this item's markers that are ours."""
    return [name for name in MARKERS if item.get_closest_marker(name) is not None]


def check_of(marker: str, item: pytest.Item) -> Check:
    """The check that the marker stands for on this item."""
    given: dict[str, Any] = {}
    for each in reversed(list(item.iter_markers(marker))):
        given |= each.kwargs
    return selected(marker, given)


def in_children(marker: str) -> bool:
    """Whether the marker's checks run the body in child processes, and in no other."""
    return all(check.in_children for check in MARKERS[marker])


def _source(marker: str) -> str:
    return f"marker {marker}"


def _arguments(item: pytest.Item, marker: str) -> dict[str, Any]:
    """The marker's arguments; of several markers of one name, the closest one wins, name by name.

    Raises:
        BadValue: a positional or unknown argument.
    """
    known = _known(marker)
    merged: dict[str, Any] = {}
    for each in reversed(list(item.iter_markers(marker))):
        if each.args:
            raise BadValue("argument", each.args[0], f"arguments by name only, such as {known[0].name}=...", _source(marker))
        refuse_unknown(each.kwargs, known, _source(marker), each.kwargs)
        merged |= each.kwargs
    return merged


def _known(marker: str) -> list[Argument]:
    return list({argument.name: argument for check in MARKERS[marker] for argument in check.arguments}.values())


def unsupported(item: pytest.Item, marker: str) -> str | None:
    """Why the marker cannot be used on this item; None if it can."""
    if not isinstance(item, pytest.Function):
        return f"{marker} marks a {type(item).__name__}, and only test functions and methods can be checked"
    if item.cls is not None and hasattr(item.cls, "debug") and hasattr(item.cls, "countTestCases"):
        call = marker.removeprefix("gil_")
        return f"{marker} marks a unittest.TestCase method, which sets up and runs itself; use a plain class, or gilcheck.{call}"
    if "subtests" in item._fixtureinfo.argnames:
        return f"{marker} cannot be used with subtests, which report from one thread only"
    function = _coroutine_function(item) or item.obj
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return f"{marker} marks a generator, which is no test"
    searches = any(check.searches for check in MARKERS[marker])
    if searches and (_coroutine_function(item) is not None or _async_fixture(item) is not None):
        return f"{marker} cannot be used with coroutines: an event loop schedules by itself, and no schedule controls it"
    if _coroutine_function(item) is not None and (fixture := _async_fixture(item)) is not None:
        return f"{marker}: fixture {fixture!r} is async and belongs to another event loop; the body gets a loop of its own"
    return None


class _Outcome(BaseException):
    """pytest's own outcomes (skip, fail, xfail, exit) on their way out of a child: they cannot be pickled themselves."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)


def run(item: pytest.Function, marker: str, checks: Gilcheck, started_by: Mapping[str, str]) -> None:
    """Check the test body and judge the marker's claim.

    Args:
        started_by: which fixture started which thread, both by name.

    Raises:
        Failed: the claim is violated, or the marker's arguments cannot be used; the message is the result's headline.
        Inconclusive: the claim could not be decided.
        BaseException: what the body raised.
    """
    __tracebackhide__ = True
    message, group, raised = "", None, None
    body = _body(item)
    if in_children(marker):
        body = _carrying_outcomes(body)
    try:
        result = _checked(item, marker, checks, body)
    except (BadValue, TeamHung, ReplayDiverged) as error:
        message = f"gilcheck: {error}{_fixture_to_blame(error, item, started_by)} ({place_of(item)})"
    except _Outcome as error:
        raised = _outcome(*error.args)
    except BaseExceptionGroup as error:
        group = error
    except KeyboardInterrupt:  # the user's own: one in a child is a result
        raise
    except BaseException as error:
        if not in_children(marker):
            raise
        raised = error
    if raised is not None:  # from a child: its traceback is in its notes, and this process has none to add
        _raise(raised)
    if message:  # outside the except blocks: one line, without the chain of exceptions that led to it
        _raise(pytest.fail.Exception(message, pytrace=False))
    if group is not None:
        if group.split(pytest.skip.Exception)[1] is None:  # pytest would take it for a skip of the test
            message = "gilcheck: the test skips itself in some of its calls, and not in the first"
            _raise(pytest.fail.Exception(f"{message}: {'; '.join(_skips(group))}", pytrace=False))
        _raise(group)
    if result.verdict == "violated":
        _raise(pytest.fail.Exception(result.headline(), pytrace=False))
    result.assert_holds()


def raise_worst(problems: Sequence[BaseException]) -> None:
    """Raise for a test whose markers have all run: a failure before what is undecided, with the others named.

    Args:
        problems: what each marker's check raised, in their order.
    """
    __tracebackhide__ = True
    if not problems:
        return
    failures = [error for error in problems if not isinstance(error, (Inconclusive, pytest.skip.Exception))]
    worst = (failures or problems)[0]
    others = [error for error in problems if error is not worst]
    if not others:
        raise worst
    if isinstance(worst, pytest.fail.Exception) and not worst.pytrace:
        _raise(pytest.fail.Exception("\n".join([str(worst.msg), *map(_described, others)]), pytrace=False))
    if isinstance(worst, Inconclusive):
        raise Inconclusive("; ".join(map(str, problems)))
    for error in others:
        worst.add_note(_described(error))
    raise worst


def _described(error: BaseException) -> str:
    if isinstance(error, (Inconclusive, pytest.skip.Exception)):
        return f"inconclusive: {error}"
    return str(error) if isinstance(error, pytest.fail.Exception) else f"{type(error).__name__}: {error}"


def place_of(item: pytest.Item) -> str:
    """The item's ``file:line``, as its user knows it."""
    file, line, _ = item.location
    return f"{file}:{(line or 0) + 1}"


def _checked(item: pytest.Function, marker: str, checks: Gilcheck, body: Callable[[], Any]) -> Judged:
    """The result of the marker's check."""
    given, source = _arguments(item, marker), _source(marker)
    check = selected(marker, given)
    if not check.selected_by:
        refuse_without_selector(check, given, source)
    for argument in check.arguments:
        if argument.uses_fixtures and callable(given.get(argument.name)):
            given[argument.name] = _with_fixtures(item, source, argument.name, given[argument.name])
    if check.searches:
        return fuzz(item, checks.runner, given, source)
    result: Judged = checks.runner.run(check, body, given, source, item.name, known=check.arguments, judged="marker")
    return result


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


def _with_fixtures(item: pytest.Function, source: str, name: str, function: Callable[..., Any]) -> Callable[[], Any]:
    """The function without arguments: those it has are fixtures of the test, by name."""
    try:
        wanted = [
            parameter.name for parameter in inspect.signature(function).parameters.values() if parameter.default is parameter.empty
        ]
    except (TypeError, ValueError):  # a builtin without a signature
        wanted = []
    if missing := [parameter for parameter in wanted if parameter not in item.funcargs]:
        raise BadValue(name, function, f"arguments that are fixtures of the test; {missing[0]!r} is none", source)
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
