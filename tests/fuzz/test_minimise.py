"""The minimal failing schedule: the same failure, with its preemptions as early as they can be."""

import threading
from functools import partial
from itertools import count, islice
from random import Random
from time import monotonic

import pytest

from pytest_gilcheck.engine.outcome import Symptom
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.ledger import limited
from pytest_gilcheck.search.minimise import minimised
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.sampling import RandomWalk


class Phases:
    def __init__(self):
        self.phase = 0
        self.other = 0
        self.seen = None


def explored(*threads, invariant=None, setup=Phases):
    return explorer_for(Program(threads, setup, invariant), FuzzPlan(), lambda label: None)


def few_runs():
    return limited(monotonic() + 600, 300)


def test_minimising_never_ends_at_another_symptom_although_that_takes_fewer_preemptions():
    def advance(state):
        for phase in (1, 2, 3):
            state.phase = phase

    def look_twice(state):
        first, second = state.phase, state.phase
        if first == second == 1:
            raise LookupError("one preemption is enough for this")
        state.seen = first, second

    with explored(advance, look_twice, invariant=lambda state: state.seen is None or state.seen[0] != 1) as explorer:
        explorer.sequential()
        walk = RandomWalk(Random(1))
        failures = (explorer.once(walk)[1] for _ in count())
        failure = next(one for one in failures if one is not None and one.symptom is Symptom.INVARIANT)
        smaller = minimised(explorer, failure, few_runs())
    assert smaller.symptom is Symptom.INVARIANT
    assert smaller.schedule.preemptions == 2


def test_each_preemption_is_moved_to_the_first_point_at_which_it_fails():
    def advance(state):
        state.other = 1
        state.phase = 1
        for number in range(5):
            state.other = number
        state.phase = 0

    def check(state):
        assert state.phase == 0

    with explored(advance, check) as explorer:
        [run, *_] = explorer.sequential()
        schedules = [Schedule((Choice(point, 1),)) for point in range(1, run.points + 1)]
        failing = [failure for schedule in schedules if (failure := explorer.follow(schedule)[1]) is not None]
        assert len(failing) > 3
        smaller = minimised(explorer, failing[-1], few_runs())
    assert smaller.schedule == failing[0].schedule


class Ring:
    def __init__(self):
        self.locks = [threading.Lock() for _ in range(4)]

    def take(self, first):
        for lock in self.locks:
            lock.locked()
        with self.locks[first], self.locks[(first + 1) % 4]:
            pass


@pytest.mark.slow
def test_a_deadlock_of_four_threads_in_a_ring_ends_with_one_preemption_wherever_it_begins():
    with explored(*[partial(_take, first) for first in range(4)], setup=Ring) as explorer:
        explorer.sequential()
        walk = RandomWalk(Random(1))
        failures = (failure for _ in count() if (failure := explorer.once(walk)[1]) is not None)
        smaller = [minimised(explorer, failure, few_runs()) for failure in islice(failures, 8)]
    assert {each.symptom for each in smaller} == {Symptom.DEADLOCK}
    assert {each.schedule.preemptions for each in smaller} == {1}


def _take(first, ring):
    ring.take(first)
