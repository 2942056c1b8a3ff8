"""Markdown: for the summary of a CI job, and for a pull request."""

from __future__ import annotations

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import Severity
from ..plain import plain
from .as_text import summary

_MOST = 200  # rows of findings


def render(report: AuditReport) -> str:
    """The claims, the findings and the artifacts as tables."""
    lines = [f"### {_cell(summary(report))}", "", *(f"- {_cell(one)}" for one in report.releases), ""]
    shown = [one for one in report.findings if one.severity is not Severity.OK]
    if shown:
        lines += ["| severity | code | subject | what | how to mend it |", "| --- | --- | --- | --- | --- |"]
        for one in shown[:_MOST]:
            place = f" ({one.place})" if one.place is not None else ""
            name = f"{one.code} {CATALOGUE[one.code].name}"
            cells = (str(one.severity), name, f"{one.subject}{place}", one.message, one.remedy)
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
        if len(shown) > _MOST:
            lines.append(f"\n{len(shown) - _MOST} more findings are in the JSON report.")
        lines.append("")
    for one, exception in report.accepted:
        lines.append(f"- accepted: {one.code} {_cell(one.subject)}: {_cell(exception.reason)} (until {exception.expires})")
    if report.table:
        lines += ["| artifact | builds | declares the GIL | imports | worst |", "| --- | --- | --- | --- | --- |"]
        for row in report.table:
            lines.append("| " + " | ".join(map(_cell, (row.artifact, row.builds, row.declared, row.imported, row.worst))) + " |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = plain(value)
    for one in "\\`*_[]<>|#":
        text = text.replace(one, f"\\{one}")
    return text
