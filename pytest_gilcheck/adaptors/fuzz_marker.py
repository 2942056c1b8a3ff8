"""The marker ``gil_fuzz``: run a test's body in several threads, with its function-scoped fixtures set up again for each schedule.

Before each schedule, the function-scoped fixtures of the previous one are torn down and pytest sets them up again. So teardowns
run for each schedule and may assert. Fixtures of a wider scope, and whatever else the body refers to, are shared by all schedules.
A test method gets a new instance for each schedule.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import _pytest.python
import pytest
from _pytest.logging import caplog_handler_key, caplog_records_key
from _pytest.outcomes import OutcomeException

from ..checks import FUZZ
from ..core.errors import BadValue
from ..core.invariants import standing_for
from ..core.origin import foreign
from ..engine.program import Program, RunOutput
from ..fuzz.check import check_plain
from ..fuzz.result import FuzzResult
from ..runner import Runner
from . import explanations, sweep_own
from .parameters import CONSTANT, Parameters

DEFAULT_THREADS = 2
_CONTAINERS = (list, dict, set, bytearray, tuple, deque)  # that hypothesis draws, and a test may change
_NOT_RENEWED = frozenset({"gilcheck", "request"})
_PARAMETER = getattr(_pytest.python, "get_direct_param_fixture_func", None)  # of a value of `parametrize`, the same each time
_MARKER_ARGUMENTS = tuple(argument for argument in FUZZ.arguments if argument.marker_only)


def fuzz(item: pytest.Function, runner: Runner, given: Mapping[str, Any], source: str) -> FuzzResult:
    """Search the schedules of this test for a failure.

    Args:
        given: the marker's arguments, by name.
        source: where they come from, for messages.

    Raises:
        BadValue: an argument cannot be used.
        BaseException: the exception that the test raises in every sequential order.
    """
    names = [argument.name for argument in _MARKER_ARGUMENTS]
    values = runner.read(_MARKER_ARGUMENTS, {name: given.get(name) for name in names}, source)
    threads, invariant = values.get("threads", DEFAULT_THREADS), values.get("invariant")
    if invariant is not None:
        check_plain("invariant", getattr(invariant, "stands_for", (invariant, None))[0], source)
    rest = {name: value for name, value in given.items() if name not in names}
    if (test := getattr(item.obj, "hypothesis", None)) is not None:
        if values.get("fixtures") == "own":
            raise BadValue("fixtures", "own", "'shared' for a test of hypothesis, which draws for all threads", source)
        return _with_hypothesis(item, test, runner, rest, threads, invariant, source)
    fixtures = FunctionScopedFixtures(item, invariant)
    own = values.get("fixtures") == "own"
    if own:
        program, ends_run = sweep_own.program_of(item, fixtures, threads, invariant, source)
        program = replace(program, output=runner.output or RunOutput(), shared=_shared_by_runs(item, fixtures))
    else:
        program = _program(item, fixtures, fixtures.set_up, threads, invariant, item.obj, runner.output)
    fixtures.discard_first()
    try:
        with explanations.given_back(), ends_run() if own else nullcontext():
            result: FuzzResult = runner.run(
                FUZZ, program, rest, source, judged="marker", share=_share(item.config), stays=runner.stays()
            )
    finally:
        fixtures.give_back_parameters()
    return result


def _program(
    item: pytest.Function,
    fixtures: FunctionScopedFixtures,
    set_up: Callable[[], Callable[[], object]],
    threads: int,
    invariant: Any,
    test: Callable[..., Any],
    output: RunOutput | None,
) -> Program:
    """The program whose threads call what ``set_up`` returns: the test with the values of a schedule."""
    return Program(
        (_named(lambda call_test: call_test(), item),) * threads,
        setup=set_up,
        invariant=None if invariant is None else _without_arguments(invariant),
        name=item.name,
        teardown=fixtures.tear_down,
        may_raise=False,
        calls=(test,),
        reached=fixtures.reached,
        terse=explanations.none_from_here_on,
        output=output or RunOutput(),
        shared=_shared_by_runs(item, fixtures),
        used_up=fixtures.parameters.used_up,
    )


def _without_arguments(invariant: Callable[[], Any]) -> Callable[..., Any]:
    """The invariant as one that takes the threads' argument, and says what the invariant says."""

    def called(call_test: object) -> Any:
        return invariant()

    function, named = getattr(invariant, "stands_for", (invariant, dict))
    check: Callable[..., Any] = standing_for(called, function, named)
    return check


def _share(config: pytest.Config) -> tuple[int, int]:
    """Return the number of this xdist worker, from 0, and the number of workers that divide the schedules among them.

    With ``--dist each`` every worker runs every test. Otherwise this process runs all schedules: 0 of 1.
    """
    worker = getattr(config, "workerinput", {})
    if not worker.get("gilcheck_share"):
        return 0, 1
    return int(worker["workerid"].removeprefix("gw")), worker["workercount"]


def _with_hypothesis(
    item: pytest.Function, test: Any, runner: Runner, given: Mapping[str, Any], threads: int, invariant: Any, source: str
) -> FuzzResult:
    """Search the schedules of each example of hypothesis, which draws all values in the main thread.

    Returns:
        The first inconclusive result, otherwise the last result.

    Raises:
        BadValue: hypothesis ran no example.
        ClaimViolated: the claim is violated for an example.
    """
    import hypothesis

    results: list[FuzzResult] = []
    inner = test.inner_test
    fixtures = FunctionScopedFixtures(item, invariant)

    @functools.wraps(inner)  # hypothesis' report shows the name
    def explored(*values: Any, **named: Any) -> None:
        __tracebackhide__ = True

        def made_anew() -> Callable[[], object]:
            arguments = {name: _copied(value) for name, value in named.items()} | fixtures.renewed(named.keys())
            instance = () if item.cls is None else (item.instance,)
            drawn = (*instance, *(_copied(value) for value in values[len(instance) :]))
            return lambda: inner(*drawn, **arguments)

        program = _program(item, fixtures, made_anew, threads, invariant, inner, runner.output)
        with explanations.given_back():
            result = runner.run(FUZZ, program, given, source, judged="marker", stays=runner.stays())
        results.append(result)
        if result.conclusion == "inconclusive":
            return
        result.assert_holds()

    test.inner_test = explored
    previous = getattr(item.obj, "_hypothesis_internal_use_settings", None)
    item.obj._hypothesis_internal_use_settings = hypothesis.settings(previous, deadline=None)
    fixtures.discard_first()
    try:
        item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames})
    finally:
        test.inner_test = inner
        fixtures.give_back_parameters()
        item.obj._hypothesis_internal_use_settings = previous
    undecided = [result for result in results if result.conclusion == "inconclusive"]
    if undecided:
        return undecided[0]
    if not results:
        raise BadValue("test", item.name, "a test for which hypothesis runs at least one example", source)
    return results[-1]


def _copied(value: Any) -> Any:
    """A drawn value as each schedule gets it, with nothing of what another has done; what is no container, as it is."""
    if type(value) not in _CONTAINERS:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # what is in it cannot be copied
        return value


def _shared_by_runs(item: pytest.Function, set_up: FunctionScopedFixtures) -> str:
    """What keeps its state from one schedule to the next, in words: of what the test asks for, or else of the user's fixtures."""
    kept, anew = set_up.kept, set_up.parameters.is_made_anew
    fixtures = {name: found[-1] for name, found in item._fixtureinfo.name2fixturedefs.items() if found[-1].func is not _PARAMETER}

    def words(name: str) -> str:
        if name == "request":
            return "the test can ask 'request' for fixtures"
        if name not in fixtures:
            return "" if anew(name) or isinstance(kept.get(name), CONSTANT) else f"{name!r} is a parameter"
        scope, module = fixtures[name].scope, fixtures[name].func.__module__ or ""
        return "" if scope == "function" or module.startswith("_pytest.") else f"{name!r} is {scope}-scoped"

    of_user = [name for name, fixture in fixtures.items() if not foreign(_file_of(fixture.func))]
    named = [*filter(None, map(words, item._fixtureinfo.argnames))] or [*filter(None, map(words, of_user))]
    shared = " and ".join(named[:3]) or "the test keeps state outside its fixtures, such as in its module"
    return f"{shared}, and only function-scoped fixtures are made anew for each schedule"


def _file_of(function: Any) -> str:
    return str(getattr(getattr(inspect.unwrap(function), "__code__", None), "co_filename", ""))


class FunctionScopedFixtures:
    """Sets up and tears down the function-scoped fixtures of one test, any number of times.

    Args:
        invariant: what the marker has for that.

    Attributes:
        kept: the values that all schedules share, by name: of wider fixtures, and of parameters.
        parameters: those that are copied for each schedule.
    """

    def __init__(self, item: pytest.Function, invariant: Any = None) -> None:
        self._item, self._properties = item, len(item.user_properties)
        known = item._fixtureinfo.name2fixturedefs
        self._definitions = [
            definitions[-1]
            for name in item.fixturenames
            if name not in _NOT_RENEWED and (definitions := known.get(name))
            if definitions[-1].scope == "function"
        ]
        self._given: dict[str, Any] = {} if (callspec := getattr(item, "callspec", None)) is None else callspec.params
        narrow = {definition.argname for definition in self._definitions}
        functions = [item.obj, *(definition.func for definition in self._definitions)]
        functions += [] if invariant is None else [getattr(invariant, "stands_for", (invariant, None))[0]]
        self._own = dict(self._given)
        self.parameters = Parameters({name: value for name, value in self._given.items() if name in narrow}, functions)
        self._definitions = [
            each for each in self._definitions if each.func is not _PARAMETER or each.argname in self.parameters.renewed
        ]
        parameters = self._given | self.parameters.values
        self._functions = [*functions, *(each.func for definitions in known.values() for each in definitions)]
        self.kept: dict[str, Any] = {
            name: value for name, value in parameters.items() if name not in known or known[name][-1].func is _PARAMETER
        }  # the others are of fixtures that have parameters
        for name, definitions in known.items():
            if definitions[-1].scope != "function" and (found := definitions[-1].cached_result) is not None:
                self.kept[name] = found[0]

    @property
    def reached(self) -> dict[str, Any]:
        """What the test can reach: the values that all schedules share, by name, and the functions of its fixtures and its own."""
        return {**self.kept, "the functions": self._functions}

    def set_up(self) -> Callable[[], object]:
        """Tear all of them down, set them up again, and return the test's body with their values."""
        values = self.renewed(self._item._fixtureinfo.argnames)
        function = self._item.obj
        return lambda: function(**values)

    def renewed(self, names: Iterable[str]) -> dict[str, Any]:
        """Tear all of them down, set them up again, and return those of the values that have these names."""
        item = self._item
        self.tear_down()
        self._given |= self.parameters.anew()
        del item.user_properties[self._properties :]
        self._log_from_here("setup")
        finalizers = item.session._setupstate.stack[item][0]
        registered = len(finalizers)
        if self._definitions or item.cls is not None:
            for name in ("_instance", "_obj"):
                if item.cls is not None and name in vars(item):
                    delattr(item, name)
            kept = {name: value for name, value in item.funcargs.items() if name in _NOT_RENEWED}
            item._initrequest()
            item.funcargs.update(kept)
            item._request._fillfixtures()
        del finalizers[registered:]  # each fixture has its finalizer since the first set-up; every schedule would add another one
        self._log_from_here("call")
        return {name: self._value(name) for name in names if name in item.funcargs}

    def give_back_parameters(self) -> None:
        """The parameters are those again that pytest has collected: there will be no further schedule."""
        self._given |= self._own

    def _value(self, name: str) -> Any:
        """The value of a fixture or parameter; of one that all schedules share, what is now in its place."""
        return self.kept[name] if name in self.kept and name not in self.parameters.renewed else self._item.funcargs[name]

    def tear_down(self) -> None:
        """Tear all of them down."""
        storage = self._item.stash._storage
        kept = dict(storage)  # the teardown of tmp_path removes an entry that its next teardown reads
        self._log_from_here("teardown")
        try:
            for definition in reversed(self._definitions):
                definition.finish(self._item._request)  # which only passes the request to plugins
        except pytest.fail.Exception as error:
            raise AssertionError(str(error)) from error
        finally:
            storage.update({key: value for key, value in kept.items() if key not in storage})

    def _log_from_here(self, phase: str) -> None:
        """Begin a phase of a schedule for ``caplog``, as pytest does for a test. What a failure shows as logged begins with each
        schedule.

        pytest keeps these records in handlers of its own, not in the fixture. A schedule would find what all schedules before it
        have logged, and an assertion that something was logged would hold because of them.
        """
        stash, plugin = self._item.stash, self._item.config.pluginmanager.get_plugin("logging-plugin")
        if plugin is None or caplog_handler_key not in stash:  # `-p no:logging`
            return
        handler = stash[caplog_handler_key]
        handler.reset()
        stash[caplog_records_key][phase] = handler.records
        if phase == "setup":
            plugin.report_handler.reset()

    def discard_first(self) -> None:
        """Tear down the fixtures that pytest set up before the search. No thread has used them, so what they raise for that is
        ignored: an assertion, an error, the call of `pytest.fail`."""
        for _ in range(len(self._definitions) + 1):  # what has raised is finished, and what comes after it is not
            with suppress(Exception, OutcomeException):
                self.tear_down()
                return


def _named(function: Callable[..., object], item: pytest.Function) -> Callable[..., object]:
    function.__qualname__ = getattr(item.obj, "__qualname__", item.name)
    return function
