"""Which schedules of first runs are run, and what is said of them, with runs that are written down."""

from dataclasses import replace

import pytest

from pytest_gilcheck.engine.running.policy import Planned
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.engine.summary import RunSummary
from pytest_gilcheck.search.first_runs import FirstRuns, KnownSchedules
from pytest_gilcheck.search.ledger import Ledger
from pytest_gilcheck.search.plan import EXHAUSTIVE, FuzzPlan
from pytest_gilcheck.search.sampling import PartialOrder

from .written import COUNTER, LIST, reads, run, writes

PREEMPTED = Schedule((Choice(2, 1),))


class Written:
    """An executor whose runs all do the same, but those that are said to fail, or to end their process."""

    def __init__(self, *transitions, fails=(), dies=()):
        self._summary, self._fails, self._dies = run(*transitions), fails, dies
        self.followed = []

    def run(self, how, want):
        schedule = how._schedule if isinstance(how, Planned) else Schedule()
        self.followed.append(schedule)
        if schedule in self._dies:
            return None
        if schedule in self._fails:
            return RunSummary(schedule, symptom="invariant", message="it is broken")
        return replace(self._summary, schedule=schedule)


RACE = [(0, reads(COUNTER)), (0, writes(COUNTER)), (1, reads(COUNTER)), (1, writes(COUNTER))]
NO_RACE = [(0, reads(COUNTER)), (0, writes(COUNTER)), (1, reads(LIST)), (1, writes(LIST))]


def searched(executor, doubt="", **of):
    """The search, and the schedules that it says have failed."""
    first_runs = FirstRuns(executor, (0, 0), FuzzPlan(**{"schedules": 200, **of}), Ledger(600.0), doubt)
    return first_runs, list(first_runs.failing({0: 2, 1: 2}, 4))


def test_a_schedule_that_turns_a_conflict_round_is_run_before_others_and_its_failure_is_told():
    executor = Written(*RACE, fails=[PREEMPTED])
    _, failing = searched(executor)
    assert failing[0] == PREEMPTED
    assert executor.followed[:2] == [Schedule(), PREEMPTED]


@pytest.mark.parametrize("transitions", [RACE, NO_RACE])
def test_if_all_is_known_and_no_conflict_is_left_only_samples_follow(transitions):
    executor = Written(*transitions)
    first_runs, failing = searched(executor)
    assert failing == []
    assert first_runs.settled
    assert not first_runs.all_with_one
    assert executor.followed.count(Schedule()) >= 60, "of samples"
    assert first_runs.runs < 100
    assert "leave no conflict untried that was seen, and 60 samples: no failure" in first_runs.claim


def test_a_sample_of_which_not_all_is_known_leaves_no_claim():
    class Unknown(Written):
        def run(self, how, want):
            did = super().run(how, want)
            return did if want.touched or not isinstance(how, PartialOrder) else replace(did, known=False)

    first_runs, _ = searched(Unknown(*RACE))
    assert first_runs.settled
    assert not first_runs.claim


def test_a_sample_that_fails_is_told_although_no_conflict_is_left():
    class Samples(Written):
        def run(self, how, want):
            did = super().run(how, want)
            return RunSummary(PREEMPTED, symptom="invariant") if isinstance(how, PartialOrder) else did

    _, failing = searched(Samples(*NO_RACE))
    assert failing
    assert set(failing) == {PREEMPTED}


def test_without_a_failure_and_in_doubt_all_with_one_preemption_are_run_and_then_samples_up_to_the_number_asked_for():
    executor = Written(*NO_RACE)
    first_runs, failing = searched(executor, "time plays a part")
    assert failing == []
    assert {Schedule((Choice(point, 1),)) for point in (1, 2)} <= set(executor.followed)
    assert first_runs.all_with_one
    assert not first_runs.settled
    assert first_runs.runs == len(executor.followed) >= 100
    assert "all with at most one preemption among them: no failure" in first_runs.claim


@pytest.mark.parametrize("plan", [{"schedules": 40}, {"mode": EXHAUSTIVE}, {"share": (0, 2)}])
def test_nothing_is_claimed_of_too_few_or_of_a_share(plan):
    first_runs, _ = searched(Written(*NO_RACE), **plan)
    assert not first_runs.claim


def test_nothing_is_claimed_if_a_run_has_ended_its_process():
    first_runs, failing = searched(Written(*NO_RACE, dies=[Schedule((Choice(1, 1),))]), "time plays a part")
    assert failing == []
    assert not first_runs.claim


def test_schedules_with_one_preemption_are_all_known_only_if_each_run_has_said_what_branches_off():
    known = KnownSchedules()
    assert not known.complete, "nothing was run"
    known.add(Schedule(), RunSummary(points=2, spans=[(1, 0, (1,))]), gil=False)
    assert [known.next(), known.next(), known.next()] == [Schedule((Choice(1, 1),)), Schedule((Choice(2, 1),)), None]
    assert known.complete
    known.add(Schedule((Choice(1, 1),)), None, gil=False)  # its process has died
    assert not known.complete


@pytest.mark.parametrize(("pace", "recorded"), [(1.0, False), (9_000.0, True)])
def test_where_time_is_short_each_run_is_recorded_if_that_takes_hardly_longer(pace, recorded):
    wants = []

    class Slow(Written):
        def run(self, how, want):
            wants.append(want)
            return replace(super().run(how, want), seconds=10_000.0)  # as it says

    first_runs = FirstRuns(Slow(*RACE), (0, 0), FuzzPlan(), Ledger(600.0))
    first_runs.pace = pace
    assert not list(first_runs.failing({0: 2, 1: 2}, 4))
    assert wants[1].touched is recorded


def test_after_a_record_that_gave_up_only_all_schedules_with_one_preemption_are_a_claim():
    class GivesUp(Written):
        def run(self, how, want):
            did = super().run(how, want)
            return replace(did, doubt="no time", touched=replace(did.touched, gave_up=True)) if want.touched else did

    first_runs, failing = searched(GivesUp(*RACE))
    assert not failing
    assert not first_runs.settled
    assert "all with at most one preemption" in first_runs.claim
    first_runs.all_with_one = False
    assert not first_runs.claim
