"""The report of an audit in every format: pure functions from an `AuditReport` to text."""

from __future__ import annotations

from collections.abc import Callable

from ..check import AuditReport
from . import as_json, as_text, github, junit, markdown, sarif

FORMATS: dict[str, Callable[[AuditReport], str]] = {
    "text": as_text.render,
    "json": as_json.render,
    "sarif": sarif.render,
    "junit": junit.render,
    "github": github.render,
    "markdown": markdown.render,
}
"""By name; ``html`` is made from `records.records` by the page of the evidence."""
