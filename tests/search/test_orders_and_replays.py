"""Sequential orders that failed as the baseline, and replays, on programs that are written down."""

from pytest_gilcheck.engine.outcome import Symptom
from pytest_gilcheck.engine.schedule import Schedule
from pytest_gilcheck.search.failing_orders import FailingOrders
from pytest_gilcheck.search.replays import Replays

from .written_runs import Written, counted, driven


def second_first(order):
    return order[0][0] == 1


def test_an_order_that_fails_again_is_a_failure_without_preemption_and_only_its_schedule_counts():
    written = Written(2, 2, fails=second_first)
    orders = FailingOrders([(1, 0)])
    assert driven(orders, written, counted(10)) == 1
    assert orders.failure.schedule.preemptions == 0
    assert orders.failed == 1


def test_an_order_that_passes_now_or_hangs_is_none():
    for fails in (lambda order: False, lambda order: Symptom.HANGS):
        orders = FailingOrders([(0, 1), (1, 0)])
        assert driven(orders, Written(2, 2, fails=fails), counted(10)) == 0
        assert orders.failure is None


def test_a_schedule_is_replayed_so_often_and_each_outcome_is_kept():
    outcomes = iter([True, False, True, True])
    written = Written(2, 2, fails=lambda order: next(outcomes))
    replays = Replays(Schedule(), 4, over=lambda: False)
    driven(replays, written, counted(1))
    assert [failure is not None for failure in replays.failures] == [True, False, True, True]


def test_without_time_it_is_replayed_once():
    replays = Replays(Schedule(), 10, over=lambda: True)
    assert driven(replays, Written(2, 2), counted(100)) == 1
