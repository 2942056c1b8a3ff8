"""How many moments, and how many stalls, show something about a quantile."""

import random

import pytest

from pytest_gilcheck.latency.bounds import fewest_events, least_moments, shows_beyond, shows_within


def test_299_moments_without_a_late_one_show_a_p99_and_298_do_not():
    assert shows_within(299, 0, 0.01)
    assert not shows_within(298, 0, 0.01)
    assert not shows_within(0, 0, 0.01)


@pytest.mark.parametrize(("late", "least"), [(0, 299), (1, 473), (2, 628)])
def test_each_late_moment_takes_more_moments_to_outweigh(late, least):
    assert not shows_within(least - 1, late, 0.01)
    assert shows_within(least, late, 0.01)
    assert least_moments(late, 0.01) == pytest.approx(least, abs=4)


def test_a_thousandth_too_late_is_shown_within_and_a_tenth_is_not():
    assert shows_within(100_000, 100, 0.01)
    assert not shows_within(100_000, 10_000, 0.01)


def test_the_fewest_events_are_the_textbooks():
    assert [round(fewest_events(seen), 2) for seen in (1, 2, 3, 10)] == [0.05, 0.36, 0.82, 5.43]


def test_one_stall_shows_nothing_however_long():
    assert not shows_beyond(400, 390, 1, 0.01)
    assert shows_beyond(400, 390, 2, 0.01)


def test_stalls_that_add_up_to_less_than_the_share_show_nothing():
    assert not shows_beyond(1000, 9, 9, 0.01)
    assert not shows_beyond(1000, 12, 12, 0.01)
    assert shows_beyond(1000, 30, 12, 0.01)


def test_a_true_share_of_a_hundredth_is_called_beyond_less_than_one_time_in_twenty():
    drawn = random.Random(7)
    wrong = sum(
        shows_beyond(1000, late, late, 0.01) for late in (sum(drawn.random() < 0.01 for _ in range(1000)) for _ in range(400))
    )
    assert wrong <= 0.05 * 400
