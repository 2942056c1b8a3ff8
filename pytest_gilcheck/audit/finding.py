"""What the audit found: one model for every check, every format and the exit status."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from .catalogue import CATALOGUE


class Severity(StrEnum):
    """How bad a finding is. ``OK`` is a check that was made and found nothing; ``INCONCLUSIVE`` one that could not be decided."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    INCONCLUSIVE = "inconclusive"
    OK = "ok"


WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INCONCLUSIVE, Severity.NOTE, Severity.OK)
_RANK = {Severity.NOTE: 1, Severity.WARNING: 2, Severity.ERROR: 3}


class Known(StrEnum):
    """How a check knew what it says."""

    ARCHIVE = "archive"
    METADATA = "metadata"
    TAG = "tag"
    BINARY = "binary"
    IMPORT = "import"
    SOURCE = "source"
    PROOF = "proof"
    EVIDENCE = "evidence"
    DOCS = "docs"
    CONFIGURATION = "configuration"


@dataclass(frozen=True)
class SourcePlace:
    """A line of a file; ``file`` is relative to the project where the file is inside it, ``line`` counts from 1."""

    file: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class AuditFinding:
    """One result of one check.

    Attributes:
        code: of the catalogue, for instance ``"GA201"``.
        severity: see `Severity`.
        subject: what it is about: a file of an artifact, an artifact, a project.
        message: what was found, with its values.
        known: how it is known.
        mend: how to mend it; the catalogue's text by default.
        place: the line to change, where there is one.
        proof: for a source rule, the call of the fuzz engine that would show the failure.
        key: what tells this finding from others with the same code and subject, and does not change with line numbers.
    """

    code: str
    severity: Severity
    subject: str
    message: str
    known: Known
    mend: str = ""
    place: SourcePlace | None = None
    proof: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise ValueError(f"{self.code} is not in the catalogue")

    @property
    def remedy(self) -> str:
        """How to mend it."""
        return self.mend or CATALOGUE[self.code].mend

    @property
    def fingerprint(self) -> str:
        """Identifies the finding over runs and releases: of code, subject and key, without line numbers and versions."""
        text = "\0".join((self.code, self.subject, self.key))
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]

    def at(self, severity: Severity) -> AuditFinding:
        """The same with another severity."""
        return replace(self, severity=severity)


def passed(code: str, subject: str, message: str, known: Known, key: str = "") -> AuditFinding:
    """A check that was made and found nothing."""
    return AuditFinding(code=code, severity=Severity.OK, subject=subject, message=message, known=known, key=key)


def found(
    code: str,
    subject: str,
    message: str,
    known: Known,
    *,
    severity: Severity | None = None,
    mend: str = "",
    place: SourcePlace | None = None,
    key: str = "",
) -> AuditFinding:
    """A finding, with the catalogue's severity unless another is given."""
    default = Severity(CATALOGUE[code].severity)
    return AuditFinding(
        code=code, severity=severity or default, subject=subject, message=message, known=known, mend=mend, place=place, key=key
    )


def reaches(severity: Severity, limit: Severity) -> bool:
    """Whether a decided finding is at least as bad as the limit (note, warning or error)."""
    return _RANK.get(severity, 0) >= _RANK[limit]


def ordered(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    """Each finding once, the worst first, then by code, subject and place."""
    unique = dict.fromkeys(findings)
    return sorted(
        unique,
        key=lambda one: (
            WORST_FIRST.index(one.severity),
            one.code,
            one.subject,
            (one.place.file, one.place.line) if one.place else ("", 0),
            one.message,
        ),
    )
