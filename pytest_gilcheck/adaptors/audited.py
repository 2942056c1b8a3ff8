"""``pytest --gilcheck-audit=dist/``: each check of the audit as an item, beside the tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ..audit import check, settings
from ..audit.catalogue import CATALOGUE
from ..audit.finding import AuditFinding, Severity, reaches
from ..core.errors import BadValue

OPTION = "--gilcheck-audit"


def start(config: pytest.Config, targets: Iterable[str]) -> None:
    """Have the audit's items collected after the tests.

    Raises:
        pytest.UsageError: with pytest-xdist, whose every worker would audit again.
    """
    if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        raise pytest.UsageError(f"gilcheck: {OPTION} cannot be used with pytest-xdist: run it in a run of its own")
    config.pluginmanager.register(_AuditedRun(tuple(targets)), "gilcheck-audited")


class _AuditedRun:
    """The plugin of a run that audits."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self._targets = targets

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
            items.append(AuditItem.from_parent(session, name=f"{code}[{subject}]", findings=findings, chosen=chosen))


class AuditItem(pytest.Item):
    """One check of one subject: it fails as ``gilcheck audit`` would, and skips what could not be told."""

    def __init__(self, *, findings: list[AuditFinding], chosen: settings.AuditSettings, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._findings, self._chosen = findings, chosen

    def runtest(self) -> None:
        bad = [one for one in self._findings if reaches(one.severity, self._chosen.fail_on)]
        if bad:
            raise AuditFailure("\n".join(f"{one.severity}: {one.message}\nmend: {one.remedy}" for one in bad))
        untold = [one for one in self._findings if one.severity is Severity.INCONCLUSIVE and one.code not in self._chosen.allowed]
        if untold:
            pytest.skip(f"not told: {untold[0].message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, AuditFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        place = next((one.place for one in self._findings if one.place is not None), None)
        file = self.config.rootpath / (place.file if place else "pyproject.toml")
        return file, (place.line - 1 if place else None), f"{self.name} {CATALOGUE[self._findings[0].code].name}"


class AuditFailure(Exception):
    """Findings at or above the severity that fails."""
