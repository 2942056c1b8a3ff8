"""Findings as records of evidence, which the HTML page shows: an error or a warning is a violated claim."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.evidence import Record, record
from ...core.verdict import Verdict
from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import AuditFinding, Severity

_VERDICTS = {
    Severity.ERROR: Verdict.VIOLATED,
    Severity.WARNING: Verdict.VIOLATED,
    Severity.INCONCLUSIVE: Verdict.INCONCLUSIVE,
    Severity.OK: Verdict.HOLDS,
}


@dataclass(frozen=True)
class _Concluded:
    conclusion: Verdict
    reason: str


def records(report: AuditReport) -> list[Record]:
    """A record for each finding; notes have no verdict."""
    made = []
    counted: dict[tuple[str, str], int] = {}
    for one in report.findings:
        verdict = _VERDICTS.get(one.severity)
        subject = f"{one.code} {one.subject}"
        number = counted[one.code, subject] = counted.get((one.code, subject), 0) + 1
        entry = record(
            "audit",
            subject,
            None if verdict is None else _Concluded(verdict, one.message),
            {"text": CATALOGUE[one.code].title},
            {"severity": str(one.severity), "known": str(one.known)},
            details={"text": _text(one)},
        )
        made.append(entry | {"number": number})
    return made


def _text(one: AuditFinding) -> str:
    rule = CATALOGUE[one.code]
    lines = [f"{one.severity} {one.code} {rule.name}", one.message, f"why: {rule.why}", f"mend: {one.remedy}"]
    lines += [f"at {one.place}"] if one.place is not None else []
    lines += [f"prove: {one.proof}"] if one.proof else []
    return "\n".join(lines)
