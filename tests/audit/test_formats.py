"""Every format of one report: what is hostile in a name stays text, and what programs read can be read."""

import json
import re
from datetime import date
from xml.etree import ElementTree

import pytest

from pytest_gilcheck.audit.check import ArtifactRow, AuditReport
from pytest_gilcheck.audit.finding import Known, Severity, SourcePlace, found, ordered, passed
from pytest_gilcheck.audit.formats import FORMATS
from pytest_gilcheck.audit.formats.records import records
from pytest_gilcheck.audit.settings import AcceptedFinding, AuditSettings

from .sarif_shape import SCHEMA

HOSTILE = "demo\n::error::<script>\"&'\x1b[31m|`\u202e]]>%0A \ud800.so"
FINDINGS = (
    found("GA201", HOSTILE, HOSTILE, Known.BINARY, severity=Severity.ERROR),
    found("GA102", "demo", "a hole", Known.TAG, place=SourcePlace("pyproject.toml", 7), key="one"),
    found("GA203", "demo:x", "run time", Known.BINARY),
    found("GA301", "demo/a b.py", "lazy", Known.SOURCE, place=SourcePlace("demo/a b.py", 3)),
    passed("GA121", "demo", "agree", Known.METADATA),
)
ACCEPTED = ((found("GA206", "demo", "a dependency", Known.IMPORT), AcceptedFinding("GA206", "known", date(2030, 1, 1))),)
TABLE = (ArtifactRow(HOSTILE, "wheel", "cp314t", "1 used", "1 GIL on", "error"),)


@pytest.fixture
def report():
    return AuditReport(("demo 1.0: claims x",), tuple(ordered(FINDINGS)), ACCEPTED, TABLE, AuditSettings())


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_was_found_and_nothing_that_a_terminal_obeys(report, name):
    text = FORMATS[name](report)
    assert all(code in text for code in ("GA201", "GA102", "GA203", "GA301"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_of_nothing(name):
    assert FORMATS[name](AuditReport((), (), (), (), AuditSettings()))


def test_json_holds_everything(report):
    document = json.loads(FORMATS["json"](report))
    assert [one["code"] for one in document["findings"]] == ["GA201", "GA102", "GA203", "GA301", "GA121"]
    assert document["findings"][1]["line"] == 7
    assert document["accepted"][0]["accepted"] == {"reason": "known", "expires": "2030-01-01"}
    assert document["exit_status"] == 1


def test_sarif_has_the_shape_of_its_standard(report):
    fastjsonschema = pytest.importorskip("fastjsonschema")
    document = json.loads(FORMATS["sarif"](report))
    fastjsonschema.compile(SCHEMA)(document)
    results = document["runs"][0]["results"]
    assert [(one["ruleId"], one["level"], one.get("kind")) for one in results] == [
        ("GA201", "error", None), ("GA102", "warning", None), ("GA203", "none", "open"), ("GA301", "note", None),
        ("GA206", "warning", None),
    ]  # fmt: skip
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    uris = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results]
    assert uris == ["pyproject.toml", "pyproject.toml", "pyproject.toml", "demo/a%20b.py", "pyproject.toml"]
    assert len({one["partialFingerprints"]["gilcheckAudit/v1"] for one in results}) == 5
    assert results[4]["suppressions"][0]["justification"] == "known (until 2030-01-01)"


@pytest.mark.parametrize(("file", "uri"), [("a\udcff b.py", "a%FF%20b.py"), ("a\ud800.py", "a%3F.py"), ("/é.py", "%C3%A9.py")])
def test_sarif_refers_to_a_file_of_any_name(file, uri):
    place = found("GA301", "demo", "lazy", Known.SOURCE, place=SourcePlace(file))
    document = json.loads(FORMATS["sarif"](AuditReport((), (place,), (), (), AuditSettings())))
    location = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == uri


def test_a_fingerprint_outlives_lines_and_not_subjects():
    one, two = (found("GA301", "a.py", "lazy", Known.SOURCE, place=SourcePlace("a.py", line), key="x") for line in (3, 30))
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != found("GA301", "b.py", "lazy", Known.SOURCE, key="x").fingerprint


def test_junit_counts_failures_and_skips(report):
    root = ElementTree.fromstring(FORMATS["junit"](report))
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {"tests": "5", "failures": "1", "skipped": "1"}
    assert len(root.findall(".//testcase/failure")) == 1


def test_github_has_one_command_for_each_finding(report):
    lines = FORMATS["github"](report).splitlines()
    commands = [re.match(r"::(error|warning|notice) ", line) for line in lines[:-1]]
    assert [match and match[1] for match in commands] == ["error", "warning", "warning", "notice"]
    assert "file=pyproject.toml,line=7," in lines[1]


def test_markdown_keeps_its_tables(report):
    rows = [line for line in FORMATS["markdown"](report).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


def test_records_can_be_shown_by_the_page(report):
    html = pytest.importorskip("pytest_gilcheck.report.html")
    if html.unavailable():
        pytest.skip(html.unavailable())
    made = records(report)
    assert [one["verdict"] for one in made] == ["violated", "violated", "inconclusive", None, "holds"]
    page = html.page(made, title="gilcheck audit")
    assert "GA102" in page
    assert '<script>"&' not in page
