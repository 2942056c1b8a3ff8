import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gilcheck.scaling.statistics import changed_speed, high_outvoted, low_one_sided, low_outvoted
from tests.untimed import UNTIMED

speedups = st.lists(st.floats(0.1, 8), max_size=30)


@UNTIMED
@given(speedups)
def test_the_outvoted_low_bound_is_the_largest_that_wins_by_three(values):
    bound = low_outvoted(values)
    if bound is None:
        assert len(values) < 3
        return
    assert sum(v >= bound for v in values) - sum(v < bound for v in values) >= 3
    for larger in (v for v in values if v > bound):
        assert sum(v >= larger for v in values) - sum(v < larger for v in values) < 3


@UNTIMED
@given(speedups)
def test_the_high_bound_mirrors_the_low_one(values):
    low = low_outvoted([-v for v in values])
    assert high_outvoted(values) == (None if low is None else -low)


@UNTIMED
@given(speedups)
def test_the_one_sided_bound_is_reached_by_three_and_by_sixty_percent(values):
    bound = low_one_sided(values)
    if bound is None:
        assert len(values) < 3
        return
    reached = sum(v >= bound for v in values)
    assert reached >= 3
    assert reached >= 0.6 * len(values)


@UNTIMED
@given(speedups)
def test_low_never_exceeds_high(values):
    low, high = low_outvoted(values), high_outvoted(values)
    assert (low is None) == (high is None)
    assert low is None or high is None or low <= high


def test_one_wild_round_moves_no_bound():
    assert low_outvoted([1.9] * 9 + [0.1]) == 1.9
    assert high_outvoted([1.0] * 9 + [9.0]) == 1.0


@UNTIMED
@given(st.lists(st.floats(1, 1.4), min_size=4, max_size=20))
def test_steady_work_has_not_changed_speed(times):
    assert changed_speed(times, 1.5) is None


@pytest.mark.parametrize(("times", "factor"), [([1, 1, 2, 2], 2.0), ([4, 4, 1, 1], 0.25), ([1, 2, 1, 2], None), ([1, 9], None)])
def test_a_change_of_speed_is_one_that_every_round_shows(times, factor):
    assert changed_speed(times, 1.5) == factor
