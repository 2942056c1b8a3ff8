"""For a terminal: one block for each finding, the table, and what could not be told."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import Finding, Severity
from ..plain import plain

_MANY = 12  # findings of one code that are shown in full; the rest is counted


def render(report: AuditReport) -> str:
    """The whole report as text."""
    lines = [plain(one) for one in report.releases]
    lines += [""] if report.findings else []
    shown = [one for one in report.findings if one.severity is not Severity.OK]
    counted: dict[tuple[str, Severity], int] = {}
    for one in shown:
        counted[one.code, one.severity] = counted.get((one.code, one.severity), 0) + 1
        if counted[one.code, one.severity] <= _MANY:
            lines += _finding(one)
    lines += [
        f"{severity} {code}: {count - _MANY} more; --format json lists them"
        for (code, severity), count in counted.items() if count > _MANY
    ]  # fmt: skip
    for accepted, exception in report.accepted:
        lines.append(f"accepted {accepted.code} {plain(accepted.subject)}: {plain(exception.reason)} (until {exception.expires})")
    if report.table:
        lines += ["", *_table(report)]
    lines += ["", summary(report)]
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


def _finding(one: Finding) -> Iterator[str]:
    place = f" at {plain(one.place)}" if one.place is not None else ""
    yield f"{one.severity} {one.code} {CATALOGUE[one.code].name}: {plain(one.subject)}{place}"
    yield f"    {plain(one.message)} (known from: {one.known})"
    yield f"    mend: {plain(one.remedy)}"
    if one.proof:
        yield f"    prove: {plain(one.proof)}"


def _table(report: AuditReport) -> list[str]:
    head = ("artifact", "builds", "declares the GIL", "imports", "worst")
    cells = [head, *((row.artifact, row.builds, row.declared, row.imported, row.worst) for row in report.table)]
    rows = [[plain(cell) for cell in row] for row in cells]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
