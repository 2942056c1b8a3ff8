"""For programs: every finding, the checks that found nothing included."""

from __future__ import annotations

import json
from typing import Any

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import AuditFinding

SCHEMA = 1


def render(report: AuditReport) -> str:
    """The report as one JSON object; ``schema`` is raised when a name changes its meaning."""
    document = {
        "schema": SCHEMA,
        "releases": list(report.releases),
        "exit_status": report.exit_status,
        "counts": {str(severity): count for severity, count in report.counts().items()},
        "findings": [_finding(one) for one in report.findings],
        "accepted": [
            _finding(one) | {"accepted": {"reason": exception.reason, "expires": exception.expires.isoformat()}}
            for one, exception in report.accepted
        ],
        "artifacts": [
            {"artifact": row.artifact, "kind": row.kind, "builds": row.builds, "declared": row.declared, "imported": row.imported,
             "worst": row.worst}
            for row in report.table
        ],
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=True)


def _finding(one: AuditFinding) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": CATALOGUE[one.code].name,
        "severity": str(one.severity),
        "subject": one.subject,
        "message": one.message,
        "known": str(one.known),
        "mend": one.remedy,
        "file": one.place.file if one.place else None,
        "line": one.place.line if one.place else None,
        "proof": one.proof or None,
        "fingerprint": one.fingerprint,
    }
