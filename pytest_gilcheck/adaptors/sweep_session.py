"""``pytest --gilcheck-sweep``: each test runs plainly, and then its schedules are searched in a process of its own.

The plain run comes first in pytest's own process, and its outcome stays whatever becomes of the sweep. What it does decides how the
test is swept (`sweep_child`). Before the first test, a planted fault must be found here; otherwise nothing is claimed.
"""

from __future__ import annotations

import _thread
import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any

import pytest

from ..core.clocks import monotonic
from ..core.fork_safety import NoFork, can_fork, declare_harmless
from ..settings import Settings, option
from ..sweep.accounting import SweepAccount, SweepOutcome, Swept
from .guard import belongs_to_a_plugin
from .options import settings_of
from .sweep_child import WaitingFork
from .sweep_process_wide import by_fixture

LEFT_OUT = "gilcheck_sweep_leave_out"  # the ini setting
_LEAST = 60.0  # seconds for a sweep
_OF_A_TEST, _LEAST_OF_A_TEST = 5.0, 0.5  # seconds for one search
_SHARE = 0.1  # of what is left, for one search
_STARTS = ((_thread, "start_new_thread"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread"))
_FAILS = "its plain run does not pass"
_FOUND = pytest.StashKey[dict[str, Any]]()


def start(config: pytest.Config, *, sweeps: bool) -> None:
    """Register the sweep.

    Args:
        sweeps: whether this process runs tests, and is not xdist's controller.

    Raises:
        pytest.UsageError: a setting that does not go with a sweep.
    """
    settings = settings_of(config)
    for name in ("replay", "disable"):
        if settings.value(name)[0]:
            raise pytest.UsageError(f"gilcheck: {option('sweep')} and {option(name)} do not go together: leave one out")
    if sweeps:
        config.pluginmanager.register(Sweep(config, settings), "gilcheck-sweep")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SweepSummary(), "gilcheck-sweep-summary")


class Sweep:
    """Sweeps the tests that this process runs."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        declare_harmless(belongs_to_a_plugin)
        self._budget: float | None = settings.value("sweep_budget")[0]
        self._patterns: list[str] = config.getini(LEFT_OUT)
        self._plain = self._spent = 0.0  # seconds of plain runs, and of sweeps
        self._canary, self._refused = True, ""
        self._waiting: WaitingFork | None = None
        self._threads = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fork before the test's body, so that the sweep begins with what has not been made yet."""
        __tracebackhide__ = True
        self._end()
        item.stash[_FOUND] = {}
        if (left_out := self._left_out(item)) is not None:
            item.stash[_FOUND] = left_out.packed()
            return (yield)
        assert isinstance(item, pytest.Function)
        try:
            self._waiting = WaitingFork(item)
        except NoFork as error:
            item.stash[_FOUND] = Swept(item.nodeid, SweepOutcome.REFUSED, str(error)).packed()
        begun, self._threads = monotonic(), 0
        try:
            with self._counting():
                return (yield)
        except BaseException:
            item.stash[_FOUND] = Swept(item.nodeid, SweepOutcome.LEFT_OUT, _FAILS).packed()
            self._end()
            raise
        finally:
            self._plain += monotonic() - begun

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Sweep before the teardown: what is wider than the test, and outside of this process, is still there."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            item.stash[_FOUND] = self._swept(item, waiting).packed()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report: Any = yield
        if call.when == "teardown":
            report.gilcheck_sweep = item.stash.get(_FOUND, None) or Swept(item.nodeid, SweepOutcome.LEFT_OUT, _FAILS).packed()
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._end()

    def _end(self) -> None:
        """End the fork of a test that was not swept: an interrupt came between."""
        if self._waiting is not None:
            self._waiting.end()
            self._waiting = None

    def _swept(self, item: pytest.Item, waiting: WaitingFork) -> Swept:
        left = self._left()
        if left <= 0:
            waiting.end()
            return Swept(item.nodeid, SweepOutcome.CUT_SHORT, f"{option('sweep_budget')} was spent before", self._threads > 0)
        begun = monotonic()
        budget = min(_OF_A_TEST, max(_LEAST_OF_A_TEST, _SHARE * left))
        if (cancel := getattr(item.config.hook, "pytest_timeout_cancel_timer", None)) is not None:
            cancel(item=item)  # pytest-timeout would end the test for what the sweep takes
        found = waiting.sweep(self._threads, budget, self._canary)
        self._spent += monotonic() - begun
        self._canary = False
        if found.outcome == "canary":
            self._refused = found.reason
            return Swept(item.nodeid, SweepOutcome.REFUSED, found.reason)
        found.test = item.nodeid
        return found

    def _left(self) -> float:
        allowed = max(_LEAST, self._plain) if self._budget is None else self._budget
        return allowed - self._spent

    def _left_out(self, item: pytest.Item) -> Swept | None:
        """A test that is not to be swept, with why; None for all others."""
        for pattern in self._patterns:
            if fnmatch(item.nodeid, pattern) or item.nodeid.startswith(f"{pattern}::"):
                return Swept(item.nodeid, SweepOutcome.LEFT_OUT, f"{LEFT_OUT} has {pattern!r}")
        if (why := _opted_out(item)) is not None:
            return Swept(item.nodeid, SweepOutcome.LEFT_OUT, why)
        why = self._refused or _unsupported(item) or by_fixture(getattr(item, "fixturenames", ())) or can_fork()
        return None if why is None else Swept(item.nodeid, SweepOutcome.REFUSED, why)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count the threads that are started."""

        def counting(start: Any) -> Any:
            def started(*given: Any, **named: Any) -> Any:
                self._threads += 1
                return start(*given, **named)

            return started

        real = [(module, name, getattr(module, name)) for module, name in _STARTS if hasattr(module, name)]
        for module, name, function in real:
            setattr(module, name, counting(function))
        try:
            yield
        finally:
            for module, name, function in real:
                setattr(module, name, function)


def _opted_out(item: pytest.Item) -> str | None:
    """The mark of pytest-run-parallel that takes a test out; None if it has none."""
    if item.get_closest_marker("thread_unsafe") is not None:
        return "it has the mark thread_unsafe"
    limit = item.get_closest_marker("parallel_threads")
    return "it has the mark parallel_threads(1)" if limit is not None and limit.args == (1,) else None


def _unsupported(item: pytest.Item) -> str | None:
    from .checked_tests import uses_check

    if not isinstance(item, pytest.Function):
        return f"a {type(item).__name__} is no test function"
    if uses_check(item):
        return "it has a check of its own"
    function = inspect.unwrap(item.obj)
    if any(kind(each) for kind in (inspect.iscoroutinefunction, inspect.isasyncgenfunction) for each in (function, item.obj)):
        return "an event loop schedules it"
    if hasattr(item.obj, "hypothesis"):
        return "hypothesis draws its values"
    if inspect.isgeneratorfunction(function):
        return "it is a generator function"
    if "subtests" in item._fixtureinfo.argnames:
        return "subtests report from one thread only"
    return None


class SweepSummary:
    """Shows what a sweep has done, of this process or of xdist's workers."""

    def __init__(self) -> None:
        self._account = SweepAccount()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (found := getattr(report, "gilcheck_sweep", None)) is not None:
            self._account.add(Swept(**found))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A cause in the user's package fails the run."""
        if self._account.fails and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("gilcheck sweep")
        for line in self._account.lines():
            terminalreporter.line(line)
