"""Samples, and the test after the stopping rule, on programs that are written down."""

import pytest

from pytest_gilcheck.search import ledger
from pytest_gilcheck.search.ledger import FEWEST, Account
from pytest_gilcheck.search.outcome import SearchOutcome
from pytest_gilcheck.search.samples import Samples, StoppingTest
from pytest_gilcheck.search.sampling import Priorities
from pytest_gilcheck.search.strategy import How, MoreSteps

from ..fuzz.programs import Clock
from .written_runs import Written, before, counted, driven


def sampled(written, account, kind=Samples, found=None, **how):
    found = found or SearchOutcome(threads=2)
    part = kind(written, account, found, How(**how), [written.plain().run])
    ran = driven(part, written, account)
    assert ran == found.sampled
    return found, part


def test_samples_go_on_to_the_end_of_the_account_and_no_further():
    found, _ = sampled(Written(5, 5), counted(37))
    assert found.sampled == 37


def test_the_same_seed_draws_the_same_schedules_and_another_seed_others():
    drawn = []
    for seed in (1, 1, 2):
        written = Written(6, 6)
        sampled(written, counted(40), seed=seed)
        drawn.append(written.schedules)
    assert drawn[0] == drawn[1] != drawn[2]


def test_another_share_draws_other_schedules():
    drawn = []
    for which in range(2):
        written = Written(6, 6)
        sampled(written, counted(40), share=(which, 2))
        drawn.append(written.schedules)
    assert drawn[0] != drawn[1]


def test_a_failure_ends_it_and_the_fixed_program_has_none():
    found, _ = sampled(Written(5, 5, fails=before((1, 3), (0, 2))), counted(1000), seed=3)
    assert found.failure is not None
    assert found.sampled < 1000
    assert sampled(Written(5, 5), counted(100))[0].failure is None


def test_by_time_the_first_ones_switch_seldom_because_only_their_number_bounds_what_was_missed():
    clock = Clock()
    written = Written(5, 5)
    run = written.run

    def timed(proposal):
        clock.now += 0.01
        return run(proposal)

    written.run = timed
    sampled(written, Account(clock.now + 2.0, now=clock))
    kinds = [isinstance(proposal.policy, Priorities) for proposal in written.proposals]
    assert all(kinds[:FEWEST])
    assert not all(kinds[FEWEST:])


def test_a_brief_search_ends_with_enough_for_a_claim():
    clock = Clock()
    found, _ = sampled(Written(5, 5), Account(clock.now + 9e9, now=clock), brief_after=0.0)
    assert FEWEST <= found.sampled < FEWEST + 10


def test_samples_on_a_build_with_a_gil_ask_the_policy_only_where_that_switches():
    written = Written(5, 5)
    sampled(written, counted(10), gil=True)
    assert all(proposal.gil_only for proposal in written.proposals)


@pytest.mark.parametrize(("independent", "samples"), [(False, ledger.AFTER_CONFLICTS), (True, ledger.AFTER_INDEPENDENCE)])
def test_when_no_conflict_is_left_so_many_samples_follow(independent, samples):
    found, part = sampled(Written(5, 5), counted(1000), StoppingTest, SearchOutcome(independent=independent))
    assert found.sampled == samples
    assert part.same


def test_of_a_long_program_that_shares_nothing_there_are_few():
    found, _ = sampled(Written(3000, 3000), counted(1000), StoppingTest, SearchOutcome(independent=True))
    assert found.sampled == ledger.TESTED_POINTS // 6000


def test_a_sample_that_takes_another_path_refutes_that_nothing_is_shared():
    written = Written(5, 5)
    part = StoppingTest(written, counted(1000), SearchOutcome(independent=True), How(), [written.plain().run])
    written.steps = (5, 6)
    driven(part, written, part.account)
    assert not part.same


def test_more_visible_steps_make_the_test_void():
    written = Written(5, 5)
    written.new_steps_after = 2
    with pytest.raises(MoreSteps):
        sampled(written, counted(1000), StoppingTest)
