import math

import pytest

from pytest_gilcheck.report.matrix import cost, matrix, median_bounds
from pytest_gilcheck.report.words import short_figure

from .records import GIL_ON, NO_GIL, entry

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


def test_columns_are_interpreters_and_rows_are_checks():
    table = matrix(
        [
            entry("a"),
            entry("a", python=NO_GIL),
            entry("b", python=GIL_ON),
            entry("a", number=2),
            entry("a", check="fuzz", python={"implementation": "PyPy"}),
        ]
    )
    assert [column.label for column in table.columns] == ["3.13.0", "3.13.0t", "3.13.0t GIL on", "PyPy 3.13.0"]
    assert [(row.name, row.check) for row in table.rows] == [("a", "scaling"), ("b", "scaling"), ("a #2", "scaling"), ("a", "fuzz")]
    assert [cell is not None for cell in table.rows[0].cells] == [True, True, False, False]


def test_ordered_columns_go_by_version_then_build():
    records = [entry(version="3.13.2", python=NO_GIL), entry(version="3.9.1"), entry(version="3.13.10"), entry(version="3.13.2")]
    assert [column.label for column in matrix(records, ordered=True).columns] == ["3.9.1", "3.13.2", "3.13.2t", "3.13.10"]


def test_two_files_of_one_interpreter_are_one_column_unless_they_know_the_same_test():
    shards = matrix([entry("a", file="1.json"), entry("b", file="2.json")])
    assert [column.label for column in shards.columns] == ["3.13.0"]
    runs = matrix([entry("a", file="old.json"), entry("a", "violated", file="new.json")])
    assert [column.label for column in runs.columns] == ["3.13.0 (old.json)", "3.13.0 (new.json)"]
    assert runs.rows[0].changed


def test_of_duplicates_in_one_file_the_newest_counts_and_the_others_are_counted():
    newer = entry("a", "violated", recorded="2026-11-22T00:00:00Z")
    table = matrix([newer, entry("a")])
    assert (table.rows[0].verdicts, table.replaced) == (["violated"], 1)


def test_a_verdict_that_is_the_same_everywhere_is_no_change():
    assert not matrix([entry(), entry(python=NO_GIL)]).rows[0].changed
    assert matrix([entry(), entry(verdict="inconclusive", python=NO_GIL)]).rows[0].changed


def test_the_cost_of_a_slower_build_is_the_ratio_of_the_medians_with_bounds():
    slow = cost(entry(one_thread=[1.3 * s for s in SECOND]), entry(one_thread=SECOND))
    assert slow.ratio == pytest.approx(1.3)
    assert 1.2 < slow.low < 1.3 < slow.high < 1.4


def test_a_machine_that_was_slower_meanwhile_widens_the_cost_instead_of_being_blamed_on_the_build():
    def of(seconds, yardstick):
        return entry(one_thread=seconds, yardstick_before=yardstick, yardstick_after=yardstick)

    slow = cost(of([1.3 * s for s in SECOND], 1.3e-4), of(SECOND, 1e-4))
    assert slow.low < 1 < slow.high
    assert cost(of([1.3 * s for s in SECOND], 1e-4), of(SECOND, 1e-4)).low > 1.2


def test_too_few_figures_have_no_bounds():
    only = cost(entry(one_thread=[1.0, 1.1]), entry(one_thread=SECOND))
    assert (only.low, only.high) == (None, None)
    assert cost(entry(call_seconds=2.0), entry(call_seconds=1.0)).ratio == 2
    assert cost(entry(), entry(one_thread=SECOND)) is None


def test_the_mean_cost_is_geometric_and_over_tests_that_have_one():
    records = [entry("a", one_thread=SECOND), entry("b", one_thread=SECOND), entry("c")]
    records += [entry("a", one_thread=[2 * s for s in SECOND], python=NO_GIL), entry("c", python=NO_GIL)]
    records += [entry("b", one_thread=[8 * s for s in SECOND], python=NO_GIL)]
    table = matrix(records)
    assert table.mean_cost(0) is None
    assert table.mean_cost(1) == (pytest.approx(4), 2)


def test_another_reference_is_chosen_by_its_label_and_one_that_is_not_there_is_refused():
    records = [entry(one_thread=SECOND), entry(one_thread=[2 * s for s in SECOND], python=NO_GIL)]
    table = matrix(records, reference="3.13.0t")
    assert table.rows[0].cells[0].cost.ratio == pytest.approx(0.5)
    with pytest.raises(LookupError, match=r"3\.13\.0, 3\.13\.0t"):
        matrix(records, reference="3.14")


def test_a_reference_may_be_named_without_its_patch_release_unless_several_interpreters_have_that_name():
    newer = {**NO_GIL, "version": "3.13.5"}
    records = [entry(one_thread=SECOND), entry(one_thread=SECOND, python=NO_GIL)]
    assert matrix(records, reference="3.13t").reference == 1
    assert matrix(records, reference="3.13").reference == 0
    with pytest.raises(LookupError):
        matrix([*records, entry(one_thread=SECOND, python=newer)], reference="3.13t")


@pytest.mark.parametrize("n", [6, 9, 20, 41])
def test_the_bounds_of_a_median_miss_it_in_at_most_a_twentieth_of_all_samples(n):
    low, high = median_bounds(range(n))
    outside = 2 * sum(math.comb(n, k) for k in range(low + 1)) / 2**n  # exact: the median is beyond the bound
    assert outside <= 0.05
    narrower = 2 * sum(math.comb(n, k) for k in range(low + 2)) / 2**n
    assert narrower > 0.05
    assert (low, high) == (low, n - 1 - low)


def test_five_figures_bound_no_median():
    assert median_bounds(range(5)) is None


@pytest.mark.parametrize("junk", [["x", None, math.inf, -1, True], "text", {"a": 1}])
def test_a_time_that_is_not_a_positive_number_is_ignored(junk):
    assert cost(entry() | {"details": {"one_thread": junk}}, entry(one_thread=SECOND)) is None


def test_two_runs_whose_workers_shared_the_tests_are_two_columns():
    def run(file):
        return [entry(f"t{n}", file=file) | {"worker": f"gw{(n + len(file)) % 2}"} for n in range(6)]

    assert [column.file for column in matrix(run("a.json") + run("bb.json")).columns] == ["a.json", "bb.json"]
    each = [entry("t", file="a.json") | {"worker": worker} for worker in ("gw0", "gw1")]
    assert [column.file for column in matrix(each).columns] == ["gw0", "gw1"]


def test_many_figures_have_bounds_too_and_those_are_nearly_the_exact_ones():
    low, high = median_bounds(range(100_000))
    assert 49_600 < low < 49_700 < 50_300 < high < 50_400
    exact, near = median_bounds(range(500)), median_bounds(range(501))
    assert abs(exact[0] - near[0]) <= 2
    assert abs(exact[1] - near[1]) <= 2


def test_an_impossible_time_gives_no_cost():
    for time in (10**400, 1e300, 5e-324):
        assert cost(entry(one_thread=[time] * 8), entry(one_thread=[1.0] * 8)) is None


def test_a_yardstick_that_explains_a_difference_makes_its_bounds_wider_and_never_narrower():
    def of(factor, yardstick):
        return entry(one_thread=[factor * s for s in SECOND], yardstick_before=yardstick, yardstick_after=yardstick)

    plain = cost(of(1.3, 1.0), of(1.0, 1.0))
    for yardstick in (0.7, 1.3):
        found = cost(of(1.3, yardstick), of(1.0, 1.0))
        assert found.low <= plain.low
        assert found.high >= plain.high


def test_a_table_calls_runs_of_a_search_runs_because_its_reason_counts_the_schedules_alone():
    assert short_figure({"check": "fuzz", "verdict": "holds", "figures": {"schedules": 207}}) == "207 runs"
