"""Run what belongs to one test in a forked child, so that a hang, crash or exit of the test ends the child and not the run.

What is wider than the function is set up in pytest's process. Then it forks: the set-up of the function-scoped fixtures, the call,
the teardown and all finalizers run in the child (`guarded_child`), where the state of the test is. For each phase the child sends
its report, and the parent raises an exception that represents it, so that every hook around the phase sees it (`child_report`).

What does not work:

- To fork around ``pytest_runtest_protocol``: plugins that rerun tests replace it, and each test would set wider fixtures up anew.
- To fork for the call alone: a teardown in the parent does not see what the test did, and an assertion in it would pass.
- To run only the body in the child: its output, its log records and its traceback would be lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from ..core import stop_request
from ..core.broken_pipe import without_sigpipe
from ..core.child import ChildSide, Ending, Outcome, ParentSide, fork
from ..core.descriptors import OwnDescriptor
from ..core.fork_safety import can_fork, declare_harmless, declare_harmless_unknown
from ..core.interpreter import watcher
from ..core.verdict import Inconclusive
from . import read_ahead
from .child_report import ChildFailed, ChildReport, ChildSkipped
from .coverage_data import add_to_parent
from .guarded_child import CALL, TEARDOWN, GuardedChild
from .markers import markers_of
from .messages import Message, show_warnings, unpickled
from .spawned_test import NotSpawned, SpawnedSide, SpawnedTest
from .suite_properties import add_to_suite
from .wider_values import warning

_GRACE = 5.0  # seconds added to the timeout of a lap: the check's own timeout comes first and has the better message
_INSTEAD = "; --gilcheck-isolate=none runs it in pytest's own process, --gilcheck-isolate=fork forks all the same"
_CHANGED = pytest.StashKey[set[str]]()
_PHASES = {"setup": "set-up", "call": "call", "teardown": "teardown"}
_SHORT = 300  # characters; a pipe takes 4096 bytes at once
_NEED_TEMPORARY_FOLDER = frozenset({"tmp_path_factory", "tmpdir_factory", "request"})


class Guard:
    """Runs tests in forked children; one instance for each pytest process.

    Args:
        applies_to: whether an item uses a check, so that it is to be isolated.
        mode: the setting ``isolate``: ``"auto"``, ``"fork"`` or ``"none"``.
        limit: seconds that a phase may be silent outside checks.
        on_lost_record: called with the records of a test whose child ended before it sent its report.
        on_refused: called with the reason if no process can be found for a test, which is then inconclusive.
        spawned: the plugin of this process, if it was started for one test.

    Attributes:
        child_report: the plugin that replaces the parent's report by the child's.
        reason_not_isolated: why the current test runs in this process; None if it is isolated.
    """

    def __init__(
        self,
        config: pytest.Config,
        applies_to: Callable[[pytest.Item], bool],
        mode: str,
        limit: float,
        on_lost_record: Callable[[pytest.Item, Any], None],
        on_refused: Callable[[pytest.Item, str], None],
        spawned: SpawnedTest | None,
    ) -> None:
        self._config, self._applies_to, self._mode, self._limit = config, applies_to, mode, limit
        self._on_lost_record, self._on_refused = on_lost_record, on_refused
        self._child: GuardedChild | SpawnedTest | None = spawned  # in the child
        self._test: _TestInChild | None = None  # in the parent
        self._nextitem: pytest.Item | None = None
        declare_harmless(belongs_to_a_plugin)
        declare_harmless_unknown(lambda: _timers_of_faulthandler(config))
        self.child_report = ChildReport(config)
        self.reason_not_isolated: str | None = None

    @property
    def isolates_now(self) -> bool:
        """Whether this process follows a child that runs the current test."""
        return self._test is not None

    @property
    def runs_the_test(self) -> bool:
        """Whether this process is the one that runs the current test for its parent."""
        return self._child is not None and self._child.is_mine()

    @property
    def why_spawned(self) -> str | None:
        """What forbade a fork, in a process that was started for one test."""
        return self._child.why if isinstance(self._child, SpawnedTest) else None

    def set_deadline(self, seconds: float | None) -> None:
        """Set the seconds until the child's next progress report is due; with None, a check is over, and the phase's limit begins
        anew."""
        if self._child is None or not self._child.is_mine():
            return
        if seconds is None:
            self._child.check_over()
        else:
            self._child.set_deadline(seconds + _GRACE)

    def check_over(self, entry: Any) -> None:
        """Send the record of a check home at once: the test may crash later."""
        if self._child is None:
            return
        if self._child.is_mine():
            self._child.check_over()
            self._child.send("record", record=entry)
        else:  # a process that the test has forked; a message that is short is not mixed up with those of the test
            short = {"details": {}, "parameters": {}, "reason": entry["reason"][:_SHORT]}
            self._child.send("record", record=entry | short, foreign=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        self._nextitem = nextitem
        result = yield
        if stop_request.made():  # in this process: there was no child to pass it on to
            _stop(item)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Have pytest call `_set_up` where it would set up what belongs to the item alone."""
        __tracebackhide__ = True
        self._end_test()
        self.reason_not_isolated = None
        if isinstance(self._child, GuardedChild) or not self._applies_to(item):
            return (yield)
        set_up = item.setup
        if self._child is not None:
            item.setup = lambda: self._set_up_again(item, set_up)  # type: ignore[method-assign]
        elif (reason := self._reason_to_stay()) is None:
            item.setup = lambda: self._set_up(item, set_up)  # type: ignore[method-assign]
        else:
            self.reason_not_isolated = reason
        try:
            return (yield)
        finally:
            item.__dict__.pop("setup", None)

    def _set_up(self, item: pytest.Item, set_up: Callable[[], None]) -> None:
        __tracebackhide__ = True
        why = can_fork() if self._mode == "auto" else None
        if why is None:
            _set_up_wider(item)
            why = can_fork() if self._mode == "auto" else None  # a wider fixture may have started threads
        finalizers = item.session._setupstate.stack[item][0]  # the item's own, which the child runs: it sets the item up
        if why is not None:
            finalizers.clear()
            self._spawn(item, why)
            return
        make_temporary_folder(self._config, [item])
        read_ahead.before_fork(markers_of(item))
        reading, writing = os.pipe()
        side = fork(self._limit)
        if isinstance(side, ChildSide):
            os.close(writing)
            self._child = GuardedChild(item, self._nextitem, side, OwnDescriptor(reading), self._limit)
            self._child.set_up(set_up)
            return
        os.close(reading)
        finalizers.clear()
        self._follow(item, side, OwnDescriptor(writing))

    def _spawn(self, item: pytest.Item, why: str) -> None:
        """Run the test in a pytest process of its own, because ``why`` forbids a fork."""
        __tracebackhide__ = True
        try:
            self._follow(item, SpawnedSide(item, self._limit, why), None)
            return
        except (NotSpawned, OSError) as error:
            reason = f"not isolated: {why}; {error}{_INSTEAD}"
        self._on_refused(item, reason)
        raise Inconclusive(reason)

    def isolate_late(self, item: pytest.Item) -> bool:
        """Call a test whose set-up has begun here before it used a check: in a pytest of its own, which sets it up again.

        Returns:
            Whether it was called; otherwise the caller is to call it in this process.
        """
        __tracebackhide__ = True
        if self._child is not None or self._test is not None:
            return False
        self.reason_not_isolated = self._reason_to_stay()
        if self.reason_not_isolated is not None:
            return False
        self._spawn(item, "the test did not use a check when its set-up began (a fixture applied the marker)")
        assert self._test is not None
        self._test.call()
        return True

    def _follow(self, item: pytest.Item, side: ParentSide | SpawnedSide, turns: OwnDescriptor | None) -> None:
        """Follow the child through the phases of the test, beginning with the set-up."""
        __tracebackhide__ = True
        self._test = _TestInChild(item, side, turns, self.child_report, self._on_lost_record)
        item.runtest = self._test.call  # type: ignore[method-assign]
        self._test.wait_for("setup")

    def _set_up_again(self, item: pytest.Item, set_up: Callable[[], None]) -> None:
        """In a process of its own: what is wider than the test exists in another process, and may not be possible twice."""
        __tracebackhide__ = True
        assert self._child is not None
        self._child.set_deadline(self._limit)
        try:
            _set_up_wider(item)
        except Exception as error:
            self._child.send("refused", text=f"{type(error).__name__}: {error}")
            raise
        set_up()

    @pytest.hookimpl(wrapper=True, trylast=True)  # the innermost: capturing and logging are on while this process waits
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """In the parent, wait for the child's teardown first, then tear down what is wider; both failures are shown."""
        __tracebackhide__ = True
        if self._test is None:
            return (yield)
        problem: BaseException | None = None
        try:
            self._test.tear_down()
        except (ChildFailed, ChildSkipped, pytest.fail.Exception) as error:
            problem = error
        finally:
            self._end_test()
        try:
            result = yield
        except BaseException as error:
            if problem is not None:
                error.add_note(f"the teardown of the test itself failed, too: {self.child_report.text() or problem}")
            raise
        if problem is not None:
            raise problem
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if self._child is not None:
            self._child.report_made(item, report, call.when)
            return report
        return self.child_report.applied_to(report, call)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End a child in which another plugin's hook was interrupted."""
        if self._child is not None and isinstance(excinfo.value, pytest.exit.Exception):
            self._child.exit(excinfo.value)
        if self._child is not None:
            self._child.fail(f"the test raised KeyboardInterrupt in its child process\n{excinfo.getrepr(style='short')}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        if self._child is not None:
            self._child.fail(f"an internal error of pytest in the child that ran the test\n{excrepr}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End a child that got here without a report: only the parent may finish the session."""
        if isinstance(self._child, GuardedChild):
            self._child.fail("the pytest session in the child that ran the test ended without a report")
        self._end_test()

    def _end_test(self) -> None:
        """End the child of the test before, which is still there if this process was interrupted."""
        if self._test is not None:
            self._test.end()
            self._test = None

    def _reason_to_stay(self) -> str | None:
        """Why tests are not to be isolated in this run; None if they are."""
        if self._mode == "none":
            return "isolate=none"
        if self._config.getoption("usepdb", False) or self._config.getoption("trace", False):
            return "pytest runs with --pdb or --trace, which need the test in this process"
        if (watched := watcher()) is not None and "coverage" not in watched:  # whose data come home
            return f"{watched} traces this process"
        return None


class _TestInChild:
    """The parent's side of one test that runs in a child."""

    def __init__(
        self,
        item: pytest.Item,
        side: ParentSide | SpawnedSide,
        turns: OwnDescriptor | None,
        reports: ChildReport,
        on_lost_record: Callable[[pytest.Item, Any], None],
    ) -> None:
        self._item, self._side, self._turns, self._reports = item, side, turns, reports
        self._on_lost_record = on_lost_record
        self._began = turns is not None  # a process of its own may end before it finds the test
        self._records: list[Any] = []  # not yet part of a report
        self._foreign: list[Any] = []  # records of other processes that the test has forked
        self._ended = self._called = False

    def call(self) -> None:
        """Have the child call the test, in the place of ``item.runtest``.

        Raises:
            BaseException: what represents its outcome; see `ChildReport.represent`.
        """
        __tracebackhide__ = True
        if self._called:  # another plugin's hook runs the test again: the child has done the same
            self._reports.represent()
            return
        self._called = True
        self._begin(CALL)
        self.wait_for("call")

    def tear_down(self) -> None:
        """Have the child tear down the test, and wait for its end; nothing if it is gone.

        Raises:
            BaseException: what represents the outcome of its teardown.
        """
        __tracebackhide__ = True
        if self._ended:
            return
        self._begin(TEARDOWN)
        try:
            self.wait_for("teardown")
        finally:
            if not self._ended:
                self._receive("teardown")

    def wait_for(self, when: str) -> None:
        """Wait for the child's report of a phase.

        Raises:
            BaseException: what represents its outcome.
            Failed: the child crashed, exited or hung.
            Exit: the test called ``pytest.exit``.
        """
        __tracebackhide__ = True
        while True:
            message = self._receive(when)
            match message["kind"]:
                case "phase" if message["when"] == when:
                    break
                case "end":
                    self._fail(f"the child that ran the test ended without a report of the {_PHASES[when]}")
        own = message["report"].get("gilcheck", [])
        if own:
            self._records.clear()
        self._reports.receive(self._item, message)
        self._reports.represent()
        self._judge_foreign(own)

    def _judge_foreign(self, own: list[Any]) -> None:
        """Decide a phase that passed by the checks that other processes of the test have made.

        Args:
            own: the records of the phase's report.

        Raises:
            Failed: one of them is violated.
            Inconclusive: one is inconclusive.
        """
        __tracebackhide__ = True
        foreign, self._foreign = self._foreign, []
        if not foreign:
            return
        for entry in (*own, *foreign):
            self._on_lost_record(self._item, entry)
        for verdict in ("violated", "inconclusive"):
            for entry in foreign:
                if entry["verdict"] == verdict and entry["judged"] == "nobody":
                    words = f"a {entry['check']} check in another process that the test has forked: {verdict}: {entry['reason']}"
                    advice = "nobody can judge its result there: make the check in the process of the test, or use judge=False"
                    if verdict == "violated":
                        pytest.fail(f"gilcheck: {words}\n{advice}", pytrace=False)
                    raise Inconclusive(f"{words}; {advice}")

    def end(self) -> None:
        """Kill the child, if it is still there."""
        self._item.__dict__.pop("runtest", None)
        if not self._ended:
            self._ended = True
            self._side.end()
        if self._turns is not None:
            self._turns.close()

    def _begin(self, turn: bytes) -> None:
        """Have a fork begin the next phase; a process of its own does not wait."""
        try:
            if self._turns is not None:
                with without_sigpipe():
                    self._turns.write(turn)
        except OSError:  # it is gone, which `wait_for` tells
            pass

    def _receive(self, when: str) -> Message:
        """The next message, of which those that are no report of a phase are dealt with."""
        __tracebackhide__ = True
        try:
            received = self._side.wait_for_note()
        except BaseException:
            self._ended = True
            raise
        if self._side.interrupted:
            _stop(self._item)
        if isinstance(received, Outcome):
            self._ended = True
            if not self._began:
                raise NotSpawned(f"in a pytest of its own, {received}")
            if not received.payload:
                self._fail(_described(received, when))
            received = received.payload
        message = unpickled(received)
        match message["kind"]:
            case "record":
                (self._foreign if message.get("foreign") else self._records).append(message["record"])
            case "log":
                self._log(message["report"])
            case "exit":
                pytest.exit(message["text"], returncode=message["returncode"])
            case "failed":
                self._fail(message["text"])
            case "began":
                self._began = True
            case "refused":
                raise NotSpawned(f"a pytest of its own cannot set up its wider fixtures a second time: {message['text']}")
            case "end":
                show_warnings(message["warnings"])
                add_to_parent(message["coverage"])
                read_ahead.in_parent(message.get("sources", {}))
                add_to_suite(self._item.config, message.get("suite", ()))
                self._warn_of_changes(message.get("changed", ()))
        return message

    def _warn_of_changes(self, changed: Iterable[str]) -> None:
        """Say once of each wider fixture that a test changed it where nobody else sees that."""
        known = self._item.config.stash.setdefault(_CHANGED, set())
        for words in changed:
            if words not in known:
                known.add(words)
                file, line, _ = self._item.location
                show_warnings([(warning(self._item.name, words), pytest.PytestWarning, file, (line or 0) + 1)])

    def _fail(self, text: str) -> None:
        __tracebackhide__ = True
        records, self._records = self._records, []
        for entry in records:
            self._on_lost_record(self._item, entry)
        pytest.fail(f"gilcheck: {text}", pytrace=False)

    def _log(self, data: Any) -> None:
        """Log a report that the test made itself."""
        if "gilcheck" in data:
            self._records.clear()
        hook: Any = self._item.ihook
        report = hook.pytest_report_from_serializable(config=self._item.config, data=data)
        capturing = self._item.config.pluginmanager.getplugin("capturemanager")
        with nullcontext() if capturing is None else capturing.global_and_fixture_disabled():
            hook.pytest_runtest_logreport(report=report)


def _stop(item: pytest.Item) -> None:
    """End the run after this test: Ctrl-C was a request to it, so that it reports what it has found."""
    item.session.shouldstop = "Ctrl-C"


def _described(outcome: Outcome, when: str) -> str:
    """How the child of a test ended, for a message."""
    first = outcome.headline
    if outcome.ending is Ending.HUNG:
        first += "; outside of checks, the limit is ten times --gilcheck-timeout"
    return "\n".join([first if when == "call" else f"in the {_PHASES[when]}, {first}", *outcome.stacks.splitlines()])


def _timers_of_faulthandler(config: pytest.Config) -> int:
    """The timer thread of pytest's ``faulthandler_timeout``, which no child needs, and which holds nothing but its own locks."""
    try:
        return int(config.pluginmanager.has_plugin("faulthandler") and float(config.getini("faulthandler_timeout") or 0) > 0)
    except ValueError:
        return 0


def make_temporary_folder(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Make the folder of `tmp_path` if a test may need it: otherwise each fork would make one of its own."""
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is not None and any(_NEED_TEMPORARY_FOLDER.intersection(getattr(item, "fixturenames", ())) for item in items):
        factory.getbasetemp()


def belongs_to_a_plugin(thread: threading.Thread) -> bool:
    """Whether a pytest plugin started this thread, such as the timer of pytest-timeout or the server of pytest-rerunfailures.

    A child does not need such a thread, and the thread holds only its own locks.
    """
    target = getattr(thread, "function", None) or getattr(thread, "_target", None)
    module = str(getattr(target, "__module__", ""))
    return module.startswith("pytest_") and "gilcheck" not in module


def _set_up_wider(item: pytest.Item) -> None:
    """Set up the item's fixtures whose scope is wider than the function, in the order in which pytest would."""
    __tracebackhide__ = True
    request, values = getattr(item, "_request", None), getattr(item, "funcargs", None)
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    if not request or values is None:
        return
    for name in getattr(item, "fixturenames", ()):
        if name not in values and (definitions := known.get(name)) and definitions[-1].scope != "function":
            values[name] = request.getfixturevalue(name)
