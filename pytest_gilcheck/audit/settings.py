"""What an audit is to do: ``[tool.gilcheck.audit]`` of pyproject.toml, with the command line over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..core.errors import BadValue
from .catalogue import CATALOGUE
from .finding import AuditFinding, Severity
from .release import LEVEL_NAMES, BadMetadata, toml
from .tags import Build

SOURCE = "pyproject.toml [tool.gilcheck.audit]"
LIMITS = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_NAMES = ("level", "builds", "fail-on", "allow-inconclusive", "exclude", "select", "ignore", "evidence-days", "baseline")


@dataclass(frozen=True)
class AcceptedFinding:
    """An accepted finding.

    Attributes:
        code: of the catalogue.
        subject: a pattern (``*``, ``?``) for the finding's subject; ``*`` by default.
        reason: why it is accepted.
        expires: the last day on which it is.
        file: a pattern for the finding's file; any by default.
    """

    code: str
    reason: str
    expires: date
    subject: str = "*"
    file: str = "*"

    def matches(self, finding: AuditFinding) -> bool:
        file = finding.place.file if finding.place else ""
        return (
            self.code == finding.code
            and fnmatchcase(finding.subject, self.subject)
            and (self.file == "*" or fnmatchcase(file, self.file))
        )

    def __str__(self) -> str:
        where = "" if self.subject == "*" else f" of {self.subject}"
        return f"{self.code}{where}{'' if self.file == '*' else f' in {self.file}'} (until {self.expires}: {self.reason})"


@dataclass(frozen=True)
class AuditSettings:
    """Settings of one audit.

    Attributes:
        level: the claimed level, 0 to 4; None leaves it to the classifiers.
        builds: builds that the release claims to support; a wheel must serve each.
        fail_on: the least severity that makes the exit status 1.
        allowed: codes whose inconclusive findings do not make the exit status 3.
        exclude: patterns of source files that are left out.
        select, ignore: codes, or beginnings of codes, of the findings that are shown; everything by default.
        evidence_days: evidence that is older counts as missing; None: any age.
        baseline: accepted findings.
    """

    level: int | None = None
    builds: tuple[Build, ...] = ()
    fail_on: Severity = Severity.ERROR
    allowed: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    evidence_days: int | None = None
    baseline: tuple[AcceptedFinding, ...] = field(default=())

    def shows(self, code: str) -> bool:
        """Whether findings of this code are wanted."""
        return (not self.select or code.startswith(self.select)) and not (self.ignore and code.startswith(self.ignore))

    def over(self, **given: Any) -> AuditSettings:
        """These, with what the command line gave (None: nothing) over them."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def read(file: Path) -> AuditSettings:
    """The settings of a pyproject.toml; the defaults where it has no table of ours, or does not exist.

    Raises:
        BadValue: a setting that does not exist or cannot be used.
    """
    try:
        document = toml(file.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return AuditSettings()
    except (BadMetadata, OSError, UnicodeDecodeError) as error:
        why = " ".join(str(getattr(error, "strerror", None) or error).split())[:160]
        raise BadValue("settings", str(file), f"a TOML file that can be read: {why}", "audit") from None
    table: Any = document
    for name in ("tool", "gilcheck", "audit"):
        table = table.get(name, {})
        if not isinstance(table, Mapping):
            raise BadValue(name, table, f"a table, such as those of {SOURCE}", str(file))
    for name in table:
        if name not in _NAMES:
            raise BadValue(name, table[name], f"one of {', '.join(_NAMES)}", SOURCE)
    return AuditSettings(
        level=None if "level" not in table else level(table["level"], SOURCE),
        builds=tuple(build(one, SOURCE) for one in _texts(table, "builds")),
        fail_on=limit(table.get("fail-on", "error"), SOURCE),
        allowed=codes(_texts(table, "allow-inconclusive"), "allow-inconclusive", SOURCE),
        exclude=_texts(table, "exclude"),
        select=beginnings(_texts(table, "select"), "select", SOURCE),
        ignore=beginnings(_texts(table, "ignore"), "ignore", SOURCE),
        evidence_days=None if "evidence-days" not in table else _days(table["evidence-days"]),
        baseline=tuple(_exception(one) for one in _tables(table)),
    )


def level(value: object, source: str) -> int:
    """A level of support: 0 to 4.

    Raises:
        BadValue: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value not in LEVEL_NAMES:
        raise BadValue("level", value, "0 (no claim), 1 (unstable), 2 (beta), 3 (stable) or 4 (resilient)", source)
    return value


def build(text: str, source: str) -> Build:
    """A build such as ``cp314t``.

    Raises:
        BadValue: it is none.
    """
    digits = text.removeprefix("cp3").removesuffix("t")
    if not text.startswith("cp3") or not digits.isdecimal():
        raise BadValue("builds", text, "builds such as cp314t or cp314", source)
    return Build((3, int(digits)), text.endswith("t"))


def limit(text: object, source: str) -> Severity:
    """A severity to fail on.

    Raises:
        BadValue: it is none.
    """
    if text not in LIMITS:
        raise BadValue("fail-on", text, "error, warning or note", source)
    return Severity(str(text))


def codes(given: tuple[str, ...], name: str, source: str) -> frozenset[str]:
    """Codes of the catalogue.

    Raises:
        BadValue: one that does not exist.
    """
    for one in given:
        if one.upper() not in CATALOGUE:
            raise BadValue(name, one, "a code of the catalogue, such as GA203", source)
    return frozenset(one.upper() for one in given)


def beginnings(given: tuple[str, ...], name: str, source: str) -> tuple[str, ...]:
    """Codes of the catalogue, or beginnings of some.

    Raises:
        BadValue: one with which no code begins.
    """
    for one in given:
        if not one or not any(code.startswith(one.upper()) for code in CATALOGUE):
            raise BadValue(name, one, "a code of the catalogue, such as GA203, or the beginning of one, such as GA2", source)
    return tuple(one.upper() for one in given)


def _texts(table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadValue(name, value, "a list of texts", SOURCE)
    return tuple(value)


def _tables(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = table.get("baseline", [])
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise BadValue("baseline", value, "tables: [[tool.gilcheck.audit.baseline]]", SOURCE)
    return value


def _days(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadValue("evidence-days", value, "a whole number of days, at least 1", SOURCE)
    return value


def _exception(table: Mapping[str, Any]) -> AcceptedFinding:
    source = f"{SOURCE}, baseline"
    for name in table:
        if name not in ("code", "subject", "file", "reason", "expires"):
            raise BadValue(name, table[name], "one of code, subject, file, reason, expires", source)
    for name in ("code", "reason"):
        if not isinstance(table.get(name), str) or not str(table[name]).strip():
            raise BadValue(name, table.get(name), "a text: every exception has a code, a reason and a date", source)
    expires = table.get("expires")
    if isinstance(expires, str):
        try:
            expires = date.fromisoformat(expires)
        except ValueError:
            expires = None
    if not isinstance(expires, date):
        raise BadValue("expires", table.get("expires"), "a date such as 2027-03-31: every exception ends", source)
    for name in ("subject", "file"):
        if not isinstance(table.get(name, "*"), str):
            raise BadValue(name, table[name], "a pattern", source)
    (code,) = codes((table["code"],), "code", source)
    expires = date(expires.year, expires.month, expires.day)
    return AcceptedFinding(code, table["reason"], expires, table.get("subject", "*"), table.get("file", "*"))
