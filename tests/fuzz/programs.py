"""Small programs: each as a state, what threads do to it, and what must then be true."""

import itertools
import threading
import time
from contextlib import contextmanager

from pytest_gilcheck.engine.outcome import NotExplorable
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search import plan as plans
from pytest_gilcheck.search.bound import Bound
from pytest_gilcheck.search.harness import explorer_for

from ..given import given
from ..undecided import undecided
from .conflicts_here import Conflicts

FEW = 8  # schedules
SETTLED = (Bound.INDEPENDENT, Bound.CONFLICTS)  # of a search that has turned all conflicts round


def plan(share=(0, 1), **arguments):
    """The plan of these unchecked arguments."""
    return plans.plan(given("fuzz", **arguments), share)


def counted(*threads, setup=None, invariant=None, progress=lambda label: None, **arguments):
    """A check whose search ends after a number of schedules, so that no machine is too slow for it."""
    made = plan(**{"seed": 7, "budget": 600.0} | arguments)
    return check.fuzz(check.program(threads, setup, invariant, None), made, progress=progress)


class Clock:
    """A clock that advances only when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()


def add(counter):
    counter.value += 1


def add_locked(counter):
    with counter.lock:
        counter.value += 1


def add_after_c(counter):
    """What the call touches is not known, so nothing is known of the interleavings that are not run."""
    next(itertools.compress("1", "1"))
    counter.value += 1


def add_locked_after_c(counter):
    next(itertools.compress("1", "1"))
    add_locked(counter)


def is_two(counter):
    return counter.value == 2


class Pair:
    def __init__(self):
        self.first, self.second = threading.Lock(), threading.Lock()


def first_second(pair):
    with pair.first:
        time.sleep(0)
        with pair.second:
            pass


def second_first(pair):
    with pair.second:
        time.sleep(0)
        with pair.first:
            pass


class Mailbox:
    def __init__(self):
        self.condition = threading.Condition()
        self.full = False


def wait_carelessly(box):
    if not box.full:
        with box.condition:
            box.condition.wait()


def wait(box):
    with box.condition:
        while not box.full:
            box.condition.wait()


def fill(box):
    with box.condition:
        box.full = True
        box.condition.notify()


class Sums:
    """Two sums that are always the same."""

    def __init__(self):
        self.first, self.second, self.seen = [0], [0], (0, 0)


def move(sums):
    sums.first[0] += 1
    sums.second[0] += 1


def look(sums):
    sums.seen = sums.first[0], sums.second[0]


def alike(sums):
    return sums.seen[0] == sums.seen[1]


def work_alone():
    found = []
    for number in range(10):
        found.append(number)


def one():
    return 1


def calls_of_one():
    for _ in range(20):
        one()


def under_the_lock(thread):
    """The thread, with the lock of its state around it."""

    def locked(s):
        with s.lock:
            thread(s)

    return locked


def no_time_for_records(runs, seconds):
    return False


@contextmanager
def reduced(*threads, setup=Counter, invariant=is_two, most=FEW, fits=no_time_for_records, focusing=False):
    """The search for schedules that turn conflicts round, after so many of them at most."""
    searched = Program(threads, setup, invariant, "reduced", None)
    with explorer_for(searched, plans.FuzzPlan(timeout=20.0), lambda label: None) as explorer:
        explorer.sequential()
        reduction = Conflicts(explorer, fits=fits, focusing=focusing)
        try:
            reduction.search(lambda: reduction.runs >= most)
        except NotExplorable as error:
            if "has not ended after" in str(error):  # a run with its record, on a busy machine
                undecided(str(error))
            raise
        yield reduction
