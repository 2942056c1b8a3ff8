"""Accepted findings: each has a reason and a last day, and one that matches nothing or has expired is a finding itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from .finding import AuditFinding, Known, Severity, found
from .settings import SOURCE, AcceptedFinding


def apply(
    findings: Sequence[AuditFinding], baseline: Sequence[AcceptedFinding], today: date
) -> tuple[list[AuditFinding], list[tuple[AuditFinding, AcceptedFinding]]]:
    """Divide findings by the baseline.

    Returns:
        What remains, with a finding for each exception that has expired or matches nothing; and what was accepted, with the
        exception that did so. An expired exception accepts nothing.
    """
    kept: list[AuditFinding] = []
    accepted: list[tuple[AuditFinding, AcceptedFinding]] = []
    used: set[AcceptedFinding] = set()
    for finding in findings:
        matching = [] if finding.severity is Severity.OK else [one for one in baseline if one.matches(finding)]
        used.update(matching)
        valid = [one for one in matching if one.expires >= today]
        if valid:
            accepted.append((finding, valid[0]))
        else:
            kept.append(finding)
    for one in baseline:
        if one not in used:
            kept.append(found("GA902", SOURCE, str(one), Known.CONFIGURATION, key=str(one)))
        elif one.expires < today:
            kept.append(found("GA901", SOURCE, str(one), Known.CONFIGURATION, key=str(one)))
    return kept, accepted
