"""For a terminal: one block for each code, the table, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import AuditFinding, Severity
from ..plain import plain

_MANY = 12  # findings of one code that are shown in full; the rest is counted


def render(report: AuditReport) -> str:
    """The whole report as text."""
    lines = [plain(one) for one in report.releases]
    lines += [""] if report.findings else []
    shown = [one for one in report.findings if one.severity is not Severity.OK]
    groups: dict[tuple[Severity, str], list[AuditFinding]] = {}
    for one in shown:
        groups.setdefault((one.severity, one.code), []).append(one)
    for (severity, code), findings in groups.items():
        lines += _group(severity, code, findings)
    for accepted, exception in report.accepted:
        lines.append(f"accepted {accepted.code} {plain(accepted.subject)}: {plain(exception.reason)} (until {exception.expires})")
    if report.table:
        lines += [*_table(report), ""]
    lines.append(summary(report))
    return "\n".join(lines)


def summary(report: AuditReport) -> str:
    """``2 errors, 1 warning, 3 not told, 40 ok; exit status 1``."""
    words = {Severity.INCONCLUSIVE: "not told", Severity.OK: "ok"}
    parts = []
    for severity, count in report.counts().items():
        word = words.get(severity) or f"{severity}{'s' if count > 1 else ''}"
        parts.append(f"{count} {word}")
    if report.accepted:
        parts.append(f"{len(report.accepted)} accepted")
    return f"gilcheck audit: {', '.join(parts) or 'nothing was checked'}; exit status {report.exit_status}"


def _group(severity: Severity, code: str, findings: Sequence[AuditFinding]) -> Iterator[str]:
    """Findings of one code: how to mend them is said once."""
    rule = CATALOGUE[code]
    yield f"{severity} {code} {rule.name}: {rule.title}"
    for one in findings[:_MANY]:
        place = f" at {plain(one.place)}" if one.place is not None else ""
        yield f"    {plain(one.subject)}{place}"
        yield f"        {plain(one.message)} (known from: {one.known})"
        if one.proof:
            yield f"        prove it: {plain(one.proof)}"
    if len(findings) > _MANY:
        yield f"    and {len(findings) - _MANY} more; --format json lists them"
    for remedy in dict.fromkeys(one.remedy for one in findings):
        yield f"    mend: {plain(remedy)}"
    yield ""


def _table(report: AuditReport) -> list[str]:
    head = ("artifact", "builds", "declares the GIL", "imports", "worst")
    cells = [head, *((row.artifact, row.builds, row.declared, row.imported, row.worst) for row in report.table)]
    rows = [[plain(cell) for cell in row] for row in cells]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
