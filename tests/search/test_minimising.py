"""Minimising, on programs that are written down."""

from random import Random

import pytest

from pytest_gilcheck.engine.outcome import Symptom
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.minimise import Minimising
from pytest_gilcheck.search.sampling import RandomWalk
from pytest_gilcheck.search.strategy import Proposal

from .written_runs import Written, before, counted, driven


def failing(written, seed=1):
    """The failure of a random walk, which switches at every other step."""
    draw = Random(seed)
    while True:
        ran = written.run(Proposal(RandomWalk(draw)))
        if ran.failure is not None and ran.failure.schedule.preemptions > 2:
            return ran.failure


def minimised(written, failure, account=None):
    account = account or counted(2_000)
    strategy = Minimising(failure, account, len(written.steps))
    return strategy, driven(strategy, written, account)


@pytest.mark.parametrize("seed", range(5))
def test_what_one_preemption_shows_ends_with_one_as_early_as_it_can_be(seed):
    written = Written(8, 8, fails=before((1, 8), (0, 3)))
    strategy, _ = minimised(written, failing(written, seed))
    assert strategy.best.schedule == Schedule((Choice(5, 1),)), "the first point is where the first thread begins"


def test_it_never_ends_at_another_symptom_although_that_takes_fewer_preemptions():
    def fails(order):
        one = before((1, 4), (0, 2))(order)
        again = before((1, 7), (0, 5))(order)
        return Symptom.INVARIANT if one and again else Symptom.DEADLOCK if one else False

    written = Written(8, 8, fails=fails)
    failure = failing(written)
    while failure.symptom is not Symptom.INVARIANT:
        failure = failing(written, seed=hash(failure.schedule) % 1000)
    strategy, _ = minimised(written, failure)
    assert strategy.best.symptom is Symptom.INVARIANT
    assert strategy.best.schedule.preemptions >= 2


def test_it_stops_at_the_end_of_its_account_with_the_best_so_far():
    written = Written(8, 8, fails=before((1, 8), (0, 3)))
    failure = failing(written)
    strategy, ran = minimised(written, failure, counted(3))
    assert ran <= 4  # what it has begun, it ends
    assert strategy.best.schedule.preemptions <= failure.schedule.preemptions
    untouched, ran = minimised(written, failure, counted(0))
    assert (untouched.best, ran) == (failure, 0)


def test_what_a_build_with_a_gil_can_show_is_not_made_one_that_it_cannot():
    def second_ends_within_first(order):
        return order.index((0, 2)) < order.index((1, 8)) < order.index((0, 8))

    written = Written(8, 8, fails=second_ends_within_first, reachable={6, 12})
    failure = written.plain(Schedule((Choice(6, 1),))).failure
    assert not failure.run.masked
    strategy, _ = minimised(written, failure)
    assert not strategy.best.run.masked
    assert {choice.point for choice in strategy.best.schedule.choices} <= {6, 12}


def test_the_same_failure_is_minimised_in_the_same_runs():
    runs = []
    for _ in range(2):
        written = Written(8, 8, fails=before((1, 8), (0, 3)))
        failure = failing(written)
        written.schedules.clear()
        minimised(written, failure)
        runs.append(list(written.schedules))
    assert runs[0] == runs[1]
