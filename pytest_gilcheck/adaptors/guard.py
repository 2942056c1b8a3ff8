"""A test's call phase in a forked child: it may hang, crash or exit, and takes nothing with it.

The child goes on from the fork through pytest's own code, so that capturing, logging and assertion rewriting do their work,
until the call's report is made. There it hands the report over and is gone. The parent, which has skipped the body, raises what
stands for the child's outcome, so that every hook around the call sees it, and puts the child's report in place of its own.
Set-up and teardown stay in the parent.

So a teardown does not see what the test changed in memory, and an assertion in it would pass: a test with a fixture that has a
teardown of its own is not forked, nor one that reports more than once (subtests) or may set up fixtures in its body (request).

What does not work: forking around ``pytest_runtest_protocol`` (plugins that rerun tests replace it), and running the body alone
in the child (what it printed and logged, and its traceback, would be lost).
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy  # pytest takes the data apart as it reads it
from pathlib import Path
from typing import Any

import pytest
from _pytest.outcomes import Skipped

from ..core.child import ChildSide, Ending, fork
from ..core.fork_safety import can_fork, declare_harmless
from ..core.interpreter import watcher

_GRACE = 5.0  # seconds beyond a lap's limit: the lap's own end, with better words, comes first
_WHOLE_TEST = 1e9  # seconds: no limit outside checks, a test's own work may take as long as it likes
_REPORTING = ("subtests", "request")


class ChildFailed(Exception):
    """Stands in the parent for a call that failed in the child; the child's report takes its place."""


class ChildSkipped(Skipped):
    """Stands in the parent for a call that was skipped, or failed as expected, in the child."""


class Guard:
    """Forks for the items that need it; one for each pytest process."""

    def __init__(self, config: pytest.Config, guards: Callable[[pytest.Item], bool]) -> None:
        self._config, self._guards = config, guards
        self._child: ChildSide | None = None
        self._in_call, self._call_over = False, False
        self._warnings: list[tuple[Any, ...]] = []
        declare_harmless(belongs_to_a_plugin)
        self._native_threads = _native_threads()
        self.handed_over: Handover = Handover(config)
        self.unguarded: str | None = None  # why the current test runs in this very process

    def enter(self, item: pytest.Function, how: str) -> bool:
        """Fork unless something speaks against it; True in the parent, for whom the test is then over, and has passed.

        Args:
            how: auto, fork or none.

        Raises:
            ChildFailed, ChildSkipped: that is how it went in the child.
            Failed: the child crashed, exited or hung.
            Exit: the test asked for the end of the run.
        """
        if self._child is not None:  # a hook that runs the body once more
            return False
        self.unguarded = self._against(item, how)
        if self.unguarded is not None:
            return False
        _flush()
        side = fork(_WHOLE_TEST)
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
            pytest.fail(f"gilcheck: the test's report cannot be read back: {error!r}", pytrace=False)
        if "exit" in answer:
            pytest.exit(answer["exit"], returncode=answer["returncode"])
        if "failed" in answer:
            pytest.fail(answer["failed"], pytrace=False)
        self.handed_over.take(item, answer)
        if answer["report"]["outcome"] == "failed":
            raise ChildFailed
        if answer["report"]["outcome"] == "skipped":
            raise ChildSkipped("in the child")
        return True

    def set_deadline(self, seconds: float | None) -> None:
        """Give the child so many seconds until its next progress report; None suspends the deadline."""
        if self._child is not None:
            self._child.set_deadline(None if seconds is None else seconds + _GRACE)

    def pytest_collection_finish(self) -> None:
        """Threads that plugins started before the first test are theirs, whenever we were made."""
        self._native_threads = _native_threads()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Around everything: knows when the call is over, and keeps the child's warnings."""
        __tracebackhide__ = True
        self._in_call, self._call_over = True, False
        if not self._guards(item) or "recwarn" in item.fixturenames:  # type: ignore[attr-defined] # recwarn would hear nothing
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
        if self._child is not None and self._call_over:  # subtests make reports while the call goes on
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._leave({"report": data, "sections": item._report_sections, "warnings": self._warnings})
        return self.handed_over.restored(item, call, report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """In a child: KeyboardInterrupt and pytest.exit end the session before any report is made."""
        if self._child is None:
            return
        if isinstance(excinfo.value, pytest.exit.Exception):
            self._leave({"exit": str(excinfo.value), "returncode": excinfo.value.returncode})
        self._leave({"failed": f"the test raised KeyboardInterrupt itself\n{excinfo.getrepr(style='short')}"})

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        if self._child is not None:
            self._leave({"failed": f"an error inside pytest, in the test's own process\n{excrepr}"})

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """The last way out of a child: it must never finish the session."""
        if self._child is not None:
            self._leave({"failed": "the test ended its own session without a report"})

    def _leave(self, answer: dict[str, Any]) -> None:
        assert self._child is not None
        try:
            _flush()
            self._child.answer(_portable(answer))
        finally:  # with its pipe closed by the test, it cannot answer; it must not go on in any case
            os._exit(1)

    def _against(self, item: pytest.Function, how: str) -> str | None:
        if how == "none":
            return "isolate=none"
        if not self._in_call:
            return "a check was asked for when the call had begun"
        if self._config.getoption("usepdb", False) or self._config.getoption("trace", False):
            return "a debugger wants this process"
        if (watched := watcher()) is not None:
            return f"{watched} watches this process"
        if how == "fork":
            return None
        if (fixture := _seen_by_teardown(item)) is not None:
            return fixture
        if (why := can_fork()) is not None:
            return why
        if _native_threads() > self._native_threads:
            return "threads were started since collection that a fork would lose"
        return None


class Handover:
    """The child's report, where the parent's own would be.

    It is put in place twice: innermost, so that hooks of other plugins see what really happened, and outermost, because one of
    them (pytest's own for xfail) draws its own conclusions from the exception that stands for it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._answer: dict[str, Any] | None = None

    def take(self, item: pytest.Item, answer: dict[str, Any]) -> None:
        self._answer = answer
        item._report_sections[:] = answer["sections"]
        for message, category, filename, line in answer["warnings"]:
            warnings.showwarning(message, category, filename, line)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when != "call" or self._answer is None or not _stands_in(call):
            return report
        restored = self._config.hook.pytest_report_from_serializable(config=self._config, data=deepcopy(self._answer["report"]))
        item.user_properties[:] = [(name, value) for name, value in restored.user_properties]  # JUnit reads the teardown's report
        return restored

    def restored(self, item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> Any:
        """The report as it leaves: the child's outcome, unless something in the parent failed."""
        answer, self._answer = self._answer, None
        if answer is None or not _stands_in(call):
            return report
        child = self._config.hook.pytest_report_from_serializable(config=self._config, data=deepcopy(answer["report"]))
        report.outcome, report.longrepr = child.outcome, child.longrepr
        report.__dict__.pop("wasxfail", None)
        if hasattr(child, "wasxfail"):
            report.wasxfail = child.wasxfail
        return report


def belongs_to_a_plugin(thread: threading.Thread) -> bool:
    """Whether a pytest plugin started this thread, such as the timer of pytest-timeout or the server of pytest-rerunfailures.

    A child does not need such a thread, and it holds no locks but its own.
    """
    target = getattr(thread, "function", None) or getattr(thread, "_target", None)
    module = str(getattr(target, "__module__", ""))
    return module.startswith("pytest_") and "gilcheck" not in module


def _stands_in(call: pytest.CallInfo[None]) -> bool:
    """Whether the parent's call did nothing but stand for the child's; a failure of its own is not covered up."""
    return call.excinfo is None or isinstance(call.excinfo.value, (ChildFailed, ChildSkipped))


def _seen_by_teardown(item: pytest.Function) -> str | None:
    """What would miss the changes that the test makes in a child; None if nothing would."""
    for name in _REPORTING:
        if name in item._fixtureinfo.argnames:
            return f"fixture {name!r} acts on pytest's own process"
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        for definition in definitions:
            module = getattr(definition.func, "__module__", None) or ""
            own = module.startswith("_pytest.") and not name.startswith("_xunit_")
            if not own and (inspect.isgeneratorfunction(definition.func) or inspect.isasyncgenfunction(definition.func)):
                if name.startswith("_xunit_") and not _has_xunit_teardown(item):
                    continue
                return f"fixture {name!r} has a teardown, which would not see what the test does in a child"
    return None


def _has_xunit_teardown(item: pytest.Function) -> bool:
    names = ("teardown_method", "teardown_class", "teardown_function", "teardown_module", "teardown")
    return any(hasattr(owner, name) for owner in (item.cls, item.module) for name in names)


def _native_threads() -> int:
    """Threads of this process, those that no ``threading`` knows included; 0 where the system does not say."""
    tasks = Path("/proc/self/task")
    return len(os.listdir(tasks)) if tasks.is_dir() else 0


def _portable(answer: dict[str, Any]) -> bytes:
    """The answer pickled; what does not survive that, in a user's property or a plugin's attribute, as its words."""
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
        except Exception:  # closed, or replaced by something that has no flush
            pass
