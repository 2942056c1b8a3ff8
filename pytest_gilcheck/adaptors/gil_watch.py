"""Report in a pytest run that the GIL of a free-threaded build was re-enabled, with the test, file, fixture or hook that did it.

An event of a test is stored in an attribute of the report of the phase in which it happened (`ATTRIBUTE`: a list of
`GilReenabled.as_dict`). xdist and the guard transfer that attribute. An xdist worker sends events outside tests in its
``workeroutput`` (`OUTPUT`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import FrameType
from typing import Any

import pytest

from ..core.gil_watch import GilReenabled, GilReenabledWarning, Watch, can_reenable_gil
from .options import settings_of

ATTRIBUTE = "gilcheck_gil"
OUTPUT = "gilcheck_gil"
_KEY = pytest.StashKey[Watch]()
_CURRENT = "PYTEST_CURRENT_TEST"  # pytest sets this environment variable to the running test and its phase
_TEST_TOOLS = ("_pytest", "pytest", "pluggy", "xdist", "pytest_gilcheck")


def watch_early(config: pytest.Config) -> None:
    """Start to watch before conftests are imported. The watch stops with pytest's config, even if that is never configured."""
    if _KEY not in config.stash and can_reenable_gil():
        watch = config.stash[_KEY] = Watch(FramePlaces().describe)
        watch.start()
        config.add_cleanup(watch.stop)


def start(config: pytest.Config, distributes: bool) -> None:
    """Report the events so far and continue to watch, unless the setting ``gil_reenabled`` is "ignore".

    Args:
        distributes: whether this is xdist's controller, whose workers may be of another build.

    Raises:
        pytest.UsageError: the setting is "error", and the GIL was re-enabled already.
    """
    mode = settings_of(config).value("gil_reenabled")[0] or "warn"
    watch_early(config)  # if a conftest loaded this plugin, the early hook was not called
    watch = config.stash.get(_KEY, None)
    if mode == "ignore":
        if watch is not None:
            watch.stop()
        return
    plugin = None if watch is None else GilWatch(config, watch, strict=mode == "error")
    if plugin is not None:
        config.pluginmanager.register(plugin, "gilcheck-gil-watch")
    if (plugin is not None or distributes) and not hasattr(config, "workerinput"):  # registered last: it needs the last events
        config.pluginmanager.register(GilSummary(config, strict=mode == "error"), "gilcheck-gil-summary")
    if plugin is not None:
        plugin.report_outside_tests()


def events_of(report: object) -> list[GilReenabled]:
    """The events that are stored in a report."""
    return [GilReenabled.from_dict(data) for data in getattr(report, ATTRIBUTE, ())]


class GilWatch:
    """Reads the watch after each phase and turns its events into warnings or failures; one for each pytest process."""

    def __init__(self, config: pytest.Config, watch: Watch, strict: bool) -> None:
        self._config, self._watch, self._strict = config, watch, strict
        self._outside: list[GilReenabled] = []  # events outside tests
        self._fatal = ""
        self._finished = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        new = self._watch.look()
        if not new and not hasattr(report, ATTRIBUTE):
            return report
        for event in new:
            if not event.test and event.importer and not event.thread:  # between two tests: this test did not do it
                self._add_outside_event(event, item.session)
        sent = events_of(report)  # by the guard's child, which has failed the test if necessary
        added = [event for event in new if event not in self._outside and event not in sent]
        if not sent and not added:
            return report
        setattr(report, ATTRIBUTE, [event.as_dict() for event in sent + added])
        errors = [event for event in sent + added if self._strict or self._warn(item, event)]
        if errors and report.outcome != "failed":
            report.__dict__.pop("wasxfail", None)  # an expected failure does not cover the GIL
            report.outcome, report.longrepr = "failed", "\n".join(f"gilcheck: {event}" for event in errors)
        elif added:
            report.sections.append(("gilcheck", "\n".join(map(str, added))))
        return report

    def pytest_collectreport(self) -> None:
        self.report_outside_tests()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.report_outside_tests()
        if self._fatal:  # in an xdist worker: xdist takes a usage error for a crash and starts another worker
            session.shouldfail = self._fatal

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._finished = True
        for event in self._watch.look():
            self._add_outside_event(event, session)
        if self._outside and hasattr(self._config, "workeroutput"):
            self._config.workeroutput[OUTPUT] = [event.as_dict() for event in self._outside]

    def report_outside_tests(self) -> None:
        """Report the new events, while no test runs that could fail for them.

        Raises:
            pytest.UsageError: the setting is "error".
        """
        for event in self._watch.look():
            self._add_outside_event(event, None)

    def _add_outside_event(self, event: GilReenabled, session: pytest.Session | None) -> None:
        self._outside.append(event)
        if (summary := self._config.pluginmanager.get_plugin("gilcheck-gil-summary")) is not None:
            summary.add([event])
        if not self._strict and not self._warn(None, event):
            return
        line = f"gilcheck: {event}"
        if session is not None and not self._finished:
            session.shouldfail = line
        elif hasattr(self._config, "workerinput"):
            self._fatal = line
        elif session is None:
            raise pytest.UsageError(line)

    def _warn(self, item: pytest.Item | None, event: GilReenabled) -> bool:
        """Issue the warning; returns whether the user's filters turn it into an error."""
        try:
            if item is None:
                self._config.issue_config_time_warning(GilReenabledWarning(str(event)), stacklevel=2)
            else:
                item.warn(GilReenabledWarning(str(event)))
        except GilReenabledWarning:
            return True
        return False


class GilSummary:
    """Prints one line for each event of this process and of xdist's workers; if strict, the run with an event fails."""

    def __init__(self, config: pytest.Config, strict: bool) -> None:
        self._config, self._strict = config, strict
        self._events: dict[GilReenabled, list[str]] = {}  # with the workers that reported it

    def add(self, events: Iterable[GilReenabled], worker: str = "") -> None:
        for event in events:
            workers = self._events.setdefault(event, [])
            if worker and worker not in workers:
                workers.append(worker)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, ATTRIBUTE):
            self.add(events_of(report), getattr(report, "worker_id", ""))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        self.add([GilReenabled.from_dict(data) for data in output.get(OUTPUT, ())], node.gateway.id)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """If strict, fail a run with an event although no test failed: the import ran outside tests, or a rerun passed."""
        if self._strict and self._events and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._config.get_verbosity() < 0 and not self._strict:
            return
        for event, workers in self._events.items():
            by = f" [{', '.join(workers)}]" if workers else ""
            terminalreporter.write_line(f"gilcheck: {event}{by}", red=self._strict, yellow=not self._strict)
        if any(not event.forked for event in self._events):
            terminalreporter.write_line(
                "gilcheck: everything that process ran afterwards ran with a GIL: its results do not apply to free-threaded Python"
            )


class FramePlaces:
    """Describes what the run did in a frame, from the pytest hooks on its stack; their names and arguments are public."""

    def __init__(self) -> None:
        self._inherited = os.environ.get(_CURRENT)  # if a test started this pytest, the value of that test

    def describe(self, frame: FrameType | None) -> tuple[str, str]:
        """Return the test, empty if none ran, and a description of the place.

        Args:
            frame: the frame that imports the module; None if the import was not observed.
        """
        if frame is None:
            return self._test(), f"noticed in {self._phase()}" if self._phase() else "noticed outside tests"
        imported = fixture = hook = ""
        inside = True  # no frame of pytest is between this frame and the import
        while frame is not None:
            name, file, variables = frame.f_code.co_name, frame.f_code.co_filename, frame.f_locals
            of_user = str(frame.f_globals.get("__name__", "")).split(".")[0] not in _TEST_TOOLS
            inside = inside and of_user
            if inside and name == "<module>":
                imported = file
            if name == "pytest_fixture_setup" and "fixturedef" in variables:
                fixture = fixture or str(variables["fixturedef"].argname)
            elif name in ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown") and "item" in variables:
                test = variables["item"].nodeid
                fixture_of = f"fixture {fixture!r} of " if fixture else ""
                return test, f"in {fixture_of}{test} ({name.removeprefix('pytest_runtest_')})"
            elif name == "pytest_make_collect_report" and "collector" in variables:
                collected = variables["collector"].nodeid or "the session"
                other = f" (importing {imported})" if imported and not imported.endswith(os.path.basename(collected)) else ""
                return "", f"while {collected} was collected{other}"
            elif of_user and name.startswith("pytest_"):
                hook = hook or f"in hook {name} ({file})"
            frame = frame.f_back
        if hook or self._phase():
            return self._test(), f"while {self._phase()} ran" if self._phase() else hook
        return "", f"while {imported} was imported" if imported else "outside tests"

    def _phase(self) -> str:
        """The running test and its phase, from the environment variable: a frame of another thread has no hooks on its stack."""
        current = os.environ.get(_CURRENT, "")
        return "" if current == self._inherited else current

    def _test(self) -> str:
        return self._phase().rpartition(" (")[0]
