"""The end of a sweep: what it has done and found, of this process or of xdist's workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..settings import Settings, option
from ..sweep.accounting import SweepAccount, SweepGoal
from ..sweep.baseline import BadBaseline, Baseline
from ..sweep.remembered import Remembered
from ..sweep.swept import Swept
from .options import target
from .reporting import Summary
from .sweep_progress import SweepProgress

LATE = "gilcheck_sweep"  # of a worker's output
_IN_CACHE = "gilcheck/sweep"


def goal_of(config: pytest.Config, settings: Settings) -> SweepGoal:
    """What the sweep has to reach.

    Raises:
        pytest.UsageError: the baseline file is none; the message names file and line.
    """
    baseline = None
    if (found := target(config, settings, "sweep_baseline")) is not None:
        try:
            baseline = Baseline.read(found[0], settings.value("sweep_baseline")[0])
        except BadBaseline as error:
            raise _refused(error) from None
    return SweepGoal(baseline, settings.value("sweep_min")[0], last_sweep(config))


def last_sweep(config: pytest.Config) -> Remembered:
    """What pytest's cache knows of the last sweeps; nothing without a cache."""
    cache = getattr(config, "cache", None)
    return Remembered(None if cache is None else cache.get(_IN_CACHE, None))


def _refused(error: BadBaseline) -> pytest.UsageError:
    return pytest.UsageError(f"gilcheck: {option('sweep_baseline')}: {error}")


class SweepSummary:
    """Gathers what a sweep reports of each test, shows it, puts it on record, and fails the run."""

    def __init__(self, config: pytest.Config, goal: SweepGoal) -> None:
        self._config, self._goal = config, goal
        self._account = SweepAccount(str(config.rootpath), goal)
        self._deselected: set[str] = set()
        self._progress: SweepProgress | None = None  # there is no terminal before the session

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        self._progress = SweepProgress(self._config)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected.update(item.nodeid for item in items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Refuse a baseline that names tests that do not exist."""
        self._check_tests([item.nodeid for item in session.items])
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """A worker does not say what it has deselected, so only files can be asked for."""
        if self._goal.baseline is not None:
            self._deselected.update(test for entry in self._goal.baseline.known for test in entry.tests)
            self._deselected = {test for test in self._deselected if (self._config.rootpath / test.partition("::")[0]).is_file()}
        self._check_tests(ids)
        self._begin(len(ids))

    def _begin(self, count: int) -> None:
        if self._progress is not None:
            self._progress.count = max(count, self._progress.count)
            self._progress.begin()

    def _check_tests(self, selected: list[str]) -> None:
        if self._goal.baseline is None:
            return
        known = {*selected, *self._deselected}
        arguments = [argument.split("[")[0] for argument in self._config.args if "::" in argument]
        in_part = {str(Path(argument.partition("::")[0])) for argument in arguments}  # such files are not collected as a whole
        files = {test.partition("::")[0] for test in known} - in_part
        try:
            self._goal.baseline.check_tests(known, files, self._config.rootpath)
        except BadBaseline as error:
            raise _refused(error) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (found := getattr(report, "gilcheck_sweep", None)) is not None:
            self.add(Swept.unpacked(found))

    def add(self, test: Swept) -> None:
        """Something has become of a test."""
        self._account.add(test)
        if self._progress is not None and not test.put_off:
            self._progress.add(test)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker has found out after the reports of its tests."""
        for found in getattr(node, "workeroutput", {}).get(LATE, ()):
            self.add(Swept.unpacked(found))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A new cause in the user's package fails the run, and so does a sweep of too few tests."""
        if self._progress is not None:
            self._progress.clear()
        if self._account.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if (cache := getattr(self._config, "cache", None)) is not None:
            cache.set(_IN_CACHE, self._account.to_remember())
        summary = self._config.pluginmanager.get_plugin("gilcheck-summary")
        if isinstance(summary, Summary):
            for record, file, line in self._account.records():
                summary.add(record, file, line)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("gilcheck sweep")
        for line in self._account.lines():
            terminalreporter.line(line)
        if failures := self._account.failures:
            terminalreporter.line("")
        for why in failures:
            terminalreporter.line(f"gilcheck: the sweep fails this run: {why}", red=True)
