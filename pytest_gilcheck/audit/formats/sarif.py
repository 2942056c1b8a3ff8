"""SARIF 2.1.0, for code scanning: results with stable rules, fingerprints, and a line in the project for findings about wheels."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from ...core.version import __version__
from ..catalogue import CATALOGUE, Rule
from ..check import AuditReport
from ..finding import AuditFinding, Severity, SourcePlace

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note", Severity.INCONCLUSIVE: "none"}
_PROJECT = SourcePlace("pyproject.toml")


def render(report: AuditReport) -> str:
    """The report as a SARIF log with one run. What could not be told is of kind ``open``, what was accepted is suppressed."""
    shown = [one for one in report.findings if one.severity is not Severity.OK]
    codes = sorted({one.code for one in (*shown, *(one for one, _ in report.accepted))})
    results = [_result(one, codes) for one in shown]
    for one, exception in report.accepted:
        suppression = {"kind": "external", "status": "accepted", "justification": f"{exception.reason} (until {exception.expires})"}
        results.append(_result(one, codes) | {"suppressions": [suppression]})
    driver = {
        "name": "gilcheck audit",
        "semanticVersion": __version__,
        "rules": [_rule(CATALOGUE[code]) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "results": results,
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "exitCode": report.exit_status}],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True)


def _rule(rule: Rule) -> dict[str, Any]:
    level = _LEVELS[Severity(rule.severity)]
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\n{rule.mend}", "markdown": f"**Why.** {rule.why}\n\n**How to mend it.** {rule.mend}"},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["free-threading", rule.group]},
    }


def _result(one: AuditFinding, codes: list[str]) -> dict[str, Any]:
    place = one.place or _PROJECT
    proof = f" Prove it: {one.proof}." if one.proof else ""
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": {"startLine": max(1, place.line)},
        },
        "logicalLocations": [{"fullyQualifiedName": one.subject}],
    }
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": codes.index(one.code),
        "level": _LEVELS[one.severity],
        "message": {"text": f"{one.subject}: {one.message}. {one.remedy}{proof}"},
        "locations": [location],
        "partialFingerprints": {"gilcheckAudit/v1": one.fingerprint},
        "properties": {"known": str(one.known)},
    }
    if one.severity is Severity.INCONCLUSIVE:
        result["kind"] = "open"
    return result


def _uri(file: str) -> str:
    """A relative reference; the bytes of a name that is not UTF-8 are escaped as they are on disk."""
    try:
        name = file.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character out of an archive stands for no byte
        name = file.encode("utf-8", "replace")
    return quote(name.lstrip(b"/"))
