"""What no schedule needs a preemption for: a failure of one sequential order, and what is said of all of them."""

import math
import threading
from dataclasses import replace
from itertools import permutations

import pytest

from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search.orders import further_orders, orders_of

from ..slow import one_in
from .programs import counted, plan


class Board:
    """Who takes before the other puts raises KeyError."""

    def __init__(self):
        self.lock, self.items, self.missed = threading.Lock(), {}, 0

    def put(self, name):
        with self.lock:
            self.items[name] = 1

    def take(self, name):
        with self.lock:
            self.items.pop(name)

    def look(self, name):
        with self.lock:
            self.missed += name not in self.items


def pairs_of(first, second, names):
    """Two threads for each name."""
    return [lambda board, name=name, do=do: do(board, name) for name in names for do in (first, second)]


@pytest.mark.parametrize("names", ["xy", "xyz"])
def test_an_exception_that_only_some_orders_of_many_threads_raise_is_a_failure(names):
    result = counted(*pairs_of(Board.take, Board.put, names), setup=Board, schedules=60)
    assert (result.verdict, result.symptom, result.preemptions) == ("violated", "exception", 0), result.reason
    assert not result.expected


@pytest.mark.parametrize(
    ("names", "orders"),
    one_in(
        2,
        [pytest.param("x", "every sequential order"), pytest.param("xy", "every sequential order"), pytest.param("xyz", "each of")],
    ),
)
def test_what_is_said_of_orders_is_said_of_those_that_ran(names, orders):
    result = counted(*pairs_of(Board.take, Board.look, names), setup=Board, schedules=60)  # nobody puts
    assert result.verdict == "holds", result.reason
    assert result.expected.startswith(orders)


def test_four_threads_of_which_some_orders_pass_do_not_fail_in_every_order():
    result = counted(*pairs_of(Board.look, Board.put, "xy"), setup=Board, invariant=lambda board: not board.missed, schedules=60)
    assert (result.verdict, result.preemptions) == ("violated", 0), result.reason
    assert "every sequential order" not in result.reason
    assert result.token


class Flagged:
    def __init__(self):
        self.lock, self.count, self.seen, self.flag = threading.Lock(), 0, False, 0

    def looks(self):
        with self.lock:
            self.count += 1
        with self.lock:
            self.seen = self.seen or bool(self.flag)

    def sets(self):
        with self.lock:
            self.count += 1
        with self.lock:
            self.flag = 1


def test_a_failure_of_a_sequential_order_is_reported_without_a_preemption():
    result = counted(Flagged.looks, Flagged.sets, setup=Flagged, invariant=lambda flagged: not flagged.seen, schedules=120)
    assert (result.verdict, result.preemptions) == ("violated", 0), result.reason
    again = counted(Flagged.looks, Flagged.sets, setup=Flagged, invariant=lambda flagged: not flagged.seen, replay=result.token)
    assert again.verdict == "violated"


@pytest.mark.slow
def test_orders_that_take_longer_than_the_budget_are_cut_short():
    def computes(state):
        for _ in range(3_000):
            state.append(1)

    result = counted(*[computes] * 6, setup=list, budget=0.05)
    assert result.verdict == "inconclusive"
    assert result.schedules < 8


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_each_order_runs_once_and_those_come_first_in_which_who_fails_is_last(count):
    first = orders_of(count)
    source = further_orders({each: {0} for each in first})
    found = []
    order = next(source, None)
    while order is not None:
        found.append(order)
        try:
            order = source.send({0})
        except StopIteration:
            order = None
    assert len({*first, *found}) == len(first) + len(found)
    assert all(sorted(order) == list(range(count)) for order in found)
    if count <= 4:
        assert len(first) + len(found) == math.factorial(count) == len(list(permutations(range(count))))
    else:
        assert found[0][-1] == 0


class Pending:
    """A cache; who makes a value tells those that wait for it, and has to hold the lock for that."""

    notifies_without_the_lock = False
    runs = 0

    def __init__(self):
        self.condition, self.made = threading.Condition(), []
        type(self).runs += 1

    def get(self):
        with self.condition:
            if self.made:
                return
            self.made.append(1)
            if not self.fails():
                self.condition.notify_all()
        if self.fails():
            self.condition.notify_all()

    def fails(self):
        return self.notifies_without_the_lock

    def used_by_threads(self):
        threads = [threading.Thread(target=self.get) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Unlocked(Pending):
    notifies_without_the_lock = True


class LeavesItBehind(Pending):
    def fails(self):
        return self.runs > 1


def of_a_test(kind):
    kind.runs = 0
    program = check.program([kind.used_by_threads, lambda _: None], kind, None, None)
    return check.fuzz(replace(program, may_raise=False), plan(schedules=20, budget=600.0))


@pytest.mark.slow
def test_an_error_of_a_thread_that_a_test_starts_is_one_of_its_first_run():
    with pytest.raises(RuntimeError) as caught:
        of_a_test(Unlocked)
    (note,) = caught.value.__notes__
    assert note.startswith("fails without any concurrency, in every sequential order")
    assert of_a_test(LeavesItBehind).why == "not repeatable"
    assert of_a_test(Pending).verdict == "holds"
