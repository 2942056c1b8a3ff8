"""``pytest --gilcheck-audit=dist/``: each check of the audit as an item, beside the tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..audit import check, settings
from ..audit.catalogue import CATALOGUE
from ..audit.finding import AuditFinding, Severity, reaches
from ..audit.plain import plain
from ..core.errors import BadValue
from ..settings import option
from .options import settings_of

OPTION = "--gilcheck-audit"
_MANY = 12  # undecided items that are shown in full


def start(config: pytest.Config, targets: Iterable[str]) -> None:
    """Have the audit's items collected after the tests.

    Raises:
        pytest.UsageError: with pytest-xdist, whose every worker would audit again.
    """
    if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        raise pytest.UsageError(f"gilcheck: {OPTION} cannot be used with pytest-xdist: run it in a run of its own")
    if "" in targets:  # probably an unset variable; it must not mean the current folder
        expected = "a file, a folder, or the name of an installed distribution"
        raise pytest.UsageError(f"gilcheck: {BadValue('audit', '', expected, f'command line {OPTION}')}")
    config.pluginmanager.register(_AuditedRun(tuple(targets), bool(settings_of(config).value("strict")[0])), "gilcheck-audited")


class _AuditedRun:
    """The plugin of a run that audits."""

    def __init__(self, targets: tuple[str, ...], strict: bool) -> None:
        self._targets, self._strict = targets, strict
        self.undecided: list[str] = []  # a line for each item that was skipped

    def pytest_collection_modifyitems(self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
        paths = [str(path) if (path := config.invocation_params.dir / one).exists() else one for one in self._targets]
        try:
            chosen = settings.read(Path(config.rootpath) / "pyproject.toml")
            report = check.audit(check.Request(tuple(paths), chosen))
        except BadValue as error:
            raise pytest.UsageError(f"gilcheck: {error}") from error
        cases: dict[tuple[str, str], list[AuditFinding]] = {}
        for one in report.findings:
            cases.setdefault((one.code, one.subject), []).append(one)
        for (code, subject), findings in cases.items():
            items.append(AuditItem.from_parent(session, name=f"{code}[{subject}]", findings=findings, chosen=chosen, run=self))

    def judge_untold(self, name: str, untold: Sequence[AuditFinding]) -> NoReturn:
        """Fail an item that could not be told if strict; else skip it, and say so at the end: a skip alone looks like no check."""
        messages = "; ".join(one.message for one in untold)
        if self._strict:
            mend = "\n".join(f"mend: {text}" for text in dict.fromkeys(one.remedy for one in untold))
            raise AuditFailure(f"inconclusive, and strict: {messages}\n{mend}")
        self.undecided.append(plain(f"{name}: {messages}"))
        raise pytest.skip.Exception(f"inconclusive: {messages}", _use_item_location=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.undecided:
            return
        terminalreporter.section("gilcheck: undecided checks of the audit")
        for line in self.undecided[:_MANY]:
            terminalreporter.write_line(f"inconclusive {line}", yellow=True)
        more = f", {len(self.undecided) - _MANY} of them not shown" if len(self.undecided) > _MANY else ""
        words = f"gilcheck: {len(self.undecided)} undecided{more}; an undecided check is no pass: {option('strict')} fails it"
        terminalreporter.write_line(words, yellow=True)


class AuditItem(pytest.Item):
    """One check of one subject: it fails as ``gilcheck audit`` would; what could not be told is skipped, or fails if strict."""

    def __init__(self, *, findings: list[AuditFinding], chosen: settings.AuditSettings, run: _AuditedRun, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._findings, self._chosen, self._run = findings, chosen, run

    def runtest(self) -> None:
        bad = [one for one in self._findings if reaches(one.severity, self._chosen.fail_on)]
        if bad:
            raise AuditFailure("\n".join(f"{one.severity}: {one.message}\nmend: {one.remedy}" for one in bad))
        untold = [one for one in self._findings if one.severity is Severity.INCONCLUSIVE and one.code not in self._chosen.allowed]
        if untold:
            self._run.judge_untold(self.name, untold)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AuditFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        place = next((one.place for one in self._findings if one.place is not None), None)
        file = self.config.rootpath / (place.file if place else "pyproject.toml")
        return file, (place.line - 1 if place else 0), f"{self.name} {CATALOGUE[self._findings[0].code].name}"


class AuditFailure(Exception):
    """Findings at or above the severity that fails, or if strict, what could not be told."""
