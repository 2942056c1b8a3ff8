"""Which locks ``sensitivity=True`` takes away, one at a time, and what it calls them."""

import dataclasses
import queue
import threading

import pytest

from pytest_gilcheck import gilcheck


class Both:
    """Two counters, each with a lock of its own; an invariant may ask for both or for one."""

    def __init__(self):
        self.first, self.second = threading.Lock(), threading.Lock()
        self.a = self.b = 0

    def count(self):
        with self.first:
            self.a += 1
        with self.second:
            self.b += 1


def made():
    return threading.Lock()


class ByHelper(Both):
    def __init__(self):
        self.first = made()
        self.second = made()
        self.a = self.b = 0


@dataclasses.dataclass
class Part:
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


@dataclasses.dataclass
class Other:
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


class ByDataclass(Both):
    def __init__(self):
        self.first, self.second = Part().lock, Other().lock
        self.a = self.b = 0


class Recursive(Both):
    """One instruction creates the locks, at several depths of a recursion."""

    def __init__(self):
        self.a = self.b = 0
        self.first, *self.more, self.second = self.made(6)

    def made(self, depth):
        return [threading.Lock(), *self.made(depth - 1)] if depth else []

    def count(self):
        for lock in self.more:
            with lock:
                pass
        super().count()


class BesideAQueue:
    """The lock guards nothing, and the queue beside it, whose lock the same line creates, is needed."""

    def __init__(self):
        self.lock, self.queue = threading.Lock(), queue.Queue()

    def count(self):
        with self.lock:
            self.queue.put(1)


def both_counted(both):
    return both.a == both.b == 2


def first_counted(both):
    return both.a == 2


def searched(kind, invariant, **arguments):
    given = {"schedules": 12, "seed": 1} | arguments
    return gilcheck.fuzz(
        threads=[kind.count] * 2, setup=kind, invariant=invariant, sensitivity=True, judge=False, name=kind.__name__, **given
    )


SEVERAL = [
    Both,
    pytest.param(ByHelper, marks=pytest.mark.slow),
    pytest.param(ByDataclass, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("kind", SEVERAL)
def test_of_locks_that_one_line_or_one_function_creates_each_is_taken_away_alone(kind):
    needed = searched(kind, both_counted)
    assert [lock.noticed for lock in needed.locks] == [True, True], str(needed)
    blind = searched(kind, first_counted)
    assert blind.verdict == "inconclusive"
    assert [lock.noticed for lock in blind.locks] == [True, False], str(blind)
    names = [lock.where for lock in blind.locks]
    assert len(set(names)) == 2
    assert "number 2 of 2" in blind.reason


@pytest.mark.slow
def test_the_call_of_a_helper_tells_its_locks_apart():
    names = [lock.where for lock in searched(ByHelper, both_counted).locks]
    lines = [int(name.split("called at ")[1].split(":")[1].split()[0]) for name in names]
    assert lines[1] == lines[0] + 1


@pytest.mark.slow
def test_the_depth_of_a_recursion_tells_no_locks_apart_beyond_its_first_call():
    result = searched(Recursive, both_counted, schedules=200)
    assert len(result.locks) == 2, str(result)


@pytest.mark.slow
def test_the_lock_of_a_queue_that_the_same_line_creates_stays():
    result = searched(BesideAQueue, lambda state: state.queue.qsize() == 2)
    assert [lock.noticed for lock in result.locks] == [False], str(result)


class Once:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0

    def count(self):
        with self.lock:
            self.value += 1

    def by_call(self):
        with self.lock:
            self.value = int(self.value) + 1


def test_where_only_a_gil_switches_a_lock_counts_as_needed_if_a_gil_would_show_it(monkeypatch):
    def is_two(once):
        return once.value == 2

    masked = searched(Once, is_two, mode="gil")
    assert [lock.noticed for lock in masked.locks] == [False], str(masked)
    monkeypatch.setattr(Once, "count", Once.by_call)
    assert [lock.noticed for lock in searched(Once, is_two, mode="gil").locks] == [True]
