"""The enumeration by preemptions, on programs that are written down."""

from itertools import permutations

import pytest

from pytest_gilcheck.engine.running.record import ScheduleRun
from pytest_gilcheck.engine.schedule import Choice
from pytest_gilcheck.search.enumeration import Enumeration, forced_alternatives
from pytest_gilcheck.search.ledger import Account
from pytest_gilcheck.search.outcome import SearchOutcome
from pytest_gilcheck.search.strategy import How, MoreSteps

from ..fuzz.programs import Clock
from .written_runs import STEP, Written, before, counted, driven


def enumerated(written, account=None, **how):
    found = SearchOutcome(threads=len(written.steps), wanted=how.get("preemptions", 2))
    part = Enumeration(written, account or counted(10_000), found, How(**{"sampling": False} | how))
    ran = driven(part, written, part.account)
    assert ran == found.explored
    return found, part


def test_all_orders_of_two_threads_of_two_steps_are_run_once_each():
    orders = set()
    written = Written(2, 2, fails=lambda order: orders.add(tuple(order)))
    found, part = enumerated(written, preemptions=4)
    assert orders == {tuple(order) for order in permutations([(0, 1), (0, 2), (1, 1), (1, 2)]) if rising(order)}
    assert (found.everything, part.more) == (True, False)
    assert len(set(written.schedules)) == len(written.schedules)


def test_where_a_thread_cannot_go_on_each_of_the_others_is_tried_once():
    run = ScheduleRun(recording=True)
    run.forks = [(2, (0, 1), 0, ()), (5, (1, 2, 3), 2, (4,))]
    run.choices = [(Choice(2, 0, True), STEP, None, False), (Choice(5, 2, True), STEP, None, False)]
    tried = [[(choice.point, choice.thread) for choice in each.choices] for each in forced_alternatives(run, 2)]
    assert tried == [[(2, 0), (5, 1)], [(2, 0), (5, 3)], [(2, 0), (5, 4)]], "the choices up to point 2 are those of the schedule"
    assert list(forced_alternatives(run, 5)) == []


def rising(order):
    return all(order.index((thread, 1)) < order.index((thread, 2)) for thread in (0, 1))


def test_the_fewest_preemptions_come_first_and_a_failure_ends_it():
    written = Written(4, 4, fails=before((1, 4), (0, 2)))
    found, _ = enumerated(written)
    assert found.failure.schedule.preemptions == 1
    assert [schedule.preemptions for schedule in written.schedules] == sorted(s.preemptions for s in written.schedules)
    assert found.complete == 0


def test_a_fixed_program_is_complete_up_to_the_preemptions_asked_for():
    found, part = enumerated(Written(5, 5), preemptions=1)
    assert (found.complete, found.failure, found.everything, part.more) == (1, None, False, False)


def test_it_ends_at_the_number_of_schedules_and_says_that_some_are_left():
    found, part = enumerated(Written(9, 9), counted(20))
    assert found.explored == 20
    assert part.more


def test_what_does_not_fit_is_left_to_samples_but_some_of_it_is_drawn():
    found, part = enumerated(Written(40, 40), counted(60), sampling=True)
    assert part.more
    assert found.complete == 0
    assert 0 < found.sampled <= 0.4 * 60 + 1


def test_a_search_by_time_runs_a_level_in_a_drawn_order_and_counts_what_was_run_of_it_as_samples():
    clock = Clock()
    written = Written(8, 8)
    run = written.run

    def timed(proposal):
        clock.now += 0.01 if len(written.proposals) < 45 else 0.5
        return run(proposal)

    written.run = timed
    found, part = enumerated(written, Account(clock.now + 4.0, now=clock), sampling=True)
    assert part.more
    assert found.sampled > 5
    assert (found.complete, found.enumerated) == (1, found.exhausted)


def test_each_of_three_shares_runs_other_schedules_and_together_all():
    runs = []
    for which in range(3):
        written = Written(4, 4)
        enumerated(written, preemptions=1, share=(which, 3))
        runs.append({schedule for schedule in written.schedules if schedule.preemptions})
    whole = Written(4, 4)
    enumerated(whole, preemptions=1)
    assert set.union(*runs) == {schedule for schedule in whole.schedules if schedule.preemptions}
    assert sum(map(len, runs)) == len(set.union(*runs))


def test_more_visible_steps_make_it_void():
    written = Written(4, 4)
    written.new_steps_after = 5
    with pytest.raises(MoreSteps):
        enumerated(written)
    assert len(written.proposals) == 6


def test_only_points_of_a_build_with_a_gil_are_preempted_if_that_is_asked():
    written = Written(6, 6, reachable={3, 9})
    found, _ = enumerated(written, gil=True)
    points = {choice.point for schedule in written.schedules for choice in schedule.choices if not choice.forced}
    assert points <= {3, 9}
    assert found.complete == 2
