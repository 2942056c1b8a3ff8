"""What counts as a sequential order: of long operations, and of those that meet."""

import threading
from collections.abc import KeysView
from functools import partial

from pytest_gilcheck import gilcheck

judged = partial(gilcheck.linearizable, judge=False, budget=1000)


class Scanned:
    """One operation makes a thousand steps, and the other one two."""

    def __init__(self):
        self._lock, self._seen = threading.Lock(), {}

    def count(self):
        with self._lock:
            for number in range(300):
                self._seen.get(number)
            return self._read()

    def put(self):
        with self._lock:
            self._seen["x"] = 1

    def _read(self):
        return len(self._seen)


class TornScan(Scanned):
    def count(self):
        before = self._read()
        for number in range(300):
            self._seen.get(number)
        return self._read() - before


def test_a_long_operation_keeps_its_turn_in_an_order_after_short_ones():
    program = [(1, "count"), (2, "put")]
    assert judged(Scanned, program=program).verdict == "holds"
    found = judged(TornScan, program=program)
    assert (found.verdict, found.cause) == ("violated", "not atomic")


class Meeting:
    """A barrier of two."""

    def __init__(self):
        self._changed, self._waiting, self._round = threading.Condition(), 0, 0

    def meet(self):
        with self._changed:
            self._waiting += 1
            mine = self._round
            if self._waiting == 2:
                self._waiting, self._round = 0, mine + 1
                self._changed.notify_all()
                return "last"
            while self._round == mine:
                self._changed.wait()
            return "first"


class MissedMeeting(Meeting):
    """Looks whether somebody waits before it says that it waits itself."""

    def meet(self):
        with self._changed:
            alone = self._waiting == 0
        with self._changed:
            if alone:
                self._waiting = 1
                self._changed.wait()
                return "first"
            self._waiting = 0
            self._changed.notify_all()
            return "last"


def test_operations_that_only_return_if_they_meet_are_no_failure_and_one_that_misses_another_is():
    held = judged(Meeting, examples=60, seed=1)
    assert held.verdict == "holds", held
    found = judged(MissedMeeting, examples=100, seed=1)
    assert found.verdict == "violated", found
    assert found.cause == "stuck"


def test_an_operation_that_loses_its_turn_in_an_order_is_refused_and_its_run_is_no_order(monkeypatch):
    monkeypatch.setattr("pytest_gilcheck.engine.running.fairness.PATIENCE", {"spins": 0, "reads": 100, "works": 100})
    found = judged(Scanned, program=[(1, "count"), (2, "put")])
    assert found.verdict == "inconclusive"
    assert "too many steps for its turn" in found.reason


class Viewed:
    """Gives a view of what it holds, which another operation changes in two steps under a lock."""

    def __init__(self):
        self._lock, self._held = threading.Lock(), Held()

    def keys(self):
        return KeysView(self._held)

    def put(self):
        with self._lock:
            self._held.one += 1
            self._held.other += 1


class Held:
    def __init__(self):
        self.one = self.other = 0

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


class TornView(Viewed):
    def keys(self):
        return [self._held.one, self._held.other]


def test_what_a_view_shows_is_no_part_of_the_result_that_it_is():
    program = [(1, "keys"), (2, "put")]
    assert judged(Viewed, program=program).verdict == "holds"
    assert judged(TornView, program=program).verdict == "violated"


REGISTERED = set()


class Registered:
    def __init__(self):
        if "it" in REGISTERED:
            raise ValueError("it is registered already")
        REGISTERED.add("it")
        self.count = 0

    def add(self):
        self.count += 1


def test_a_class_of_which_no_second_object_can_be_made_is_refused_and_a_function_that_makes_it_anew_helps():
    REGISTERED.clear()
    found = judged(Registered, examples=3)
    assert found.verdict == "inconclusive"
    assert "only the first could be made" in found.reason
    assert "it is registered already" in found.reason

    def made():
        REGISTERED.clear()
        return Registered()

    assert judged(made, examples=3, seed=1).verdict == "violated"
