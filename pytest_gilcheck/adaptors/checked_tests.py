"""The plugin that is active once some test uses a check: it runs marked tests and attaches their evidence to their reports."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from ..calls import Gilcheck
from ..checks import ENDED_EARLY, FIXTURE
from ..core import evidence
from ..core.verdict import Inconclusive, Judged, Verdict
from ..runner import DISABLED
from ..settings import replay_key
from .guard import Guard
from .markers import check_of, in_children, markers_of, raise_worst, run, unsupported
from .options import settings_of
from .reporting import Summary, figures_as_properties

_KEY = pytest.StashKey["CheckedTests"]()
_RECORDS = pytest.StashKey[list[evidence.Record]]()
_LONGEST_REASON = 1000
_COUNTS = pytest.StashKey[Counter[str]]()


def start(config: pytest.Config) -> CheckedTests:
    """Register everything, once for each process."""
    if _KEY in config.stash:
        return config.stash[_KEY]
    session = config.stash[_KEY] = CheckedTests(config)
    config.pluginmanager.register(session.guard, "gilcheck-guard")
    config.pluginmanager.register(session.guard.handed_over, "gilcheck-handover")
    config.pluginmanager.register(session, "gilcheck-session")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(config), "gilcheck-summary")
    return session


def namespace(item: pytest.Item) -> Gilcheck:
    """The calls for this item: their evidence becomes the item's."""
    return start(item.config).checks(item)


def uses_check(item: pytest.Item) -> bool:
    """Whether the item is marked, or asks for the fixture."""
    return FIXTURE in getattr(item, "fixturenames", ()) or bool(markers_of(item))


class CheckedTests:
    """Runs the tests that use a check; one for each pytest process."""

    def __init__(self, config: pytest.Config) -> None:
        self._settings = settings_of(config)
        self._strict = bool(self._settings.value("strict")[0])
        self._isolate = self._settings.value("isolate")[0] or "auto"
        self._started_by: dict[str, str] = {}  # thread's name: fixture's
        self.guard = Guard(config, uses_check)

    def keep(self, item: pytest.Item, entry: evidence.Record) -> None:
        """The record becomes the item's."""
        entry["subject"] = item.nodeid
        counts = item.stash.setdefault(_COUNTS, Counter())
        counts[entry["check"]] += 1
        entry["number"] = counts[entry["check"]]
        item.stash.setdefault(_RECORDS, []).append(entry)
        earlier = sum(str(name).endswith(".verdict") for name, _ in item.user_properties)
        item.user_properties += figures_as_properties(entry, earlier + 1)

    def checks(self, item: pytest.Item) -> Gilcheck:
        def result(measured: object) -> None:
            item.config.hook.pytest_gilcheck_result(item=item, result=measured)
            if (token := getattr(measured, "token", "")) and (cache := getattr(item.config, "cache", None)) is not None:
                cache.set(replay_key(token), item.nodeid)  # where `gilcheck replay` looks for the test
            unguarded = self.guard.unguarded
            note = f"\n  not isolated: {unguarded}" if unguarded and unguarded != "isolate=none" else ""
            item.add_report_section("call", "gilcheck", f"{measured}{note}")

        return Gilcheck(self._settings, on_record=partial(self.keep, item), on_result=result, set_deadline=self.guard.set_deadline)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        item.stash[_RECORDS], item.stash[_COUNTS] = [], Counter()  # a rerun starts anew
        item.user_properties[:] = [pair for pair in item.user_properties if not str(pair[0]).startswith("gilcheck.")]
        yield from self._judged()
        for marker in markers_of(item):
            if (why := unsupported(item, marker)) is not None:
                pytest.fail(f"gilcheck: {why}", pytrace=False)  # last: other hooks expect their own set-up to have begun

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        """Remember which fixture started which thread: a fork would lose it."""
        before = set(threading.enumerate())
        try:
            return (yield)
        finally:
            for thread in set(threading.enumerate()) - before:
                self._started_by[thread.name] = fixturedef.argname

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object:
        __tracebackhide__ = True
        if not uses_check(pyfuncitem):
            return None
        markers = markers_of(pyfuncitem)
        if self._settings.value("disable")[0]:
            for marker in markers:
                self._record_undecided(pyfuncitem, check_of(marker, pyfuncitem).name, DISABLED)
            return None
        problems: list[BaseException] = []  # of each marker: every one runs, whatever becomes of the others
        for marker in filter(in_children, markers):
            self._run(pyfuncitem, marker, problems)
        others = [marker for marker in markers if not in_children(marker)]
        if others or not markers:
            try:
                if self.guard.enter(pyfuncitem, self._isolate):
                    return True  # a child that inherits problems raises them itself
            except pytest.fail.Exception as error:  # it crashed, exited or hung
                problems.append(error)
                others = []
            if not markers and not problems:
                return None
        for marker in others:
            self._run(pyfuncitem, marker, problems)
        raise_worst(problems)
        return True

    def _run(self, item: pytest.Function, marker: str, problems: list[BaseException]) -> None:
        __tracebackhide__ = True
        try:
            run(item, marker, self.checks(item), self._started_by)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            problems.append(error)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        __tracebackhide__ = True
        return (yield from self._judged())

    def _judged(self) -> Iterator[None]:
        """An inconclusive check is a skip, with its reason (pytest sees to that by itself); a failure if strict."""
        __tracebackhide__ = True
        try:
            return (yield)
        except Inconclusive as error:
            words = str(error)
        if self._strict:
            pytest.fail(f"inconclusive, and strict: {words}", pytrace=False)
        raise pytest.skip.Exception(f"inconclusive: {words}", _use_item_location=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Attach the evidence, which xdist and the guard then carry, to the report of the phase that it is from."""
        report = yield
        if report.failed and call.when != "teardown" and uses_check(item):
            self._note_unfinished(item, getattr(report, "gilcheck", None) or item.stash.get(_RECORDS, []), call.excinfo)
        if records := item.stash.get(_RECORDS, None):
            report.gilcheck = getattr(report, "gilcheck", records)  # a guarded child's report has them all
            item.stash[_RECORDS] = []
        return report

    def _note_unfinished(
        self, item: pytest.Item, known: Sequence[evidence.Record], raised: pytest.ExceptionInfo[BaseException] | None
    ) -> None:
        """Record the checks that a failing test did not reach, or did not return from: a crash must not look like a test that does
        not exist."""
        recorded = {entry["check"] for entry in known}
        wanted = [check_of(marker, item).name for marker in markers_of(item)] or ([] if recorded else [ENDED_EARLY])
        why = "" if raised is None else raised.exconly(tryshort=True).partition("\n")[0]
        for check in wanted:
            if check not in recorded:
                self._record_undecided(item, check, f"the test ended without it: {why}"[:_LONGEST_REASON])

    def _record_undecided(self, item: pytest.Item, check: str, reason: str) -> None:
        result = Judged(verdict=Verdict.INCONCLUSIVE, reason=reason)
        self.keep(item, evidence.record(check, item.nodeid, result, {}, {}))
