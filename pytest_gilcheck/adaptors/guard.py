"""A test's call phase in a forked child: it may hang, crash or exit, and takes nothing with it.

The child goes on from the fork through pytest's own code, so that capturing, logging and assertion rewriting do their work,
until the call's report is made. There it hands the report over and is gone. The parent, which has skipped the body, puts that
report in place of its own. Set-up and teardown stay in the parent.

What does not work: forking around ``pytest_runtest_protocol`` (plugins that rerun tests replace it), and running the body alone
in the child (what it printed and logged, and its traceback, would be lost).
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from ..core.child import ChildSide, Ending, Outcome, can_fork, fork
from ..core.interpreter import watcher

_GRACE = 5.0  # seconds beyond a lap's limit: the lap's own end, with better words, comes first
_WHOLE_TEST = 10 * 365 * 86400.0  # no limit outside checks: a test's own work may take as long as it likes


class Guard:
    """Forks for the items that need it; one for each pytest process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._child: ChildSide | None = None
        self._handed_over: dict[str, Any] | None = None
        self.unguarded: str | None = None  # why the current test runs in this very process

    def enter(self, how: str) -> bool:
        """Fork unless something speaks against it; True in the parent, for whom the test is then over.

        Args:
            how: auto, fork or none.

        Raises:
            Failed: the child crashed, exited or hung.
            Exit: the test asked for the end of the run.
        """
        self._handed_over, self.unguarded = None, self._against(how)
        if self.unguarded is not None:
            return False
        sys.stdout.flush()
        sys.stderr.flush()
        side = fork(_WHOLE_TEST)
        if isinstance(side, ChildSide):
            self._child = side
            side.clock(None)
            return False
        outcome = side.wait()
        if outcome.ending is not Ending.ANSWERED:
            pytest.fail(_words(outcome), pytrace=False)
        answer = pickle.loads(outcome.payload)
        if "report" in answer:
            self._handed_over = answer["report"]
        elif "exit" in answer:
            pytest.exit(answer["exit"])
        else:
            pytest.fail(answer["failed"], pytrace=False)
        return True

    def clock(self, seconds: float | None) -> None:
        """Give the child so many seconds until the next word; None stops its clock."""
        if self._child is not None:
            self._child.clock(None if seconds is None else seconds + _GRACE)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when != "call":
            return report
        if self._child is not None:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._leave({"report": data})
        if self._handed_over is not None:
            data, self._handed_over = self._handed_over, None
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
            item.user_properties[:] = [(name, value) for name, value in report.user_properties]  # JUnit reads the teardown's report
            return report
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """In a child: KeyboardInterrupt and pytest.exit end the session before any report is made."""
        if self._child is None:
            return
        if excinfo.errisinstance(pytest.exit.Exception):
            self._leave({"exit": str(excinfo.value)})
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
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            payload = pickle.dumps(answer)
        except Exception:  # a user's property that cannot travel; its words can
            report = answer["report"]
            report["user_properties"] = [(str(name), repr(value)) for name, value in report.get("user_properties", ())]
            payload = pickle.dumps(answer)
        self._child.answer(payload)

    def _against(self, how: str) -> str | None:
        if how == "none":
            return "isolate=none"
        if self._config.getoption("usepdb", False) or self._config.getoption("trace", False):
            return "a debugger wants this process"
        if (watched := watcher()) is not None:
            return f"{watched} watches this process"
        return can_fork() if how == "auto" else None


def _words(outcome: Outcome) -> str:
    return f"gilcheck: {outcome}"
