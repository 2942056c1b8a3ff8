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
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

import pytest

from ..core.clocks import monotonic
from ..core.fork_safety import declare_harmless
from ..core.interpreter import FREE_THREADED, build
from ..settings import STRESS, Settings, option
from ..sweep.contended import Met
from ..sweep.swept import SweepOutcome, Swept
from . import reporting
from .guard import belongs_to_a_plugin
from .options import settings_of
from .sweep_course import CanaryMissed, Order
from .sweep_opt_outs import OptOuts
from .sweep_process_wide import by_fixture
from .sweep_searches import LEAST, MOST
from .sweep_servers import SweepServers
from .sweep_stress import share_of
from .sweep_summary import LATE, SweepSummary, goal_of, last_sweep

LEFT_OUT = "gilcheck_sweep_leave_out"  # the ini setting
_LEAST = 60.0  # seconds for a sweep
_RECORD = 0.1  # seconds that a record may take, until it is known
_TIMES = 100  # as long as the body of its test, likewise
_DEAR, _SHARES = 0.3, 3  # seconds, and times its share of what is left: a record that takes more comes after all others
_SHARE = 0.1  # of what is left, for one search that is made while tests are to come
_KEPT = 0.3  # of the budget, for searches that are put off
_STARTS = ((_thread, "start_new_thread"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread"))
_FAILS = "its plain run does not pass"
_FOUND = pytest.StashKey[Swept | None]()
_WAITS = pytest.StashKey[bool]()  # whether a process from before its body waits for what becomes of it


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
    if settings.value("sweep")[0] == STRESS and build() != FREE_THREADED:
        instead = "run it with python3.13t or later (-X gil=0), or search schedules with --gilcheck-sweep"
        raise pytest.UsageError(f"gilcheck: {option('sweep')}={STRESS}: a GIL hides what real threads show: {instead}")
    if sweeps:
        config.pluginmanager.register(Sweep(config, settings), "gilcheck-sweep")
    if not hasattr(config, "workerinput"):
        reporting.start(config)
        config.pluginmanager.register(SweepSummary(config, goal_of(config, settings)), "gilcheck-sweep-summary")


class Sweep:
    """Sweeps the tests that this process runs."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        declare_harmless(belongs_to_a_plugin)
        self._real = settings.value("sweep")[0] == STRESS
        self._budget: float | None = settings.value("sweep_budget")[0]
        self._patterns: list[str] = config.getini(LEFT_OUT)
        self._opt_outs = OptOuts(config)
        self._plain = self._spent = 0.0  # seconds of plain runs, and of sweeps
        self._refused = ""
        self._servers: SweepServers | None = None
        self._last = last_sweep(config)
        self._threads = 0
        self._begun = 0  # tests
        self._recorded, self._recording = 1, _RECORD  # tests that share nothing, and the seconds that they took
        self._body, self._bodies = 0.0, _RECORD / _TIMES  # seconds of the plain run of the present test, and of those

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fork before the test's body, so that the sweep begins with what has not been made yet."""
        __tracebackhide__ = True
        item.stash[_FOUND], item.stash[_WAITS] = None, False
        self._begun += 1
        if (left_out := self._left_out(item)) is not None:
            item.stash[_FOUND] = left_out
            return (yield)
        assert isinstance(item, pytest.Function)
        asked = monotonic()
        self._servers = self._servers or SweepServers(item.session.items, Met())
        if why := self._servers.before(item):
            item.stash[_FOUND] = self._not_swept(item, why)
        item.stash[_WAITS] = not why
        begun, self._threads = monotonic(), 0
        self._spent += begun - asked  # a fork takes 5 ms, and more of a large process
        try:
            with self._counting():
                return (yield)
        except BaseException:
            item.stash[_FOUND] = None
            item.stash[_WAITS] = False
            raise
        finally:
            self._body = monotonic() - begun
            self._plain += self._body

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """Sweep before the teardown: what is wider than the test, and outside of this process, is still there."""
        if item.stash.get(_WAITS, False) and self._servers is not None:
            assert isinstance(item, pytest.Function)
            item.stash[_WAITS] = False
            item.stash[_FOUND] = self._swept(item, self._servers, nextitem)
        if self._servers is not None and self._servers.put_off and not (item.session.shouldfail or item.session.shouldstop):
            self._search(item, self._servers, nextitem)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report: Any = yield
        if call.when == "call" and not report.passed:  # `unittest` raises nothing
            item.stash[_FOUND], item.stash[_WAITS] = None, False
        if call.when == "teardown":
            failed = Swept(test=item.nodeid, outcome=SweepOutcome.NOT_PASSED, reason=_FAILS)
            report.gilcheck_sweep = (item.stash.get(_FOUND, None) or failed).packed()
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._servers is not None:
            self._servers.end()

    def _swept(self, item: pytest.Function, servers: SweepServers, following: pytest.Item | None) -> Swept:
        begun = monotonic()
        left = self._left() - self._for_records(item)
        budget = min(MOST, max(LEAST, _SHARE * left)) if left > 0 else 0.0
        if self._real:
            budget = share_of(left, self._to_come(item))
        _without_timeout(item)
        try:
            opt_out, token = self._opt_outs.of(item), self._last.token(item.nodeid)
            order = Order(self._threads, budget, not servers.proved, opt_out, token, self._real)
            if servers.proved and not (self._threads or opt_out or token or self._real):
                order = replace(order, dear=self._dear(item))
            swept = servers.sweep(item, order, following)
        except CanaryMissed as missed:
            self._refused = str(missed)
            return Swept(test=item.nodeid, outcome=SweepOutcome.REFUSED, reason=self._refused)
        finally:
            took = monotonic() - begun
            self._spent += took
        if swept.outcome is SweepOutcome.NOTHING:
            self._recorded, self._recording = self._recorded + 1, self._recording + took
            self._bodies += self._body
        return swept

    def _dear(self, item: pytest.Item) -> float:
        """Seconds that the record of a test probably takes, if that is much more than its share of the time; otherwise 0."""
        expected = self._body * self._recording / self._bodies
        share = (1 - _KEPT) * self._left() / (self._to_come(item) + 1)
        return expected if expected > max(_DEAR, _SHARES * share) else 0.0

    def _search(self, item: pytest.Item, servers: SweepServers, following: pytest.Item | None) -> None:
        """Make the searches that were put off, and cannot wait any longer."""
        _without_timeout(item)
        kept = self._for_records(item) if following is not None else 0.0
        parts = min(1 / _SHARE, 1 + self._to_come(item)) if following is not None else 1.0
        begun = monotonic()
        try:
            for swept in servers.due(item, following, lambda: self._left() - kept - (monotonic() - begun), parts):
                self._tell(item, swept)
        finally:
            self._spent += monotonic() - begun

    def _tell(self, item: pytest.Item, swept: Swept) -> None:
        """What has become of a test of which the report is perhaps made already."""
        if swept.test == item.nodeid:
            item.stash[_FOUND] = swept
        elif (output := getattr(item.config, "workeroutput", None)) is not None:
            output.setdefault(LATE, []).append(swept.packed())
        elif (summary := item.config.pluginmanager.get_plugin("gilcheck-sweep-summary")) is not None:
            summary.add(swept)

    def _for_records(self, item: pytest.Item) -> float:
        """Seconds that no search may spend before the end: the records of the tests to come take them, as far as is known."""
        come = self._to_come(item)
        share = come / (come + self._begun) * (1 - _KEPT) * self._allowed  # not of what is left: many searches would leave nothing
        return min(come * self._recording / self._recorded, share)

    def _to_come(self, item: pytest.Item) -> float:
        """How many tests come after this one."""
        workers: int = getattr(item.config, "workerinput", {}).get("workercount", 1)
        return max(0.0, len(item.session.items) / workers - self._begun)

    @property
    def _allowed(self) -> float:
        return max(_LEAST, self._plain) if self._budget is None else self._budget

    def _left(self) -> float:
        return self._allowed - self._spent

    @property
    def _no_more(self) -> bool:
        """Whether no test is recorded any more: what is left of the budget is for searches."""
        kept = _KEPT * self._allowed if self._servers is not None and self._servers.put_off else 0.0
        return self._left() <= kept

    def _left_out(self, item: pytest.Item) -> Swept | None:
        """A test that is not to be swept, with why; None for all others."""
        for pattern in self._patterns:
            if fnmatch(item.nodeid, pattern) or item.nodeid.startswith(f"{pattern}::"):
                return Swept(test=item.nodeid, outcome=SweepOutcome.LEFT_OUT, reason=f"{LEFT_OUT} has {pattern!r}")
        why = self._refused or _unsupported(item) or by_fixture(getattr(item, "fixturenames", ()))
        spent = self._no_more
        return None if why is None and not spent else self._not_swept(item, why)

    def _not_swept(self, item: pytest.Item, why: str | None) -> Swept:
        """A test that no process is asked for.

        Args:
            why: it is refused; None if the budget was spent.
        """
        if opt_out := self._opt_outs.of(item):
            return Swept(test=item.nodeid, outcome=SweepOutcome.LEFT_OUT, reason=opt_out, opt_out=opt_out)
        if why is None:
            return Swept(test=item.nodeid, outcome=SweepOutcome.CUT_SHORT, reason=f"{option('sweep_budget')} was spent before")
        return Swept(test=item.nodeid, outcome=SweepOutcome.REFUSED, reason=why)

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


def _without_timeout(item: pytest.Item) -> None:
    """pytest-timeout would end the test for what the sweep takes."""
    if (cancel := getattr(item.config.hook, "pytest_timeout_cancel_timer", None)) is not None:
        cancel(item=item)


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
    if "subtests" in item.fixturenames:
        return "subtests report from one thread only"
    return None
