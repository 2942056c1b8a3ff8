"""The text table of a probe."""

import pytest

from pytest_gilcheck.probe import published
from pytest_gilcheck.probe.result import BYTES, RATE, RATIO, SECONDS, Figure, ProbedInterpreter
from pytest_gilcheck.probe.rows import GROUPS
from pytest_gilcheck.probe.table import shown, table

FACTS = {"implementation": "CPython", "version": "3.13.0", "free_threaded_build": False, "gil": True}


def column(version="3.13.0", **figures):
    return ProbedInterpreter("python", {**FACTS, "version": version}, figures)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure.median_of([0.9, 0.92, 1.0], RATIO), "0.92x 0.90..1.00"),
        (Figure.median_of([2.0, 2.0], RATIO), "2.00x"),
        (Figure.median_of([0.0051, 0.005, 0.1], SECONDS), "5.10 ms 5.00..100"),
        (Figure(32e-9, SECONDS), "32.0 ns"),
        (Figure(0.0, SECONDS), "0.00 ns"),
        (Figure(1.27, SECONDS, note="the operation took 1.5 s"), "1.27 s"),
        (Figure(17000, BYTES), "16.6 KiB"),
        (Figure(599.6, RATE), "600/s"),
        (Figure.of_text("5 ms"), "5 ms"),
        (Figure.missing("it is gone"), ""),
    ],
)
def test_a_figure_has_its_unit_and_three_digits(figure, text):
    assert shown(figure) == text


def test_columns_that_do_not_fit_follow_below():
    columns = [column(f"3.{minor}.0") for minor in range(6)]
    narrow, wide = table(columns, 100), table(columns, 250)
    assert max(map(len, narrow.splitlines())) <= 132
    assert narrow.count("Counting down twice") > wide.count("Counting down twice") == 1
    assert all(one.label in narrow for one in columns)


@pytest.mark.parametrize("width", [20, 80, 132, 200])
def test_no_line_of_figures_is_wider_than_the_terminal_unless_one_column_does_not_fit(width):
    lines = table([column(), column()], width).splitlines()
    assert max(map(len, lines)) <= max(width, 80)


def test_a_long_note_becomes_one_footnote_and_a_short_one_stays_in_its_cell():
    why = "it exited with status 9 during the experiment; its last output: 'something very long that no cell can hold'"
    text = table([column(count=Figure.missing(why), json=Figure.missing(why), sleep=Figure.missing("it is gone"))], 160)
    assert " ".join(text.split()).count(why) == 1
    assert text.count("none [1]") == 2
    assert "it is gone" in text


def test_every_published_figure_has_a_source_in_the_table():
    every = [one for group in GROUPS for row in group.rows for one in row.published]
    assert every
    assert {one.source for one in every} <= published.SOURCES.keys()
    text = table([column()], 160)
    assert all(source in text for source in published.SOURCES.values())
