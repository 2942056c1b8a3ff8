"""What a call of ``setattr`` does is a step of which it is known what it stores. (No other word of this file stores any name.)"""

import threading

from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.fuzz.check import fuzz
from pytest_gilcheck.search.plan import FuzzPlan

from ..fuzz.programs import SETTLED


def by_name(state):
    setattr(state, "to" + "tal", getattr(state, "total") + 1)  # noqa: B009


def by_name_locked(state):
    with state.lock:
        by_name(state)


class Total:
    def __init__(self):
        self.total, self.lock = 0, threading.Lock()


def test_a_count_that_setattr_stores_is_lost_and_the_twin_with_a_lock_is_settled():
    program = Program((by_name, by_name), Total, lambda state: state.total == 2)
    assert fuzz(program, FuzzPlan(schedules=200)).verdict == "violated"
    program = Program((by_name_locked, by_name_locked), Total, lambda state: state.total == 2)
    found = fuzz(program, FuzzPlan(schedules=200))
    assert found.verdict == "holds"
    assert found.bound in SETTLED
