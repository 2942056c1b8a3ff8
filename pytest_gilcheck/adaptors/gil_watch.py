"""The GIL's return in a pytest run: which test, file, fixture, conftest or plugin it was, and what the user hears of it.

It travels as an attribute of the report of the phase in which it happened (`ATTRIBUTE`: a list of `GilBack.written`), which xdist
and the guard carry; what belongs to no test goes by the worker's output (`OUTPUT`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import FrameType
from typing import Any

import pytest

from ..core.gil_watch import GilBack, GilReenabledWarning, Watch, can_come_back
from .options import settings_of

ATTRIBUTE = "gilcheck_gil"
OUTPUT = "gilcheck_gil"
_KEY = pytest.StashKey[Watch]()
_CURRENT = "PYTEST_CURRENT_TEST"
_MACHINERY = ("_pytest", "pytest", "pluggy", "xdist", "pytest_gilcheck")


def watch_early(config: pytest.Config) -> None:
    """Begin to watch before conftests are imported; stops when the config is done with, also one that is never configured."""
    if _KEY not in config.stash and can_come_back():
        watch = config.stash[_KEY] = Watch(Places().described)
        watch.start()
        config.add_cleanup(watch.stop)


def start(config: pytest.Config, distributes: bool) -> None:
    """Tell what has happened until now, and go on watching, as the setting says.

    Args:
        distributes: whether this is xdist's controller, whose workers may be of another build.

    Raises:
        pytest.UsageError: the setting is "error", and the GIL has come back already.
    """
    mode = settings_of(config).value("gil_reenabled")[0] or "warn"
    watch_early(config)  # where conftests were not ours to see
    watch = config.stash.get(_KEY, None)
    if mode == "ignore":
        if watch is not None:
            watch.stop()
        return
    plugin = None if watch is None else GilWatch(config, watch, strict=mode == "error")
    if plugin is not None:
        config.pluginmanager.register(plugin, "gilcheck-gil-watch")
    if (plugin is not None or distributes) and not hasattr(config, "workerinput"):  # after it: sums up what it has seen last
        config.pluginmanager.register(GilSummary(config, strict=mode == "error"), "gilcheck-gil-summary")
    if plugin is not None:
        plugin.tell()


def of_report(report: object) -> list[GilBack]:
    """What a report carries."""
    return [GilBack.read(data) for data in getattr(report, ATTRIBUTE, ())]


class GilWatch:
    """Looks after each phase, and makes a report, a warning or an error of what it sees; one for each pytest process."""

    def __init__(self, config: pytest.Config, watch: Watch, strict: bool) -> None:
        self._config, self._watch, self._strict = config, watch, strict
        self._outside: list[GilBack] = []  # of no test
        self._fatal = ""
        self._finished = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        new = self._watch.look()
        if not new and not hasattr(report, ATTRIBUTE):
            return report
        for event in new:
            if not event.test and event.importer and not event.thread:  # between two tests: no fault of this one
                self._of_no_test(event, item.session)
        sent = of_report(report)  # by the guard's child, where it has failed if it must
        added = [event for event in new if event not in self._outside and event not in sent]
        if not sent and not added:
            return report
        setattr(report, ATTRIBUTE, [event.written() for event in sent + added])
        refused = [event for event in sent + added if self._strict or self._refused(item, event)]
        if refused and report.outcome != "failed":
            report.__dict__.pop("wasxfail", None)  # expected to fail is not expected to switch the GIL on
            report.outcome, report.longrepr = "failed", "\n".join(f"gilcheck: {event}" for event in refused)
        elif added:
            report.sections.append(("gilcheck", "\n".join(map(str, added))))
        return report

    def pytest_collectreport(self) -> None:
        self.tell()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.tell()
        if self._fatal:  # in an xdist worker: a usage error would look like a crash there, and it would be replaced
            session.shouldfail = self._fatal

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._finished = True
        for event in self._watch.look():
            self._of_no_test(event, session)
        if self._outside and hasattr(self._config, "workeroutput"):
            self._config.workeroutput[OUTPUT] = [event.written() for event in self._outside]

    def tell(self) -> None:
        """What has happened, where no test can be failed for it.

        Raises:
            pytest.UsageError: the setting is "error".
        """
        for event in self._watch.look():
            self._of_no_test(event, None)

    def _of_no_test(self, event: GilBack, session: pytest.Session | None) -> None:
        self._outside.append(event)
        if (summary := self._config.pluginmanager.get_plugin("gilcheck-gil-summary")) is not None:
            summary.add([event])
        if not self._strict and not self._refused(None, event):
            return
        line = f"gilcheck: {event}"
        if session is not None and not self._finished:
            session.shouldfail = line
        elif hasattr(self._config, "workerinput"):
            self._fatal = line
        elif session is None:
            raise pytest.UsageError(line)

    def _refused(self, item: pytest.Item | None, event: GilBack) -> bool:
        """Warn; whether the user's filters make an error of that warning."""
        try:
            if item is None:
                self._config.issue_config_time_warning(GilReenabledWarning(str(event)), stacklevel=2)
            else:
                item.warn(GilReenabledWarning(str(event)))
        except GilReenabledWarning:
            return True
        return False


class GilSummary:
    """One line for each return of the GIL, of this process and of xdist's workers; and an exit status that says so, if strict."""

    def __init__(self, config: pytest.Config, strict: bool) -> None:
        self._config, self._strict = config, strict
        self._events: dict[GilBack, list[str]] = {}  # with the workers that told of it

    def add(self, events: Iterable[GilBack], worker: str = "") -> None:
        for event in events:
            workers = self._events.setdefault(event, [])
            if worker and worker not in workers:
                workers.append(worker)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, ATTRIBUTE):
            self.add(of_report(report), getattr(report, "worker_id", ""))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", None) or {}
        self.add([GilBack.read(data) for data in output.get(OUTPUT, ())], node.gateway.id)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Where the test that did it could not be failed, or was run again: never a success."""
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
                "gilcheck: what that process ran afterwards, it ran with a GIL: it says nothing of free-threaded Python"
            )


class Places:
    """Where in the run a frame is: by the hooks on its thread's stack, whose names and arguments are pytest's public ones."""

    def __init__(self) -> None:
        self._inherited = os.environ.get(_CURRENT)  # of the test that started this pytest, if one did

    def described(self, frame: FrameType | None) -> tuple[str, str]:
        """The test, empty where there was none, and the place in words; None for an import that was not seen."""
        if frame is None:
            return self._test(), f"noticed in {self._phase()}" if self._phase() else "noticed outside of any test"
        imported = fixture = hook = ""
        inside = True  # nothing of pytest's between here and the import
        while frame is not None:
            name, file, named = frame.f_code.co_name, frame.f_code.co_filename, frame.f_locals
            own = str(frame.f_globals.get("__name__", "")).split(".")[0] not in _MACHINERY
            inside = inside and own
            if inside and name == "<module>":
                imported = file
            if name == "pytest_fixture_setup" and "fixturedef" in named:
                fixture = fixture or str(named["fixturedef"].argname)
            elif name in ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown") and "item" in named:
                test = named["item"].nodeid
                whose = f"fixture {fixture!r} of " if fixture else ""
                return test, f"in {whose}{test} ({name.removeprefix('pytest_runtest_')})"
            elif name == "pytest_make_collect_report" and "collector" in named:
                what = named["collector"].nodeid or "the session"
                beside = f" (importing {imported})" if imported and not imported.endswith(os.path.basename(what)) else ""
                return "", f"while {what} was collected{beside}"
            elif own and name.startswith("pytest_"):
                hook = hook or f"in hook {name} ({file})"
            frame = frame.f_back
        if hook or self._phase():
            return self._test(), f"while {self._phase()} ran" if self._phase() else hook
        return "", f"while {imported} was imported" if imported else "outside of any test"

    def _phase(self) -> str:
        """The test and phase that pytest says is running, which is all that another thread can know."""
        current = os.environ.get(_CURRENT, "")
        return "" if current == self._inherited else current

    def _test(self) -> str:
        return self._phase().rpartition(" (")[0]
