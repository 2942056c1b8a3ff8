"""Classes that are wrong under threads are found, and their fixed twins hold."""

from functools import partial

import pytest

from pytest_gilcheck import gilcheck

from . import classes, other_classes

judged = partial(gilcheck.linearizable, judge=False, budget=1000)  # the tests look at the result

QUICK = (classes.Counter,)
NEW = (other_classes.UniqueList, other_classes.Countdown)
WRONG = [pytest.param(*row, id=row[0].__name__, marks=() if row[0] in QUICK else pytest.mark.slow) for row in classes.WRONG]


@pytest.mark.parametrize(("wrong", "fixed", "given"), WRONG)
def test_a_class_that_is_wrong_under_threads_is_found_and_its_fixed_twin_holds(wrong, fixed, given):
    found = judged(wrong, seed=3, examples=400, **given)
    assert found.verdict == "violated", found
    assert found.replays[0] == found.replays[1] > 0
    assert found.kind in ("BREAKS-TODAY", "GIL-MASKED")
    held = judged(fixed, seed=3, examples=40, **given)
    assert held.verdict == "holds", held
    assert held.overlapped == held.pairs


OTHERS = [pytest.param(*row, id=row[0].__name__, marks=() if row[0] in NEW else pytest.mark.slow) for row in other_classes.WRONG]


@pytest.mark.parametrize(("wrong", "fixed"), OTHERS)
def test_a_class_of_any_kind_is_found_without_a_strategy_and_its_fixed_twin_holds(wrong, fixed):
    """Derived from containers, iterators themselves, with descriptors, slots, weak references, locks of all kinds."""
    found = judged(wrong, seed=3, examples=400)
    assert found.verdict == "violated", found
    held = judged(fixed, seed=3, examples=30)
    assert held.verdict == "holds", held


def test_the_smallest_program_is_shown_with_what_orders_give():
    found = judged(classes.Counter, seed=1)
    assert found.program == "() | add() || add()"
    assert "add() -> 1   add() -> 1" in found.outcome
    assert "add() -> 1  ||  add() -> 2 | final {'count': 2}" in found.outcome
    assert found.code == "GC706"


def test_the_same_seed_gives_the_same_report_twice():
    one, other = (judged(classes.Stack, seed=5) for _ in range(2))
    assert (one.outcome, one.story, one.token, one.programs, one.schedules) == (
        other.outcome, other.story, other.token, other.programs, other.schedules
    )  # fmt: skip


def test_a_class_that_only_holds_in_sequential_orders_is_found_unless_these_are_asked_for():
    given = {"program": [(1, "get"), (1, "get"), (2, "put", 1)], "ops": {"get": [], "put": [[1]]}}
    assert judged(FilledLate, **given).cause == "real-time order"
    assert judged(FilledLate, order="sequential", **given).verdict == "holds"


class FilledLate:
    """Keeps what it has read, also if another thread has changed it meanwhile."""

    def __init__(self):
        self._value, self._kept = 0, None

    def put(self, value):
        self._value = value
        self._kept = None

    def get(self):
        kept = self._kept
        if kept is None:
            kept = self._kept = self._value
        return kept
