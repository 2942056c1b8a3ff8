"""A recorded run keeps lists and other containers for a while; what ends with them later than in other runs is nothing that the
program could notice, unless it refers to it weakly (`test_ends_of_objects`)."""

import threading

import pytest

from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.engine.program import Program

from .programs import SETTLED, counted
from .test_focus import focused

MANY = 40  # lists: more than are looked at before each step


class Part:
    def __init__(self, size):
        self.size = size


class Orders:
    def __init__(self):
        self.lock, self.total = threading.Lock(), 0
        self.lines = [[1] for _ in range(MANY)]


def add_without_the_lock(orders):
    for line in orders.lines:
        parts = [Part(line[0])]
        parts[0].size += line[0]
    orders.total += 2


def add(orders):
    """It makes lists of objects of its own, which end while many others are kept."""
    for line in orders.lines:
        parts = [Part(line[0])]
        parts[0].size += line[0]
    with orders.lock:
        orders.total += MANY


@pytest.mark.slow
def test_objects_that_end_late_with_a_kept_list_prevent_no_proof_and_the_twin_without_a_lock_is_found():
    result = counted(add, add, setup=Orders, invariant=lambda orders: orders.total == 2 * MANY, schedules=200)
    result.assert_holds()
    assert result.bound in SETTLED, str(result)
    broken = counted(
        add_without_the_lock, add_without_the_lock, setup=Orders, invariant=lambda orders: orders.total == 4, schedules=200
    )
    assert broken.verdict is Verdict.VIOLATED, str(broken)


def leave_a_generator(orders):
    """The generator ends with a list that is kept, which runs code of the program; then come steps on what nobody else has."""
    rows = [(line for line in orders.lines)]
    next(rows[0])
    del rows
    add_without_the_lock(orders)


def test_after_an_end_that_the_program_may_notice_the_steps_on_what_one_thread_has_are_hidden_all_the_same():
    searched = Program([leave_a_generator] * 2, Orders, None, "generators", None)
    with focused(searched) as (explorer, found):
        whole = explorer.measured()[0]
    assert found.points < whole.points / 2, (found.points, whole.points)
    assert ".total" not in {access.name for access in found.hidden.values()}
