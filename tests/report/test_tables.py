import csv
import io
import json
import re

import pytest

from pytest_gilcheck.report import tables
from pytest_gilcheck.report.clean import clean
from pytest_gilcheck.report.github import annotation, step_summary
from pytest_gilcheck.report.matrix import matrix
from pytest_gilcheck.report.regressions import conditions, findings
from pytest_gilcheck.report.terminal import summary, summary_title
from pytest_gilcheck.report.words import interval

from .records import GIL_ON, NO_GIL, entry

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]
HOSTILE = 'test_x[\x1b[31m<script>alert("|`*")</script>\x07\u202e=cmd()]\x1b]0;title\x07'
RECORDS = [
    entry("tests/test_a.py::test_scales", "violated", speedup=0.97, low=0.95, high=1.06, one_thread=SECOND, diagnosis="the GIL"),
    entry(
        "tests/test_a.py::test_scales",
        speedup=1.87,
        low=1.8,
        high=1.95,
        one_thread=[1.26 * s for s in SECOND],
        version="3.13.5",
        python=NO_GIL,
    ),
    entry("tests/test_a.py::test_ctrl_c", check="interrupt", delivery_max=0.00021),
    entry(
        "tests/test_a.py::test_survives",
        "inconclusive",
        check="fuzz",
        schedules=1024,
        python=NO_GIL,
        version="3.13.5",
        reason="r " * 200,
    ),
]


def test_the_text_table_says_verdict_figure_interval_cost_and_change():
    text = tables.text(matrix(RECORDS), width=80)
    assert "✗ 0.97x" in text
    assert "✓ 1.87x" in text
    assert "0.95 to 1.06" in text
    assert "1.26x slower" in text
    assert "0.21 ms" in text
    assert "changes: tests/test_a.py::test_scales: violated on 3.13.0; holds on 3.13.5t" in text.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("limits", "figure", "claim"),
    [
        ({"p99_limit": 0.05, "max_limit": None}, "3 ms", "claim: <= 50 ms"),
        ({"p99_limit": 0.05, "max_limit": 0.4}, "3 ms", "claim: <= 50 ms"),
        ({"p99_limit": None, "max_limit": 0.4}, "300 ms", "claim: <= 400 ms"),
    ],
)
def test_the_summary_shows_the_figure_that_a_claim_of_latency_bounds(limits, figure, claim):
    figures = {"heartbeat_beside_p99": 0.003, "heartbeat_beside_max": 0.2, "echo_beside_max": 0.3, **limits}
    [*_, line] = summary([entry("tests/test_a.py::test_answers", check="latency", **figures)], width=120)
    assert f" {figure}  {claim} " in line.text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal_however_many_interpreters(width):
    records = [entry("t" * 300, "violated", version=f"3.{minor}.0", reason="x" * 500) for minor in range(5, 16)]
    text = tables.text(matrix(records), findings(conditions("violated"), records, []), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(f"3.{minor}.0" in text for minor in range(5, 16))
    assert max(len(line.text) for line in summary(records, width=width)) <= width


def test_plain_text_is_ascii():
    tables.text(matrix(RECORDS), width=40, plain=True).encode("ascii")


def test_escape_sequences_markup_and_formulas_are_removed_or_escaped():
    records = [entry(HOSTILE, "violated", reason=HOSTILE), entry("=1+1", reason="@SUM(A1)")]
    table = matrix(records)
    for text in (
        tables.text(table),
        *(line.text for line in summary(records)),
        tables.markdown(table),
        step_summary(table, records),
    ):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "<script>" not in tables.markdown(table).replace("`test_x", "").replace('<script>alert("\\|\'*")', "")
    rows = list(csv.reader(io.StringIO(tables.comma_separated(table))))
    assert rows[2][0] == "'=1+1"
    assert rows[2][-1] == "'@SUM(A1)"
    command = annotation(records[0] | {"reason": "a%b\r\n::error::c"}, "a,b:c.py", 3)
    assert "\n" not in command
    assert "a%252Cb" not in command
    assert command.startswith("::error file=a%2Cb%3Ac.py,line=3,")


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("a\x1b[31mb", "ab"),
        ("a\x9b1mb", "ab"),  # CSI as one C1 character
        ("a\x1b[?25l\x9b2;3 qb", "ab"),  # private parameters, intermediate bytes
        ("a\x1b]0;title\x07b", "ab"),  # a string of the operating system's, ended by BEL
        ("a\x1b]0;title\x1b\\b", "ab"),  # or by ST
        ("a\x9d0;title\x9cb", "ab"),  # the same as C1 characters
        ("a\x90device\x1b\\b", "ab"),
        ("a\x98start\x9cb\x9emessage\x9cc\x9fcommand\x9cd", "abcd"),
        ("a\x1b(Bb\x1bcc\x1b7d\x1bMe", "abcde"),  # sequences without parameters
        ("a\x85b\x8dc", "abc"),  # other C1 characters
        ("a\tb\nc", "a\tb\nc"),
        ("a\x9b", "a"),  # cut off
        ("a\x9d0;title", "a0;title"),  # without an end it is no string, and must not hide the rest
        ("a\x1b]0;title\nb\x07", "a0;title\nb"),
    ],
)
def test_a_terminals_commands_are_taken_out_whole(given, left):
    assert clean(given) == left


def test_markdown_is_one_table_with_as_many_cells_in_every_row():
    lines = [line for line in tables.markdown(matrix([*RECORDS, entry("a|b[c]")])).splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_csv_and_json_hold_every_check_on_every_interpreter():
    table = matrix(RECORDS)
    rows = list(csv.DictReader(io.StringIO(tables.comma_separated(table))))
    assert [(row["interpreter"], row["verdict"], row["figure"]) for row in rows] == [
        ("3.13.0", "violated", "speedup"),
        ("3.13.5t", "holds", "speedup"),
        ("3.13.0", "holds", "delivery_max"),
        ("3.13.5t", "inconclusive", "schedules"),
    ]
    document = json.loads(tables.as_json(table, findings(conditions("violated"), RECORDS, [])))
    assert document["mean_cost"][1]["ratio"] == pytest.approx(1.26)
    assert document["rows"][0]["changed"] is True
    assert [finding["condition"] for finding in document["findings"]] == ["violated"]


def test_the_summary_gives_reasons_of_what_does_not_hold_and_of_all_when_verbose():
    assert summary_title([*RECORDS, entry(verdict=None)]).startswith("gilcheck: 1 violated, 1 inconclusive, 2 holds, 1 measured")
    lines = [line.text for line in summary(RECORDS)]
    assert any(line.endswith(" the GIL") for line in lines)
    assert not any(line.strip() == "because" for line in lines)
    assert sum("r r r" in line for line in lines) == 2  # two lines at most
    verbose = [line.text for line in summary(RECORDS, verbose=True)]
    assert any("because" in line for line in verbose)
    assert sum("r r r" in line for line in verbose) > 2


def test_of_more_than_a_hundred_checks_those_that_hold_are_only_counted():
    many = [entry(f"t{number}") for number in range(200)] + [entry("bad", "violated")]
    lines = [line.text for line in summary(many)]
    assert lines[0].startswith("200 checks that hold")
    assert len(lines) == 3
    assert len(summary(many, verbose=True)) == 402


def test_a_check_that_does_not_hold_is_annotated_on_github():
    assert annotation(RECORDS[0], "tests/test_a.py", 7).startswith("::error file=tests/test_a.py,line=7,")
    assert annotation(RECORDS[3], "f.py", 1).startswith("::warning ")
    assert annotation(RECORDS[1], "f.py", 1) is None
    assert annotation(entry(verdict=None), "f.py", 1) is None
    assert "| test | 3.13.0 |" in step_summary(matrix([entry()]), [entry()])


def test_a_free_threaded_build_with_its_gil_on_is_a_column_of_its_own():
    assert "3.13.0t GIL on" in tables.text(matrix([entry(python=GIL_ON), entry(python=NO_GIL)]))


def test_a_violated_claim_is_annotated_unless_its_test_asserts_it():
    record = entry(verdict="violated")
    assert annotation(record | {"outcome": "failed"}, "test_it.py", 1).startswith("::error ")
    assert annotation(record | {"outcome": "passed"}, "test_it.py", 1) is None
    assert annotation(entry(verdict="inconclusive") | {"outcome": "passed"}, "test_it.py", 1).startswith("::warning ")


def test_of_more_than_a_hundred_checks_an_undecided_one_is_listed_with_its_reason():
    many = [entry(f"t{number}") for number in range(200)] + [entry("unknown", "inconclusive", reason="machine too busy")]
    lines = [line.text for line in summary(many)]
    assert "inconclusive" in lines[1]
    assert "unknown" in lines[1]
    assert "machine too busy" in lines[2]


def test_a_cost_is_marked_as_uncertain_only_if_the_builds_may_be_equally_fast():
    certain, uncertain = [1.3 * second for second in SECOND], [1.01 * second for second in SECOND]
    for seconds, mark in ((certain, ""), (uncertain, "~"), ([1.3], "~")):
        table = matrix([entry(one_thread=SECOND), entry(one_thread=seconds, python=NO_GIL)])
        assert f" {mark}{seconds[0] / 1.0:.2f}x slower" in tables.text(table, width=120)


def test_a_reason_or_name_with_a_bar_adds_no_cell_to_a_row_of_markdown():
    text = tables.markdown(matrix([entry("a|b", reason="c|d", check="e|f")]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"low": 1.2}, "at least 1.20"),
        ({"high": 1.5}, "at most 1.50"),
        ({"low": 0.0, "high": 1.5}, "at most 1.50"),
        ({"low": 1.2, "high": 1.5}, "1.20 to 1.50"),
        ({}, ""),
    ],
)
def test_a_bound_that_is_missing_is_not_made_up(figures, words):
    assert interval(entry(speedup=1.3, **figures)) == words
