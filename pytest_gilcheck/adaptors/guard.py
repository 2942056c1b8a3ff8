"""Run a test's call phase in a forked child, so that a hang, crash or exit of the test ends the child and not the run.

The child continues from the fork through pytest's own code until the report of the call is made. So capturing, logging and
assertion rewriting work as usual. Then the child sends the report to the parent and exits. The parent does not run the body: it
raises an exception that represents the child's outcome, so that every hook around the call sees that outcome, and replaces its own
report by the child's. Set-up and teardown run in the parent.

A teardown in the parent does not see what the test changed in memory, so an assertion in it would pass. Therefore these tests are
not forked unless ``isolate`` is ``"fork"``: a test with a fixture that has a teardown of its own, one that makes more than one
report (``subtests``), and one that may set up fixtures in its body (``request``).

What does not work:

- To fork around ``pytest_runtest_protocol``: plugins that rerun tests replace it.
- To run only the body in the child: its output, its log records and its traceback would be lost.
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy  # pytest changes the data while it reads it
from typing import Any

import pytest
from _pytest.outcomes import Skipped

from ..core.child import ChildSide, Ending, fork
from ..core.fork_safety import can_fork, declare_harmless
from ..core.interpreter import watcher
from ..core.system import entries

_GRACE = 5.0  # seconds added to the timeout of a lap: the check's own timeout comes first and has the better message
_NO_LIMIT = 1e9  # seconds: outside checks, a test may take any time
_NEED_THIS_PROCESS = ("subtests", "request")


class ChildFailed(Exception):
    """Represents in the parent a call that failed in the child; the child's report replaces the parent's."""


class ChildSkipped(Skipped):
    """Represents in the parent a call that was skipped, or failed as expected, in the child."""


class Guard:
    """Runs the call phase of tests in forked children; one instance for each pytest process.

    Args:
        applies_to: whether an item uses a check, so that its call phase may be forked.

    Attributes:
        child_report: the plugin that replaces the parent's report by the child's.
        reason_not_isolated: why the current test runs in this process; None if it is forked.
    """

    def __init__(self, config: pytest.Config, applies_to: Callable[[pytest.Item], bool]) -> None:
        self._config, self._applies_to = config, applies_to
        self._child: ChildSide | None = None
        self._in_call, self._call_over = False, False
        self._warnings: list[tuple[Any, ...]] = []
        declare_harmless(belongs_to_a_plugin)
        self._native_threads = _native_threads()
        self.child_report = ChildReport(config)
        self.reason_not_isolated: str | None = None

    def isolate(self, item: pytest.Function, mode: str) -> bool:
        """Fork a child for the body of the test, if this test can be forked.

        Args:
            mode: the setting ``isolate``: ``"auto"``, ``"fork"`` or ``"none"``.

        Returns:
            True in the parent, after the test has passed in the child: the caller must not run the body. False in the child, and
            in this process if it does not fork (`reason_not_isolated`): the caller runs the body.

        Raises:
            ChildFailed: the test failed in the child.
            ChildSkipped: the test was skipped, or failed as expected, in the child.
            Failed: the child crashed, exited or hung.
            Exit: the test called ``pytest.exit``.
        """
        if self._child is not None:  # this is the child, and a hook of another plugin runs the body a second time
            return False
        self.reason_not_isolated = self._reason_not_to_fork(item, mode)
        if self.reason_not_isolated is not None:
            return False
        _flush()
        side = fork(_NO_LIMIT)
        if isinstance(side, ChildSide):
            self._child = side
            side.set_deadline(None)
            return False
        outcome = side.wait()
        if outcome.ending is not Ending.ANSWERED:
            pytest.fail(f"gilcheck: {outcome}", pytrace=False)
        try:
            answer = pickle.loads(outcome.payload)
        except Exception as error:
            pytest.fail(f"gilcheck: the report that the forked test sent cannot be unpickled: {error!r}", pytrace=False)
        if "exit" in answer:
            pytest.exit(answer["exit"], returncode=answer["returncode"])
        if "failed" in answer:
            pytest.fail(answer["failed"], pytrace=False)
        self.child_report.receive(item, answer)
        if answer["report"]["outcome"] == "failed":
            raise ChildFailed
        if answer["report"]["outcome"] == "skipped":
            raise ChildSkipped("in the child")
        return True

    def set_deadline(self, seconds: float | None) -> None:
        """Set the seconds until the child's next progress report is due; None suspends the deadline."""
        if self._child is not None:
            self._child.set_deadline(None if seconds is None else seconds + _GRACE)

    def pytest_collection_finish(self) -> None:
        """Count the threads again: those that plugins started before the first test do not prevent a fork."""
        self._native_threads = _native_threads()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Record when the call begins and ends, and keep the child's warnings for the parent. Wraps all other hooks."""
        __tracebackhide__ = True
        self._in_call, self._call_over = True, False
        if not self._applies_to(item) or "recwarn" in item.fixturenames:  # type: ignore[attr-defined] # recwarn must record them
            try:
                return (yield)
            finally:
                self._in_call, self._call_over = False, True
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                return (yield)
        finally:
            self._in_call, self._call_over = False, True
            self._warnings = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
            if self._child is None:
                for w in caught:
                    warnings.showwarning(w.message, w.category, w.filename, w.lineno)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when != "call":
            return report
        if self._child is not None and self._call_over:  # subtests make reports during the call
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._send_and_exit({"report": data, "sections": item._report_sections, "warnings": self._warnings})
        return self.child_report.applied_to(report, call)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """In a child, send what happened: KeyboardInterrupt and pytest.exit end the session before a report is made."""
        if self._child is None:
            return
        if isinstance(excinfo.value, pytest.exit.Exception):
            self._send_and_exit({"exit": str(excinfo.value), "returncode": excinfo.value.returncode})
        self._send_and_exit({"failed": f"the test raised KeyboardInterrupt in its child process\n{excinfo.getrepr(style='short')}"})

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        if self._child is not None:
            self._send_and_exit({"failed": f"an internal error of pytest in the child that ran the test\n{excrepr}"})

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End a child that got here without a report: only the parent may finish the session."""
        if self._child is not None:
            self._send_and_exit({"failed": "the pytest session in the child that ran the test ended without a report"})

    def _send_and_exit(self, answer: dict[str, Any]) -> None:
        assert self._child is not None
        try:
            _flush()
            self._child.answer(_pickled(answer))
        finally:  # if the test has closed the pipe, the child cannot answer; it must exit in any case
            os._exit(1)

    def _reason_not_to_fork(self, item: pytest.Function, mode: str) -> str | None:
        if mode == "none":
            return "isolate=none"
        if not self._in_call:
            return "the call phase of the test had begun before this plugin was active"
        if self._config.getoption("usepdb", False) or self._config.getoption("trace", False):
            return "pytest runs with --pdb or --trace, which need the test in this process"
        if (watched := watcher()) is not None:
            return f"{watched} traces this process"
        if mode == "fork":
            return None
        if (fixture := _seen_by_teardown(item)) is not None:
            return fixture
        if (why := can_fork()) is not None:
            return why
        if _native_threads() > self._native_threads:
            return "native threads were started after collection, and a fork would lose them"
        return None


class ChildReport:
    """Replaces the parent's report of a call by the child's.

    The report is replaced twice. The innermost hook replaces it so that the hooks of other plugins see the child's outcome. The
    outermost hook replaces the outcome again, because pytest's own hook for xfail evaluates the exception that represents it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._answer: dict[str, Any] | None = None

    def receive(self, item: pytest.Item, answer: dict[str, Any]) -> None:
        """Keep the child's answer for the report; show its sections and its warnings as this process' own."""
        self._answer = answer
        item._report_sections[:] = answer["sections"]
        for message, category, filename, line in answer["warnings"]:
            warnings.showwarning(message, category, filename, line)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when != "call" or self._answer is None or not _represents_child(call):
            return report
        child = self._config.hook.pytest_report_from_serializable(config=self._config, data=deepcopy(self._answer["report"]))
        item.user_properties[:] = [(name, value) for name, value in child.user_properties]  # JUnit reads the teardown's report
        return child

    def applied_to(self, report: Any, call: pytest.CallInfo[None]) -> Any:
        """Return the report with the child's outcome, or unchanged if the call failed in the parent."""
        answer, self._answer = self._answer, None
        if answer is None or not _represents_child(call):
            return report
        child = self._config.hook.pytest_report_from_serializable(config=self._config, data=deepcopy(answer["report"]))
        report.outcome, report.longrepr = child.outcome, child.longrepr
        report.__dict__.pop("wasxfail", None)
        if hasattr(child, "wasxfail"):
            report.wasxfail = child.wasxfail
        return report


def belongs_to_a_plugin(thread: threading.Thread) -> bool:
    """Whether a pytest plugin started this thread, such as the timer of pytest-timeout or the server of pytest-rerunfailures.

    A child does not need such a thread, and the thread holds only its own locks.
    """
    target = getattr(thread, "function", None) or getattr(thread, "_target", None)
    module = str(getattr(target, "__module__", ""))
    return module.startswith("pytest_") and "gilcheck" not in module


def _represents_child(call: pytest.CallInfo[None]) -> bool:
    """Whether the parent's call has no failure of its own, which the child's report would hide."""
    return call.excinfo is None or isinstance(call.excinfo.value, (ChildFailed, ChildSkipped))


def _seen_by_teardown(item: pytest.Function) -> str | None:
    """Name the fixture that needs the test in this process, for a message; None if there is none."""
    for name in _NEED_THIS_PROCESS:
        if name in item._fixtureinfo.argnames:
            return f"fixture {name!r} uses the state of pytest in this process"
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        for definition in definitions:
            module = getattr(definition.func, "__module__", None) or ""
            of_pytest = module.startswith("_pytest.") and not name.startswith("_xunit_")
            if not of_pytest and (inspect.isgeneratorfunction(definition.func) or inspect.isasyncgenfunction(definition.func)):
                if name.startswith("_xunit_") and not _has_xunit_teardown(item):
                    continue
                return f"fixture {name!r} has a teardown, which would not see what the test changes in a child"
    return None


def _has_xunit_teardown(item: pytest.Function) -> bool:
    names = ("teardown_method", "teardown_class", "teardown_function", "teardown_module", "teardown")
    return any(hasattr(owner, name) for owner in (item.cls, item.module) for name in names)


def _native_threads() -> int:
    """The number of threads of this process, with those that ``threading`` does not list; 0 on systems without ``/proc``."""
    return len(entries("/proc/self/task"))


def _pickled(answer: dict[str, Any]) -> bytes:
    """Pickle the answer. If a user's property or a plugin's attribute cannot be pickled, send its ``repr`` instead."""
    try:
        payload = pickle.dumps(answer)
        pickle.loads(payload)
        return payload
    except Exception:
        answer["report"] = {name: _plain(value) for name, value in answer["report"].items()}
        answer["warnings"] = []
        return pickle.dumps(answer)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(entry) for entry in value]) if type(value) in (list, tuple) else repr(value)
    return value if type(value) in (str, int, float, bool, bytes, type(None)) else repr(value)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the stream is closed, or its replacement has no flush
            pass
