"""The markers: run a check with the body of a marked test as its workload."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest

from ..calls import Gilcheck, refuse_without_selector
from ..checks import MARKERS, Check, selected
from ..core.arguments import Argument, refuse_unknown
from ..core.codes import USAGE, code_of, help_line
from ..core.errors import BadValue, ErrorWithCode
from ..core.invariants import standing_for
from ..core.signatures import is_of_kind
from ..core.verdict import Inconclusive, Judged, Verdict
from ..core.workloads import calling
from .expected import is_unexcused, unexcused
from .fuzz_marker import fuzz


def markers_of(item: pytest.Item) -> list[str]:
    """Return the names of this plugin's markers on the item."""
    return [name for name in MARKERS if item.get_closest_marker(name) is not None]


def check_of(marker: str, item: pytest.Item) -> Check:
    """Return the check that the marker, with its arguments, selects for this item."""
    given: dict[str, Any] = {}
    for each in reversed(list(item.iter_markers(marker))):
        given |= each.kwargs
    return selected(marker, given)


def in_children(marker: str) -> bool:
    """Whether the marker's checks run the body in child processes only."""
    return all(check.in_children for check in MARKERS[marker])


def _source(marker: str) -> str:
    return f"marker {marker}"


def _arguments(item: pytest.Item, marker: str) -> dict[str, Any]:
    """Return the marker's arguments. If several markers of one name set an argument, the closest marker decides.

    Raises:
        BadValue: an argument is positional or unknown.
    """
    known = _known(marker)
    merged: dict[str, Any] = {}
    for each in reversed(list(item.iter_markers(marker))):
        if each.args:
            raise BadValue("argument", each.args[0], f"arguments by name only, such as {known[0].name}=...", _source(marker))
        refuse_unknown(each.kwargs, known, marker)
        merged |= each.kwargs
    return merged


def _known(marker: str) -> list[Argument]:
    return list({argument.name: argument for check in MARKERS[marker] for argument in check.arguments}.values())


def unsupported(item: pytest.Item, marker: str) -> str | None:
    """Return why the marker cannot be used on this item, for a message; None if it can."""
    if not isinstance(item, pytest.Function):
        return f"{marker} marks a {type(item).__name__}; it can mark only test functions and methods"
    if is_test_case(item) and not _runs_clients(item, marker):
        call = marker.removeprefix("gil_")
        return f"{marker} marks a unittest.TestCase method, which unittest runs itself; use a plain class, or call gilcheck.{call}"
    if "subtests" in item.fixturenames:
        return f"{marker} cannot be used with subtests, which report from one thread only"
    function = _coroutine_function(item) or item.obj
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return f"{marker} marks a generator function, which pytest does not run as a test"
    searches = any(check.searches for check in MARKERS[marker])
    if searches and (_coroutine_function(item) is not None or _async_fixture(item) is not None):
        return f"{marker} cannot be used with coroutines: their event loop schedules them, which this check cannot control"
    if _coroutine_function(item) is not None and (fixture := _async_fixture(item)) is not None:
        return f"{marker}: fixture {fixture!r} is async and belongs to another event loop; the check runs the body in a new loop"
    return None


def is_test_case(item: pytest.Item) -> bool:
    """Whether this is a method of `unittest`."""
    kind = getattr(item, "cls", None)
    return kind is not None and hasattr(kind, "debug") and hasattr(kind, "countTestCases")


def _runs_clients(item: pytest.Item, marker: str) -> bool:
    return any(each.kwargs.get("fixtures") == "own" for each in item.iter_markers(marker))


class _Outcome(BaseException):
    """Carries an outcome of pytest (skip, fail, xfail, exit) from a child to the parent: pytest's exceptions cannot be pickled."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)


def run(item: pytest.Function, marker: str, checks: Gilcheck) -> None:
    """Check the test body and judge the marker's claim.

    Raises:
        Failed: the claim is violated (the message is the result's), or the marker's arguments cannot be used.
        Inconclusive: the check could not decide the claim.
        BaseException: the exception that the body raised.
    """
    __tracebackhide__ = True
    message, code, group, raised = "", "", None, None
    body = _body(item)
    if in_children(marker):
        body = _carrying_outcomes(body)
    try:
        result = _run_check(item, marker, checks, body)
    except ErrorWithCode as error:
        code = code_of(*error.finding)
        about = "" if code == USAGE else f"\n  {help_line(code)}"  # a refused argument says what to do
        message = f"gilcheck: {error} ({place_of(item)}){about}"
    except _Outcome as error:
        raised = _outcome(*error.args)
    except BaseExceptionGroup as error:
        group = error
    except KeyboardInterrupt:  # from the user; a KeyboardInterrupt in a child is part of the result
        raise
    except BaseException as error:
        if not in_children(marker):
            raise
        raised = error
    if raised is not None:  # from a child: its traceback is in its notes, and that of this process does not help
        _raise(raised)
    if message:  # outside the except blocks, so that pytest shows one line without the chain of exceptions
        failure = pytest.fail.Exception(message, pytrace=False)
        failure.gilcheck_code = code  # type: ignore[attr-defined] # for the record of the check
        _raise(failure)
    if group is not None:
        if group.split(pytest.skip.Exception)[1] is None:  # pytest would skip the test
            message = "gilcheck: the test skipped itself in some of its calls, but not in the first"
            _raise(pytest.fail.Exception(f"{message}: {'; '.join(_skips(group))}", pytrace=False))
        _raise(group)
    if result.conclusion is Verdict.VIOLATED:
        _raise(pytest.fail.Exception(result.message(), pytrace=False))
    result.assert_holds()


def raise_worst(problems: Sequence[BaseException]) -> None:
    """Raise the worst problem of a test after the checks of all its markers: a failure, otherwise an inconclusive check.

    Its message or its notes name the other problems.

    Args:
        problems: the exceptions that the checks raised, in the order of the markers.
    """
    __tracebackhide__ = True
    if not problems:
        return
    failures = [error for error in problems if not isinstance(error, (Inconclusive, pytest.skip.Exception))]
    worst = next(filter(is_unexcused, failures), (failures or problems)[0])
    others = [error for error in problems if error is not worst]
    if not others:
        raise worst
    if isinstance(worst, pytest.fail.Exception) and not worst.pytrace:
        all_of_them = "\n".join([str(worst.msg), *map(_described, others)])
        _raise(unexcused(all_of_them) if is_unexcused(worst) else pytest.fail.Exception(all_of_them, pytrace=False))
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
    """Return the item's ``file:line``, as pytest shows it."""
    file, line, _ = item.location
    return f"{file}:{(line or 0) + 1}"


def _run_check(item: pytest.Function, marker: str, checks: Gilcheck, body: Callable[[], Any]) -> Judged:
    """Run the marker's check and return its result."""
    given, source = _arguments(item, marker), _source(marker)
    check = selected(marker, given)
    refuse_without_selector(check, given, source)
    for argument in check.arguments:
        if argument.uses_fixtures and callable(given.get(argument.name)):
            given[argument.name] = _with_fixtures(item, source, argument.name, given[argument.name])
    if check.searches:
        return fuzz(item, checks.runner, given, source)
    result: Judged = checks.runner.run(check, body, given, source, item.name, known=check.arguments, judged="marker")
    return result


def _raise(error: BaseException) -> NoReturn:
    """Raise without the traceback so far: pytest needs at least one frame and then shows only this one."""
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

    def picklable(error: BaseException) -> BaseException:
        kind = next((kind for outcome, kind in kinds.items() if isinstance(error, outcome)), None)
        return error if kind is None else _Outcome(kind, str(error))

    if is_of_kind(body, inspect.iscoroutinefunction):

        async def awaited() -> None:
            try:
                await body()
            except BaseException as error:
                raise picklable(error) from None

        return calling(awaited, body)

    def called() -> None:
        try:
            body()
        except BaseException as error:
            raise picklable(error) from None

    return calling(called, body)


def _with_fixtures(item: pytest.Function, source: str, name: str, function: Callable[..., Any]) -> Callable[[], Any]:
    """Return the function as one without arguments: each argument without a default gets the test's fixture of that name.

    Raises:
        BadValue: the test has no fixture of that name.
    """
    try:
        required = [
            parameter.name for parameter in inspect.signature(function).parameters.values() if parameter.default is parameter.empty
        ]
    except (TypeError, ValueError):  # a builtin without a signature
        required = []
    if missing := [parameter for parameter in required if parameter not in item.funcargs]:
        raise BadValue(name, function, f"a function whose arguments are fixtures of the test; {missing[0]!r} is not", source)

    def values() -> dict[str, Any]:
        return {parameter: item.funcargs[parameter] for parameter in required}

    called: Callable[[], Any] = standing_for(lambda: function(**values()), function, values)
    return called


def _skips(group: BaseExceptionGroup[BaseException]) -> list[str]:
    """Describe each skip in the group, with the place where it was raised."""
    lines = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            lines += _skips(error)
        else:
            lines.append(f"{error} ({'; '.join(getattr(error, '__notes__', []))})")
    return lines


def _body(item: pytest.Function) -> Callable[[], Any]:
    """Return the test as a function without arguments; its fixtures were set up once, and all threads share them."""
    function: Callable[..., Any] = item.obj
    if (coroutine := _coroutine_function(item)) is not None:
        function = coroutine if item.instance is None or inspect.ismethod(coroutine) else coroutine.__get__(item.instance)
    names = item._fixtureinfo.argnames  # the function's arguments only: funcargs has the fixtures of usefixtures and autouse too
    values = {name: item.funcargs[name] for name in names}
    if is_of_kind(function, inspect.iscoroutinefunction):

        async def awaited() -> None:
            await function(**values)

        return calling(awaited, function)
    return calling(lambda: function(**values), function)


def _coroutine_function(item: pytest.Function) -> Callable[..., Any] | None:
    """Return the coroutine function of the test, without the wrapper of an async plugin; None if the test is not a coroutine."""
    candidates: tuple[Callable[..., Any] | None, ...] = (
        inspect.unwrap(item.obj, stop=inspect.iscoroutinefunction),
        getattr(item, "_obj", None),
    )
    return next((function for function in candidates if is_of_kind(function, inspect.iscoroutinefunction)), None)


def _async_fixture(item: pytest.Function) -> str | None:
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        for definition in definitions:
            function = inspect.unwrap(definition.func)
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                return name
    return None
