"""The child's side of a guarded test: it runs what is left of the test, from the set-up of its function-scoped fixtures on.

The fork happens in the middle of the set-up. The child goes on through pytest's own code until the report of the set-up is made,
and from then on runs the phases itself. Nothing of pytest's loop, of its terminal and of plugins' session hooks runs in the child.
Each phase waits for the parent to begin the same phase, so that the two write to the terminal in the order of one process.

What is wider than the function was set up in the parent, and is torn down there. A wider fixture that the test itself is the first
to ask for (``request.getfixturevalue``) exists only in the child: it is torn down at the end of the test, and the next test gets
another.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from ..core.child import ChildSide
from ..core.descriptors import OwnDescriptor
from ..core.streams import flush
from ..core.system import exit_at_once, getpid
from . import read_ahead
from .coverage_data import ChildCoverage
from .messages import Message, packed_warnings, pickled
from .suite_properties import suite_properties
from .wider_values import WiderValues

CALL, TEARDOWN = b"c", b"t"  # what the parent sends when it begins a phase


class GuardedChild:
    """Runs the rest of a test and sends its reports home.

    Args:
        turns: descriptor from which the parent's phases are read.
        limit: seconds that each phase may be silent.
    """

    def __init__(
        self, item: pytest.Item, nextitem: pytest.Item | None, side: ChildSide, turns: OwnDescriptor, limit: float
    ) -> None:
        self._item, self._nextitem, self._side, self._turns, self._limit = item, nextitem, side, turns, limit
        self._hook: Any = item.config.hook
        state = item.session._setupstate
        self._inherited = {node: len(finalizers) for node, (finalizers, _) in state.stack.items()}
        self._tear_down_exact = state.teardown_exact
        state.teardown_exact = self._tear_down  # type: ignore[method-assign] # pytest's own hook calls it
        self._catcher = warnings.catch_warnings(record=True)  # until the process ends
        caught = self._catcher.__enter__()
        self._caught: list[warnings.WarningMessage] = [] if caught is None else caught
        _silence(self._hook.pytest_exception_interact)  # nobody is here; and faulthandler's timer thread was lost in the fork
        _silence(self._hook.pytest_runtest_logreport)
        item.config.pluginmanager.register(_Log(self._log))
        self._coverage = ChildCoverage.begin()
        self._wider = WiderValues(item)
        self._suite_properties = len(suite_properties(item.config))

    def set_deadline(self, seconds: float | None) -> None:
        """Have the parent end this process in ``seconds`` from now; None suspends the deadline."""
        self._side.set_deadline(seconds)

    def is_mine(self) -> bool:
        """Whether this is the process of the test, and not one that the test has forked."""
        return getpid() == self._side.pid

    def check_over(self) -> None:
        """The deadline of a check ends; that of the phase begins anew."""
        self._side.set_deadline(self._limit)

    def send(self, kind: str, **content: Any) -> None:
        """Send a message home."""
        self._side.send_note(pickled({"kind": kind, **content}))

    def set_up(self, set_up: Callable[[], None]) -> None:
        """Set up the rest; an interrupt of the test's own is a failure of the test.

        Raises:
            BaseException: what the set-up raises.
        """
        __tracebackhide__ = True
        self._side.set_deadline(self._limit)
        try:
            set_up()
        except pytest.exit.Exception as error:
            self.exit(error)
        except KeyboardInterrupt as error:
            shown = pytest.ExceptionInfo.from_exception(error).getrepr(style="short")
            message = f"the test raised KeyboardInterrupt in its child process\n{shown}"
        else:
            return
        pytest.fail(message, pytrace=False)

    def finish(self, set_up: pytest.TestReport) -> NoReturn:
        """Send the report of the set-up, run the other phases, and exit."""
        if not self.is_mine():
            exit_at_once(1)
        try:
            self._send_phase(set_up)
            turn = self._turn()
            if turn == CALL:
                self._run("call")
                self._turn()
            self._run("teardown", nextitem=self._nextitem)
            flush()
            content: Message = {
                "kind": "end",
                "coverage": self._coverage.end(),
                "warnings": packed_warnings(self._caught),
                "sources": read_ahead.of_child(),
                "changed": self._wider.changed(),
                "suite": suite_properties(self._item.config)[self._suite_properties :],
            }
        except BaseException as error:
            shown = pytest.ExceptionInfo.from_exception(error).getrepr(style="long")
            content = {"kind": "failed", "text": f"an internal error of pytest in the child that ran the test\n{shown}"}
        self._side.answer(pickled(content))

    def report_made(self, item: pytest.Item, report: pytest.TestReport, when: str) -> None:
        """Take over when the set-up is reported."""
        if when == "setup":
            self.finish(report)

    def fail(self, text: str) -> NoReturn:
        """Tell the parent that this process cannot go on, and exit."""
        self._side.answer(pickled({"kind": "failed", "text": text}))

    def _run(self, when: str, **arguments: Any) -> None:
        """Run one phase, as pytest does, except that an interrupt is a failure: the user's own Ctrl-C reaches the parent alone."""
        self._side.set_deadline(self._limit)
        hook = getattr(self._item.ihook, f"pytest_runtest_{when}")
        try:
            call = pytest.CallInfo.from_call(
                lambda: hook(item=self._item, **arguments),
                when=when,  # type: ignore[arg-type] # one of its literals
                reraise=pytest.exit.Exception,
            )
        except pytest.exit.Exception as error:
            self.exit(error)
        if not self.is_mine():  # a process that the test forked came back from the test as well: it must not report
            exit_at_once(1)
        report = self._item.ihook.pytest_runtest_makereport(item=self._item, call=call)
        if when == "call":  # subtests fail the report of the whole test here
            self._hook.pytest_report_teststatus(report=report, config=self._item.config)
        self._send_phase(report)

    def exit(self, error: BaseException) -> NoReturn:
        """Tell the parent that the test called ``pytest.exit``, and exit."""
        flush()
        returncode = getattr(error, "returncode", None)
        self._side.answer(pickled({"kind": "exit", "text": str(error), "returncode": returncode}))

    def _send_phase(self, report: pytest.TestReport) -> None:
        flush()
        sections = self._item._report_sections
        self.send(
            "phase", when=report.when, report=self._serialised(report), sections=sections, warnings=packed_warnings(self._caught)
        )
        del self._caught[:]

    def _log(self, report: pytest.TestReport) -> None:
        flush()
        self.send("log", report=self._serialised(report))

    def _serialised(self, report: pytest.TestReport) -> Any:
        return self._hook.pytest_report_to_serializable(config=self._item.config, report=report)

    def _turn(self) -> bytes:
        """Wait until the parent begins the next phase; go on by oneself if the test has closed the pipe."""
        self._side.set_deadline(None)
        try:
            return self._turns.read(1) or self.fail("the parent of the test's process is gone")
        except OSError:
            return CALL

    def _tear_down(self, nextitem: pytest.Item | None) -> None:
        """Tear down the function-scoped fixtures, and what is wider and was set up in this process."""
        state, problems = self._item.session._setupstate, []
        try:
            self._tear_down_exact(self._item.parent)  # type: ignore[arg-type] # it takes any node: all above it stays set up
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            problems.append(error)
        for node, (finalizers, _) in reversed(state.stack.items()):
            while len(finalizers) > self._inherited.get(node, 0):
                try:
                    finalizers.pop()()
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    problems.append(error)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise BaseExceptionGroup("errors while tearing down fixtures of the test", problems)


class _Log:
    """The only plugin to which the child's pytest logs a report."""

    def __init__(self, log: Callable[[pytest.TestReport], None]) -> None:
        self._log = log

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._log(report)


def _silence(caller: Any) -> None:
    """Remove all implementations of a hook."""
    for implementation in list(caller.get_hookimpls()):
        caller._remove_plugin(implementation.plugin)
