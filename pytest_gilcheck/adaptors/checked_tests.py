"""The plugin that is active once some test uses a check: it runs marked tests and attaches their evidence to their reports."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from unittest import SkipTest

import pytest

from ..calls import Gilcheck
from ..checks import ENDED_EARLY, FIXTURE, FUZZ, MARKERS
from ..core import evidence, own_modules
from ..core.codes import ENDED_EARLY as ENDED_EARLY_CODE
from ..core.codes import NOT_JUDGED, UNDECIDED, help_line
from ..core.fork_safety import note_starter
from ..core.machine import machine
from ..core.verdict import ClaimViolated, Inconclusive, Judged, Verdict
from ..runner import DISABLED
from ..settings import replay_key
from . import other_plugins, reporting
from .captured_output import CapturedOutput
from .child_report import ChildFailed
from .expected import expects_an_error, is_unexcused, undecided_for_the_test, unexcused
from .failures import readable, rerun_command
from .guard import Guard
from .machine_turn import MachineTurn
from .markers import check_of, is_test_case, markers_of, place_of, raise_worst, run, unsupported
from .options import settings_of
from .progress import CheckProgress
from .reporting import figures_as_properties
from .short_reports import VERBOSE
from .spawned_test import FAILURE, SpawnedTest, in_this_process

_KEY = pytest.StashKey["CheckedTests"]()
_RECORDS = pytest.StashKey[list[evidence.Record]]()
_LONGEST_REASON = 1000
_TIMEOUT = 60.0  # seconds, where the setting ``timeout`` is not given
_SILENCE = 10  # times that: how long a phase of a test may take outside checks
_TRACED = "pytest --trace runs the test in its debugger"
_NOT_THE_USERS = frozenset({"pytest_gilcheck", "_pytest", "pytest", "pluggy", "contextlib"})
_PROOF = pytest.StashKey[str]()  # how a schedule broke the test
_COUNTS = pytest.StashKey[Counter[str]]()
_CALLS = pytest.StashKey[list["FixtureCall"]]()
_BEGUN = pytest.StashKey[list["BegunCheck"]]()
_CALLED = pytest.StashKey[list[str]]()  # by our own hook, which runs the checks of these markers
_EXPECTED = pytest.StashKey[list[str]]()  # the markers of a test when its call began
_IN_TIME = "apply it as a decorator, as pytestmark or in pytest_collection_modifyitems"


def start(config: pytest.Config) -> CheckedTests:
    """Register everything, once for each process."""
    if _KEY in config.stash:
        return config.stash[_KEY]
    machine()  # now, before a test replaces what answers
    own_modules.keep()
    spawned = in_this_process(config)
    session = config.stash[_KEY] = CheckedTests(config, spawned)
    other_plugins.tell(config)
    config.pluginmanager.register(session.guard, "gilcheck-guard")
    config.pluginmanager.register(session.guard.child_report, "gilcheck-child-report")
    config.pluginmanager.register(session, "gilcheck-session")
    config.pluginmanager.register(MachineTurn(config, settings_of(config)), "gilcheck-turn")
    if spawned is not None:
        config.pluginmanager.register(spawned, "gilcheck-spawned-test")
    else:
        reporting.start(config)
    return session


def namespace(item: pytest.Item) -> Gilcheck:
    """The calls for this item: their evidence becomes the item's."""
    return start(item.config).checks(item)


def uses_check(item: pytest.Item) -> bool:
    """Whether the item is marked, or asks for the fixture."""
    return FIXTURE in getattr(item, "fixturenames", ()) or bool(markers_of(item))


@dataclass(frozen=True)
class FixtureCall:
    """A result that a test got from the fixture, or from a marker, which judges for itself.

    Attributes:
        result: what the test got.
        record: its evidence, which tells how the result was judged.
        to_be_judged: whether the test must judge it.
        place: ``"file:line"`` of the call in the user's code.
    """

    result: Judged
    record: evidence.Record
    to_be_judged: bool
    place: str

    def judgement(self) -> str | None:
        """How the result was judged, which its record then says; None if the test had to judge it, and did not."""
        if self.to_be_judged and self.result.judged_by is not None:
            self.record["judged"] = self.result.judged_by
        elif self.to_be_judged and self.result.raised_by is not None:
            self.record["judged"] = self.result.raised_by
        return None if self.to_be_judged and self.result.judged_by is None else str(self.record["judged"])

    def advice(self) -> str:
        """Why the judgement did not decide the test, and what to do."""
        if (raised_by := self.result.raised_by) is None:
            return "nobody judged this result: use .assert_holds(), or judge=False for a measurement without a claim"
        lost = f".{raised_by}() raised this, but something kept it from the test (an except, a thread, a finalizer)"
        return f"{lost}: to expect it, use .assert_violated() or read .verdict"


@dataclass
class BegunCheck:
    """A check that a test has begun, in whatever thread.

    Attributes:
        name: of the check.
        place: ``"file:line"`` of the call in the user's code.
        thread: where it runs.
        over: whether it has ended.
        recorded: whether it has a record.
        error: what it raised in place of a result.
    """

    name: str
    place: str
    thread: threading.Thread
    over: bool = False
    recorded: bool = False
    error: BaseException | None = None

    def lost(self, test_is_over: bool) -> str | None:
        """Why the test knows nothing of its result; None if it does, or may still."""
        if not self.over and test_is_over:
            return f"was still running in thread {self.thread.name} when the test ended"
        if self.error is not None and not self.recorded and self.thread is not threading.current_thread():
            return f"raised {type(self.error).__name__} in thread {self.thread.name}: {self.error}"
        return None


class CheckedTests:
    """Runs the tests that use a check; one for each pytest process."""

    def __init__(self, config: pytest.Config, spawned: SpawnedTest | None) -> None:
        self._settings = settings_of(config)
        self._strict = bool(self._settings.value("strict")[0])
        self._progress = CheckProgress(config)
        self._traces = bool(config.getoption("trace", False))
        limit = _SILENCE * (self._settings.value("timeout")[0] or _TIMEOUT) * self._settings.scale
        mode = "none" if self._settings.value("disable")[0] else self._settings.value("isolate")[0] or "auto"
        self.guard = Guard(config, uses_check, mode, limit, self.keep, self._note_refused, spawned)

    def keep(self, item: pytest.Item, entry: evidence.Record) -> None:
        """The record becomes the item's."""
        entry["subject"], entry["rerun"] = item.nodeid, rerun_command(entry, item)
        if (why := self.guard.why_spawned) is not None:
            entry["details"]["spawned"] = why
        counts = item.stash.setdefault(_COUNTS, Counter())
        counts[entry["check"]] += 1
        entry["number"] = counts[entry["check"]]
        item.stash.setdefault(_RECORDS, []).append(entry)
        item.user_properties += figures_as_properties(entry, counts.total())

    def checks(self, item: pytest.Item) -> Gilcheck:
        self._progress.begin()

        def result(measured: Any, entry: evidence.Record, to_be_judged: bool) -> None:
            item.config.hook.pytest_gilcheck_result(item=item, result=measured)
            if hasattr(measured, "forget_judgement"):
                measured.forget_judgement()  # an observer judges nothing
            if (token := getattr(measured, "token", "")) and (cache := getattr(item.config, "cache", None)) is not None:
                cache.set(replay_key(token), item.nodeid)  # where `gilcheck replay` looks for the test
            begun_checks: list[BegunCheck] = item.stash.get(_BEGUN, [])
            for check in reversed(begun_checks):
                if check.thread is threading.current_thread() and not check.over:
                    check.recorded = True
                    break
            unguarded = self.guard.reason_not_isolated
            note = f"\n  not isolated: {unguarded}" if unguarded and unguarded != "isolate=none" else ""
            note += f"\n  in a pytest of its own: {why}" if (why := self.guard.why_spawned) else ""
            again = "" if entry["rerun"] is None or entry["token"] else f"\n  rerun: {entry['rerun']}"  # a token is in the headline
            item.add_report_section("call", "gilcheck", f"{measured}{note}{again}")
            item.stash.setdefault(_CALLS, []).append(FixtureCall(measured, entry, to_be_judged, _line_of(item)))

        def record(entry: evidence.Record) -> None:
            self._progress.clear()
            self.keep(item, entry)
            self.guard.check_over(entry)

        output = None if item.config.get_verbosity() >= VERBOSE else CapturedOutput(item)

        @contextmanager
        def begun(name: str) -> Iterator[None]:
            check = BegunCheck(name, _line_of(item), threading.current_thread())
            item.stash.setdefault(_BEGUN, []).append(check)
            try:
                with nullcontext() if output is None or name != FUZZ.name else output.of_a_check():
                    yield
            except BaseException as error:
                check.error = error
                raise
            finally:
                check.over = True

        return Gilcheck(
            self._settings,
            on_record=record,
            on_result=result,
            set_deadline=self.guard.set_deadline,
            progress=self._progress.show,
            during=begun,
            stays=self._why_here,
            output=output,
        )

    def _why_here(self) -> str | None:
        """Why a program has to run in this process; None if the test is guarded in no way."""
        guarded = "the test's own process" if self.guard.runs_the_test else None
        return self.guard.why_spawned or self.guard.reason_not_isolated or guarded

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        item.stash[_RECORDS], item.stash[_CALLS], item.stash[_BEGUN] = [], [], []  # a rerun starts anew
        item.stash[_COUNTS] = Counter()
        if _CALLED in item.stash:
            del item.stash[_CALLED]
        item.user_properties[:] = [pair for pair in item.user_properties if not str(pair[0]).startswith("gilcheck.")]
        try:
            yield from self._skipping(item)
        except BaseException as error:
            calls, item.stash[_CALLS] = item.stash[_CALLS], []
            unjudged = [call for call in calls if call.judgement() is None]
            if isinstance(error, SkipTest | pytest.skip.Exception):  # else the test has failed already
                self._judge(unjudged)
            self._judge_despite(error, unjudged, item)
            raise
        if proof := item.stash.get(_PROOF, ""):
            found = "an earlier run of this test found a schedule that breaks it, which no rerun can take back"
            pytest.fail(f"gilcheck: {found}: {proof}", pytrace=False)
        self._refuse_unsupported(item)  # last: other hooks expect their own set-up to have begun

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        """Note which fixture started which thread, for the message that a fork would lose it."""
        before = set(threading.enumerate())
        try:
            return (yield)
        finally:
            for thread in set(threading.enumerate()) - before:
                note_starter(thread, f"fixture {fixturedef.argname!r}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object:
        __tracebackhide__ = True
        if not uses_check(pyfuncitem):
            return None
        markers = pyfuncitem.stash[_CALLED] = markers_of(pyfuncitem)
        if self._settings.value("disable")[0]:
            for marker in markers:
                self._record_undecided(pyfuncitem, check_of(marker, pyfuncitem).name, DISABLED)
            return None
        if not markers:
            return None
        if self._traces:
            reason = f"{_TRACED}: a check would measure that"
            self._note_refused(pyfuncitem, reason)
            raise Inconclusive(reason)
        if self.guard.isolate_late(pyfuncitem):
            return True
        problems: list[BaseException] = []  # of each marker: every one runs, whatever becomes of the others
        for marker in markers:
            self._run(pyfuncitem, marker, problems)
        if expects_an_error(pyfuncitem):  # which a body may have raised, and no check
            problems.sort(key=lambda error: not isinstance(error, pytest.fail.Exception))
        raise_worst(problems)
        return True

    def _run(self, item: pytest.Function, marker: str, problems: list[BaseException]) -> None:
        __tracebackhide__ = True
        try:
            run(item, marker, self.checks(item))
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            problems.append(error)
        finally:
            self._progress.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        __tracebackhide__ = True
        self._refuse_unsupported(item)  # a marker that was applied after the set-up hook above
        item.stash[_EXPECTED] = markers_of(item)
        of_unittest = isinstance(item, pytest.Function) and is_test_case(item) and not self.guard.isolates_now
        if of_unittest and item.stash[_EXPECTED]:  # unittest calls the method, and not our hook
            item.__dict__["runtest"] = partial(self._run_test_case, item)
        try:
            yield from self._judged(item, test_is_over=False)
        finally:
            if of_unittest:
                item.__dict__.pop("runtest", None)
        if self._traces and uses_check(item) and not item.stash.get(_BEGUN, []):  # "quit", and pytest says that it passed
            reason = f"{_TRACED}, which did not come to a check"
            self._note_refused(item, reason)
            self._skip(item, reason)
        if item.stash[_EXPECTED] and not self.guard.isolates_now and _CALLED not in item.stash:
            words = "another plugin's hook called the test in the place of pytest_pyfunc_call, so its checks did not run"
            raise unexcused(f"gilcheck: {words} ({place_of(item)})")

    def _run_test_case(self, item: Any) -> None:
        """Run the checks of a method of `unittest`, or the method where no check is to run."""
        __tracebackhide__ = True
        if self.pytest_pyfunc_call(item) is None:
            type(item).runtest(item)

    def _refuse_unsupported(self, item: pytest.Item) -> None:
        __tracebackhide__ = True
        for marker in markers_of(item):
            if (why := unsupported(item, marker)) is not None:
                raise unexcused(f"gilcheck: {why}")

    def refuse_late(self, item: pytest.Item) -> None:
        """Fail a test to which a marker was applied while it ran.

        Raises:
            Failed: the message names the marker, and says where to put it.
        """
        called = item.stash.get(_CALLED, [])
        if not self.guard.isolates_now and (late := [name for name in markers_of(item) if name not in called]):
            words = f"{', '.join(late)} was applied while the test ran, so its check did not run"
            raise unexcused(f"gilcheck: {words}: {_IN_TIME} ({place_of(item)})")

    def refuse_after_others(self, item: pytest.Item, plain: dict[Any, pytest.Item]) -> None:
        """Fail a test if its class, module, package or session was marked when other tests had run in there without the check.

        Args:
            plain: by node, the first test that ran in it while no marker applied to it; what is reported is removed.

        Raises:
            Failed: the message names the marker and the other test, and says where to put the marker.
        """
        for node in item.listchain():
            names = [mark.name for mark in node.own_markers if mark.name in MARKERS]
            if names and (before := plain.pop(node, item)) is not item:
                words = f"{names[0]} was applied to {node!r} when {before.nodeid} had run in it, without its check"
                raise unexcused(f"gilcheck: {words}: {_IN_TIME} ({place_of(item)})")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        __tracebackhide__ = True
        yield from self._judged(item, test_is_over=True)

    def _judged(self, item: pytest.Item, test_is_over: bool) -> Iterator[None]:
        """After a phase, note how each result was judged; one that nobody judged decides the test, if nothing else has."""
        __tracebackhide__ = True
        skipped: BaseException | None = None
        try:
            yield from self._skipping(item)
        except (SkipTest, pytest.skip.Exception) as error:  # which takes back nothing that was found before
            skipped = error
        except BaseException as error:
            self._judge_despite(error, [call for call in item.stash.get(_CALLS, []) if call.judgement() is None], item)
            raise
        finally:
            unjudged = [call for call in item.stash.get(_CALLS, []) if call.judgement() is None]
            item.stash[_CALLS] = []
            unknown = self._without_result(item, test_is_over)
        if unknown:
            pytest.fail(f"gilcheck: {'; '.join(unknown)}: join its thread, and let the test see what it raises", pytrace=False)
        undecided = self._judge(unjudged)
        if skipped is not None:
            raise skipped
        if undecided:
            self._fail_as_before(item, undecided)
            raise pytest.skip.Exception(f"inconclusive: {undecided}", _use_item_location=True)

    def _judge(self, unjudged: list[FixtureCall]) -> str:
        """Fail the test for what is violated, and if strict for what is inconclusive; otherwise say what is inconclusive."""
        __tracebackhide__ = True
        for verdict in (Verdict.VIOLATED, Verdict.INCONCLUSIVE):
            if found := [call for call in unjudged if call.result.conclusion == verdict]:
                message = "; ".join(f"{call.result.headline()} ({call.place})" for call in found)
                advice = f"{found[0].advice()}; {help_line(NOT_JUDGED)}"
                if verdict is Verdict.VIOLATED or self._strict:
                    pytest.fail(f"gilcheck: {message}\n{advice}", pytrace=False)
                return f"{message}; {advice}"
        return ""

    def _judge_despite(self, error: BaseException, unjudged: list[FixtureCall], item: pytest.Item) -> None:
        """Fail a test that fails already for what is violated too, if it may be expected to fail with another error."""
        __tracebackhide__ = True
        if isinstance(error, Exception) and not isinstance(error, ClaimViolated) and expects_an_error(item):
            self._judge([call for call in unjudged if call.result.conclusion is Verdict.VIOLATED])

    def _fail_as_before(self, item: pytest.Item, message: str) -> None:
        """Fail a rerun that is inconclusive: it takes nothing back of the failure before it."""
        __tracebackhide__ = True
        if failure := item.stash.get(FAILURE, ""):
            words = "an earlier run of this test failed, and this one is inconclusive, which takes nothing back"
            pytest.fail(f"gilcheck: {words}: {failure}\ninconclusive: {message}", pytrace=False)

    def _skipping(self, item: pytest.Item) -> Iterator[None]:
        """An inconclusive check is a skip, with its reason (pytest sees to that by itself); a failure if strict."""
        __tracebackhide__ = True
        try:
            return (yield)
        except Inconclusive as error:
            message = str(error)
        self._skip(item, message)

    def _skip(self, item: pytest.Item, message: str) -> NoReturn:
        __tracebackhide__ = True
        self._fail_as_before(item, message)
        if self._strict:
            raise unexcused(f"inconclusive, and strict: {message}")
        raise pytest.skip.Exception(f"inconclusive: {message}", _use_item_location=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Attach the evidence, which xdist and the guard then carry, to the report of the phase that it is from."""
        report = yield
        if call.when == "setup" and report.passed:  # the test may still judge what its fixtures called
            return report
        noted = call.excinfo is not None and isinstance(call.excinfo.value, ChildFailed)  # by the child
        noted = noted or bool(item.stash.get(_PROOF, ""))  # by an earlier run of the test
        as_expected = report.skipped and hasattr(report, "wasxfail")
        failed = report.failed or as_expected  # either way, it is not known what the check says
        if failed and call.when != "teardown" and not noted and uses_check(item):
            self._note_unfinished(item, getattr(report, "gilcheck", None) or item.stash.get(_RECORDS, []), call.excinfo)
        if records := item.stash.get(_RECORDS, None):
            report.gilcheck = getattr(report, "gilcheck", records)  # a guarded child's report has them all
            item.stash[_RECORDS] = []
        self._excuse_no_more(report, call)
        if call.excinfo is not None and not isinstance(call.excinfo.value, SkipTest | pytest.skip.Exception):
            item.stash[_CALLS] = []  # what it called has decided nothing; only if the first call of all was in it, some are left
        if report.failed:
            item.stash[FAILURE] = item.stash.get(FAILURE, "") or report.longreprtext.rpartition("\n")[2][:_LONGEST_REASON]
            readable(report, item)
            broke = [
                entry for entry in getattr(report, "gilcheck", ()) if entry["check"] == FUZZ.name and entry["verdict"] == "violated"
            ]
            item.stash[_PROOF] = broke[0]["reason"] if broke else item.stash.get(_PROOF, "")
        return report

    def _excuse_no_more(self, report: Any, call: pytest.CallInfo[None]) -> None:
        """Fail a test that failed as its xfail mark expects, if the check was misused, or if strict and it could not decide."""
        if not report.skipped or not hasattr(report, "wasxfail"):
            return
        undecided = [entry["reason"] for entry in getattr(report, "gilcheck", ()) if undecided_for_the_test(entry)]
        if (self._strict and undecided) or (call.excinfo is not None and is_unexcused(call.excinfo.value)):
            del report.wasxfail
            text = report.longreprtext
            others = [f"inconclusive, and strict: {reason}" for reason in undecided if self._strict and reason not in text]
            report.outcome = "failed"
            report.longrepr = "\n".join([text, *others, "gilcheck: an xfail mark of the test does not excuse this"])

    def _note_unfinished(
        self, item: pytest.Item, known: Sequence[evidence.Record], raised: pytest.ExceptionInfo[BaseException] | None
    ) -> None:
        """Record the checks that a failing test did not reach, or did not return from: a crash must not look like a test that does
        not exist."""
        recorded = {entry["check"] for entry in known}
        code = getattr(getattr(raised, "value", None), "gilcheck_code", ENDED_EARLY_CODE)
        wanted = [check_of(marker, item).name for marker in markers_of(item)] or ([] if recorded else [ENDED_EARLY])
        why = "" if raised is None else raised.exconly(tryshort=True).partition("\n")[0]
        for check in wanted:
            if check not in recorded:
                self._record_undecided(item, check, f"the test ended without it: {why}"[:_LONGEST_REASON], code)

    def _without_result(self, item: pytest.Item, test_is_over: bool) -> list[str]:
        """What became of the checks of whose result the test knows nothing; each is on record, once."""
        lost = []
        begun_checks: list[BegunCheck] = item.stash.get(_BEGUN, [])
        for check in list(begun_checks):
            if (why := check.lost(test_is_over)) is not None:
                begun_checks.remove(check)
                self._record_undecided(item, check.name, f"it {why}"[:_LONGEST_REASON])
                lost.append(f"the {check.name} check of {check.place} {why}")
        return lost

    def _note_refused(self, item: pytest.Item, reason: str) -> None:
        for check in [check_of(marker, item).name for marker in markers_of(item)] or [ENDED_EARLY]:
            self._record_undecided(item, check, reason[:_LONGEST_REASON])

    def _record_undecided(self, item: pytest.Item, check: str, reason: str, code: str = UNDECIDED) -> None:
        result = Judged(conclusion=Verdict.INCONCLUSIVE, reason=reason)
        self.keep(item, evidence.record(check, item.nodeid, result, {}, {}) | {"code": code})


def _line_of(item: pytest.Item) -> str:
    """``"file:line"`` of the innermost frame outside this package and pytest: where the user called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USERS):
        frame = frame.f_back
    if frame is None:
        return place_of(item)
    path = Path(frame.f_code.co_filename)
    root = item.config.rootpath
    return f"{path.relative_to(root) if path.is_relative_to(root) else path}:{frame.f_lineno}"
