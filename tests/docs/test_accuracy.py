"""The page on accuracy shows the stored figures, and a figure that moved is noticed."""

import subprocess
import sys

import pytest

from benchmarks import accuracy
from benchmarks.accuracy import MISSING, MOVED, PAGE, ROOT, UNMOVED, compared, interpreter, measurements, renewed

SPEED = {
    "date": "2026-11-26",
    "columns": ["Python", "mode", "a second", "found", "peer"],
    "rows": [["3.13", "walk", 4143, "7 of 7", "none"], ["3.13", "sweep", 8206, "7 of 7", ""], ["3.11", "walk", 1, "0 of 7", ""]],
    "reads": {"a second": r"^\| {mode} \| ([\d,]+) \|", "found": r"^(\d+) of \d+ found"},
    "moves": {"a second": "10%"},
}  # fmt: skip
OUTPUT = "| mode | a second |\n| walk | 4,200 |\n| sweep | {sweep} |\n\n{found} of 7 found\n"


def outcomes(output, python="3.13", **changed):
    return [said for said, _ in compared(SPEED | changed, output, python)]


def test_figures_within_what_they_may_differ_by_have_not_moved():
    assert outcomes(OUTPUT.format(sweep="8,206", found=7)) == [UNMOVED] * 4


def test_figures_beyond_it_have_moved():
    assert outcomes(OUTPUT.format(sweep="7,000", found=6)) == [UNMOVED, MOVED, MOVED, MOVED]


@pytest.mark.parametrize(
    ("output", "changed"), [("", {}), (OUTPUT, {"reads": {"peer": "(none)"}}), (OUTPUT, {"rows": [["3.12", "walk", 1, 1, ""]]})]
)
def test_what_was_not_printed_or_not_stored_counts_as_not_compared(output, changed):
    assert set(outcomes(output, **changed)) == {MISSING}


def test_a_measurement_without_patterns_is_compared_by_hand():
    assert outcomes(OUTPUT, reads={}) == [MISSING]
    assert [said for said, _ in compared({"rows": [["3.13", 1]], "date": ""}, "", "3.13")] == [MISSING]


def test_numbers_of_several_rows_are_added():
    assert accuracy.read(r"^\| \w+ \| (\d+) \| (\d+) \|", {}, "| a | 1 | 2 |\n| b | 3 | 4 |") == 10


def test_the_tables_of_the_page_are_those_of_the_stored_figures():
    assert PAGE.read_text() == renewed(PAGE.read_text()), "python benchmarks/accuracy.py --write makes them anew"


def test_a_figure_that_somebody_has_changed_by_hand_is_noticed():
    changed = PAGE.read_text().replace("|442|", "|443|")
    assert changed != PAGE.read_text() == renewed(changed)


@pytest.mark.parametrize("name", measurements())
def test_each_measurement_names_a_benchmark_and_columns_that_exist(name):
    measurement = measurements()[name]
    columns = accuracy.columns_of(measurement)
    assert (ROOT / measurement["command"].split()[0]).is_file()
    assert all(len(row) == len(columns) for row in measurement["rows"])
    assert {*measurement.get("reads", {}), *measurement.get("moves", {})} <= set(columns)


def test_a_benchmark_runs_on_this_interpreter_in_the_repository():
    assert "usage: idle_cost.py" in accuracy.run("benchmarks/idle_cost.py --help")


@pytest.mark.parametrize(("printed", "status"), [("1.02", 0), ("1.20", 1), (None, 3)])
def test_the_exit_status_tells_moved_from_not_compared(tmp_path, printed, status):
    file = tmp_path / "output"
    file.write_text(f"5000 tests, 11 pairs: median ratio {printed} (min 1.000, max 1.030), +9 ms" if printed else "")
    command = [sys.executable, "benchmarks/accuracy.py", "--only", "cost", "--output", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    expected = status if interpreter() == "3.13" else 3  # no other one has a stored figure
    assert done.returncode == expected, done.stdout + done.stderr
