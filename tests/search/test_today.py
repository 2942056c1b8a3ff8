"""What is likely to show that a failure breaks on a build with a GIL, on programs that are written down."""

import pytest

from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.ledger import LIKELY_TODAY
from pytest_gilcheck.search.today import LikelyToday, where_a_gil_switches

from .written_runs import Written, counted, driven


def between(order):
    """The second thread comes between the third step of the first one and its seventh."""
    return order.index((0, 3)) < order.index((1, 1)) < order.index((0, 7))


def likely(written, *choices):
    failure = written.plain(Schedule(choices)).failure
    assert failure.run.masked
    strategy = LikelyToday(failure)
    return strategy, driven(strategy, written, counted(1000))


@pytest.mark.parametrize("point", [5, 7])
def test_a_switch_is_moved_to_the_points_of_such_a_build_before_it_and_after_it(point):
    strategy, ran = likely(Written(9, 2, fails=between, reachable={point, 2, 10}), Choice(6, 1))
    assert strategy.failure.schedule == Schedule((Choice(point, 1),))
    assert not strategy.failure.run.masked
    assert ran <= 3


def test_what_such_a_build_never_interrupts_there_is_not_found():
    strategy, ran = likely(Written(9, 2, fails=between, reachable={2, 3, 9, 10}), Choice(6, 1))
    assert strategy.failure is None
    assert ran == 3


def test_of_many_switches_few_schedules_are_tried():
    choices = [Choice(point, point % 2) for point in range(5, 40)]
    written = Written(30, 30, fails=lambda order: True, reachable=set(range(2, 60, 3)))
    run = written.plain(Schedule(tuple(choices))).run
    written.fails = lambda order: len(written.proposals) == 1
    strategy = LikelyToday(type("F", (), {"schedule": run.schedule, "run": run})())
    assert driven(strategy, written, counted(1000)) <= 1 + LIKELY_TODAY


def test_choices_that_such_a_build_can_make_stay_as_they_are():
    written = Written(9, 9, reachable={4, 12})
    schedule = Schedule((Choice(1, 1, True), Choice(4, 0), Choice(8, 1)))
    run = written.plain(schedule).run
    assert run.schedule == schedule
    assert list(where_a_gil_switches(schedule, run)) == [Schedule((Choice(1, 1, True), Choice(4, 0), Choice(12, 1)))]
