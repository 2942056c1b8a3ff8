"""JUnit XML: a test case for each check of each subject; what could not be told is skipped, what is below the limit passes."""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import AuditFinding, Severity, reaches
from ..plain import xml


def render(report: AuditReport) -> str:
    """The report as one test suite."""
    cases: dict[tuple[str, str], list[AuditFinding]] = {}
    for one in report.findings:
        cases.setdefault((one.code, one.subject), []).append(one)
    failures = skipped = 0
    lines = []
    for (code, subject), findings in cases.items():
        bad = [one for one in findings if reaches(one.severity, report.settings.fail_on)]
        untold = [one for one in findings if one.severity is Severity.INCONCLUSIVE]
        failures += bool(bad)
        skipped += bool(untold and not bad)
        lines.append(f'  <testcase classname="{code} {xml(CATALOGUE[code].name)}" name="{xml(subject)}">')
        if bad:
            lines.append(f'    <failure type="{bad[0].severity}" message="{xml(bad[0].message)}">{_text(bad)}</failure>')
        elif untold:
            lines.append(f'    <skipped type="inconclusive" message="{xml(untold[0].message)}">{_text(untold)}</skipped>')
        else:
            lines.append(f"    <system-out>{_text(findings)}</system-out>")
        lines.append("  </testcase>")
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    head = f'<testsuites {counts}>\n <testsuite name="gilcheck audit" {counts}>'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *lines, " </testsuite>", "</testsuites>"])


def _text(findings: Iterable[AuditFinding]) -> str:
    return "; ".join(
        xml(f"{one.severity}: {one.message}" + ("" if one.severity is Severity.OK else f" mend: {one.remedy}")) for one in findings
    )
