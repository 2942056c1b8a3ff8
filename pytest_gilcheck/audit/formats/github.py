"""Workflow commands of GitHub Actions: an annotation for each finding."""

from __future__ import annotations

from ..catalogue import CATALOGUE
from ..check import AuditReport
from ..finding import Severity
from ..plain import plain
from .as_text import summary

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice", Severity.INCONCLUSIVE: "warning"}


def render(report: AuditReport) -> str:
    """A line for each finding, and the summary as the last."""
    lines = []
    for one in report.findings:
        if one.severity is Severity.OK:
            continue
        told = "" if one.severity is not Severity.INCONCLUSIVE else " (not told)"
        title = _property(f"{one.code} {CATALOGUE[one.code].name}{told}")
        where = f"file={_property(one.place.file)},line={one.place.line}," if one.place is not None else ""
        text = f"{one.subject}: {one.message}. {one.remedy}"
        lines.append(f"::{_COMMANDS[one.severity]} {where}title={title}::{_data(plain(text))}")
    return "\n".join([*lines, summary(report)])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text)).replace(":", "%3A").replace(",", "%2C")
