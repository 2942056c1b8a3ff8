"""What the user sees at the end: one summary, and the evidence file.

A run that is to write a file, and the controller of xdist, load this module at their start. So it imports the report modules only
where there is something to show.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..checks import CHECKS, ENDED_EARLY, SWEEP, UNITS
from ..core import evidence, evidence_files
from ..core.codes import ENDED_EARLY as ENDED_EARLY_CODE
from ..core.codes import code_of
from ..core.errors import BadValue
from ..core.interpreter import Interpreter
from ..core.verdict import Judged, Verdict
from ..settings import SPAWNED_TEST
from .failures import ShownReports
from .options import settings_of, target

if TYPE_CHECKING:
    from ..report.matrix import Matrix

_KEY = pytest.StashKey[bool]()
_DIVERGED = code_of("fuzz", "diverged")
_RUN = pytest.StashKey[evidence_files.EvidenceRun]()


def start(config: pytest.Config) -> None:
    """Register the summary, once, except in a worker of xdist and in a pytest that another one has started for one test."""
    if _KEY not in config.stash and not hasattr(config, "workerinput") and SPAWNED_TEST not in os.environ:
        config.stash[_KEY] = True
        config.pluginmanager.register(Summary(config), "gilcheck-summary")
        config.pluginmanager.register(ShownReports(), "gilcheck-shown-reports")


def begin_early(config: pytest.Config, path: Path) -> None:
    """Say in the evidence file that a run has begun, before a conftest or a bad option can end it: it may hold an earlier run."""
    if SPAWNED_TEST in os.environ or _in_a_worker() or any(getattr(config.known_args_namespace, name, False) for name in _SHOWS):
        return
    config.stash[_RUN] = evidence_files.EvidenceRun(config.rootpath)
    try:
        evidence_files.begin(path, config.stash[_RUN])
    except OSError:  # `Summary` says so, if the run comes to it
        pass


def _in_a_worker() -> bool:
    """Whether xdist started this pytest, whose configuration does not say so yet; a process that a worker's test starts is none."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "__channelexec__":  # execnet's name for what it was sent
            return True
    return False


def figures_as_properties(record: evidence.Record, number: int) -> list[tuple[str, object]]:
    """A check's verdict and figures as user properties, which JUnit XML shows; a test's second check is ``gilcheck.2``."""
    prefix = "gilcheck" if number == 1 else f"gilcheck.{number}"
    check = CHECKS.get(record["check"])
    names = () if check is None else dict.fromkeys((*check.figure.names, *check.properties))
    figures = {name: record["figures"].get(name) for name in names}
    pairs: list[tuple[str, object]] = [(f"{prefix}.verdict", record["verdict"]), (f"{prefix}.reason", record["reason"])]
    return pairs + [
        (f"{prefix}.{name}", round(value, 4) if isinstance(value, float) else value)
        for name, value in figures.items()
        if value is not None
    ]


_WRITTEN = {"json": "evidence", "html": "report", "markdown": "table"}
_SHOWS = (
    "collectonly",
    "showfixtures",
    "show_fixtures_per_test",
    "setuponly",
    "setupplan",
    "cacheshow",
    "help",
    "version",
    "markers",
)  # options that run no test
_OUTCOMES = ("passed", "xpassed", "xfailed", "skipped", "failed")  # the worst last


class Summary:
    """Gathers the evidence out of the reports, of this process or of xdist's workers, shows it, and writes it down."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._run = config.stash.setdefault(_RUN, evidence_files.EvidenceRun(config.rootpath))
        self._records: list[evidence.Record] = []
        self._places: dict[str, tuple[str, int]] = {}  # a test's file and line
        self._open: dict[tuple[str, str], tuple[str, list[evidence.Record]]] = {}  # a test's outcome so far, and its records
        self._files: list[tuple[str, Path]] = []  # written, each with what it is
        self._lines: list[tuple[str, bool]] = []  # what to say of files, and whether it is bad
        self._ran: set[str] = set()  # node ids of tests that came to their end
        self._deselected = self._failed_to_collect = 0

    def pytest_sessionstart(self) -> None:
        """Say in the file that a run has begun, before anything can end it."""
        if self._writes_nothing() or (found := target(self._config, settings_of(self._config), "json")) is None:
            return
        path, source = found
        try:
            evidence_files.begin(path, self._run)
        except OSError as error:
            message = BadValue("json", str(path), f"a file that can be written ({error})", source)
            raise pytest.UsageError(f"gilcheck: {message}") from None

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += len(items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._failed_to_collect += report.failed

    def _writes_nothing(self) -> bool:
        """Whether this run is to measure nothing: older evidence then stays."""
        option = self._config.option
        return any(getattr(option, name, False) for name in _SHOWS)

    def pytest_report_collectionfinish(self, config: pytest.Config) -> list[str]:
        return [] if config.get_verbosity() < 0 else [f"gilcheck: {Interpreter.current()}"]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        gateway = getattr(getattr(report, "node", None), "gateway", None)  # of xdist's worker
        where = {} if gateway is None else {"worker": gateway.id}
        test = (report.nodeid, where.get("worker", ""))
        worst, records = self._open.get(test, ("passed", [])) if report.when != "setup" else ("passed", [])
        worst = max(worst, _outcome(report), key=_OUTCOMES.index)
        found = [entry | where for entry in getattr(report, "gilcheck", [])]
        records += found
        for entry in records:
            entry["outcome"] = worst
        for entry in found:
            self._config.hook.pytest_gilcheck_record(config=self._config, record=entry)
        self._open[test] = worst, records
        if report.when == "teardown":
            del self._open[test]
            self._ran.add(report.nodeid)
        if report.when not in ("setup", "call", "teardown") and not found:  # xdist's stand-in for a worker that died in a test
            found = [self._lost(report)]
        self._records += found
        if found:
            file, line, _ = report.location
            self._places[report.nodeid] = (file, (line or 0) + 1)

    def add(self, record: evidence.Record, file: str, line: int) -> None:
        """Take a record that no test's report carries, and where to annotate it. `SweepSummary` shows it."""
        self._config.hook.pytest_gilcheck_record(config=self._config, record=record)
        self._records.append(record)
        self._places[record["subject"]] = file, line

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._writes_nothing():
            return
        self._note_what_was_not_replayed(session)
        self._end = evidence_files.RunEnd(
            exit_status=int(session.exitstatus),
            collected=session.testscollected,  # without what was deselected
            ran=len(self._ran),
            deselected=self._deselected,
            failed_to_collect=self._failed_to_collect,
        )
        writers: dict[str, Callable[[Path], Path]] = {
            "json": self._write_json,
            "html": self._write_html,
            "markdown": self._write_table,
        }
        for name, write in writers.items():
            if (found := target(self._config, settings_of(self._config), name)) is None:
                continue
            path, source = found
            try:
                written = write(path)
            except OSError as error:  # the failures of the run must still be shown
                self._lines.append(
                    (f"gilcheck: {BadValue(name, str(path), f'a file that can be written ({error})', source)}", True)
                )
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
                continue
            self._files.append((_WRITTEN[name], written))
            if written.name != path.resolve().name:
                words = f"gilcheck: {path} is of another run that went on at the same time; ours is in {written.name}"
                self._lines.append((words, False))

        if self._config.pluginmanager.get_plugin("terminalreporter") is None:
            for words, _ in self._lines:
                sys.stderr.write(f"{words}\n")

    def _note_what_was_not_replayed(self, session: pytest.Session) -> None:
        """A run that is to replay a token, and in which no check has followed it to an end, says nothing of that failure."""
        token, source = settings_of(self._config).value("replay")
        if token is None or any(record["code"] == _DIVERGED for record in self._records):  # that test has failed, and says why
            return
        replayed = [record for record in self._records if (record["parameters"] or {}).get("replay")]
        if any(record["verdict"] != Verdict.INCONCLUSIVE for record in replayed):
            return
        if replayed:
            words, status = f"the replay of {token} was not decided: {replayed[0]['reason']}", pytest.ExitCode.TESTS_FAILED
        else:
            expected = "the token of a fuzz check that this run makes: no check is of its program, so nothing was replayed"
            words, status = str(BadValue("replay", token, expected, source)), pytest.ExitCode.USAGE_ERROR
        self._lines.append((f"gilcheck: {words}", True))
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for words, bad in self._lines:
            terminalreporter.write_line(words, red=bad, yellow=not bad)
        for what, path in self._files:  # as pytest announces its JUnit file
            terminalreporter.write_sep("-", f"generated gilcheck {what}: {path}")
        if self._records and self._github():
            self._tell_github(terminalreporter)
        records = [record for record in self._records if record["check"] != SWEEP]
        if not records or self._config.get_verbosity() < 0:
            return
        from ..report import tables
        from ..report.terminal import COLOURS, spawned, summary, summary_title
        from ..report.words import MARKS

        verbose = self._config.get_verbosity() > 0
        width = self._config.get_terminal_writer().fullwidth
        terminalreporter.section(summary_title(records))
        for line in summary(records, width=width, verbose=verbose):
            word = line.verdict or ""
            if colour := COLOURS.get(word):
                terminalreporter.write(word, **{colour: True})
            terminalreporter.write(f"{line.text.removeprefix(word) if colour else line.text}\n")
        for words in spawned(records):
            terminalreporter.write_line(words)
        for title, text in filter(None, self._config.hook.pytest_gilcheck_section(config=self._config, records=self._records)):
            terminalreporter.section(title)
            terminalreporter.write_line(text)
        table = self._table()
        if len(table.columns) > 1:
            terminalreporter.section("gilcheck: by interpreter")
            plain = not _writes(terminalreporter, "".join(filter(None, MARKS.values())))
            for row in tables.text(table, width=width, plain=plain).splitlines():
                terminalreporter.write_line(row)

    def _lost(self, report: pytest.TestReport) -> evidence.Record:
        """The record of a test whose worker died in it: whatever it was to check is undecided."""
        reason = f"the worker process died in this test: {report.longreprtext.partition(chr(10))[0]}"
        result = Judged(conclusion=Verdict.INCONCLUSIVE, reason=reason)
        return evidence.record(ENDED_EARLY, report.nodeid, result, {}, {}) | {"outcome": "failed", "code": ENDED_EARLY_CODE}

    def _table(self) -> Matrix:
        from ..report.matrix import matrix

        return matrix(self._records, ordered=True)

    def _write_json(self, path: Path) -> Path:
        return evidence_files.write(path, self._records, self._run, UNITS, self._end)

    def _write_html(self, path: Path) -> Path:
        from ..report import html

        return self._written(path, html.page(self._records, title=f"gilcheck: {self._config.rootpath.name}"))

    def _write_table(self, path: Path) -> Path:
        from ..report import tables

        return self._written(path, tables.markdown(self._table()) + "\n")

    def _written(self, path: Path, text: str) -> Path:
        evidence_files.replace(path.resolve(), text)
        return path.resolve()

    def _github(self) -> bool:
        wanted, source = settings_of(self._config).value("github")
        return bool(wanted) if source != "default" else os.environ.get("GITHUB_ACTIONS") == "true"

    def _tell_github(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Annotations are lines of the log; the step's summary is a file that any number of steps append to."""
        from ..report.github import annotation, step_summary
        from ..report.matrix import newest

        base = Path(os.environ.get("GITHUB_WORKSPACE") or self._config.rootpath)
        for record in newest(self._records)[0]:
            file, line = self._places.get(record["subject"], (record["subject"].partition("::")[0], 1))
            path = self._config.rootpath / file
            relative = path.relative_to(base) if path.is_relative_to(base) else Path(file)
            if (command := annotation(record, relative.as_posix() if file else "", line)) is not None:
                terminalreporter.write_line(command)
        if target := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                with open(target, "a", encoding="utf-8") as file_of_step:
                    file_of_step.write(step_summary(self._table(), self._records))
            except OSError as error:
                terminalreporter.write_line(f"gilcheck: GITHUB_STEP_SUMMARY cannot be written: {error}", red=True)


def _outcome(report: pytest.TestReport) -> str:
    """What became of a phase of the test; a violated claim may be what it asserts."""
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return report.outcome if report.outcome in _OUTCOMES else "failed"  # "rerun": it will be run again, because it failed


def _writes(terminalreporter: pytest.TerminalReporter, text: str) -> bool:
    """Whether the terminal's encoding has these characters."""
    try:
        text.encode(getattr(terminalreporter._tw._file, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True
