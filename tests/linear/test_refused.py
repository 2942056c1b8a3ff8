"""Classes of which nothing can be told: one line each, and never a verdict about the class."""

import random
import threading
from collections import deque
from collections.abc import ItemsView, Mapping
from functools import partial

import pytest
from hypothesis import strategies as st

from pytest_gilcheck import BadValue, gilcheck

from .classes import Counter, Stack, locked

judged = partial(gilcheck.linearizable, judge=False, seed=1, budget=1000)


class CountedByTheClass:
    made = 0

    def add(self):
        CountedByTheClass.made += 1
        return CountedByTheClass.made


def test_state_outside_of_the_object_is_refused_with_both_answers():
    found = judged(CountedByTheClass)
    assert (found.verdict, found.code) == ("inconclusive", "GC707")
    assert found.reason.count("add() ->") >= 4


def test_a_class_in_c_is_refused():
    found = judged(deque, ops={"append": [[1]], "pop": []})
    assert found.verdict == "inconclusive"
    assert "deque is in C" in found.reason


class NeedsAWidget:
    def __init__(self, widget):
        self.widget = widget.name

    def get(self):
        return self.widget


def test_a_class_of_which_no_object_can_be_made_is_refused_with_the_argument_to_give():
    with pytest.raises(BadValue, match="nothing says what its parameter 'widget' takes"):
        judged(NeedsAWidget)
    with pytest.raises(BadValue, match="it raised AttributeError"):
        judged(NeedsAWidget, init=[[1]])


class LeavesAThread:
    def start_one(self):
        threading.Thread(target=threading.Event().wait, daemon=False).start()

    def value(self):
        return 1


def test_a_method_that_starts_a_thread_that_stays_is_refused():
    found = judged(LeavesAThread, ops={"start_one": [], "value": []}, examples=10)
    assert found.verdict == "inconclusive"
    assert "starts a thread that stays" in found.reason


class Nothing:
    pass


def test_a_class_without_operations_is_not_told_to_hold():
    assert judged(Nothing).verdict == "inconclusive"


def test_operations_of_which_too_few_pairs_overlap_are_no_evidence(monkeypatch):
    found = judged(locked(Stack), examples=1)
    assert found.overlapped < found.pairs or found.verdict == "holds"
    many = {f"op{number}": (lambda stack: stack.pop(), []) for number in range(12)}
    assert judged(locked(Stack), ops=many, examples=3, budget=0.05).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"ops": {"pop": 3}}, "a list with a strategy"),
        ({"ops": {"nope": []}}, "which has no 'nope'"),
        ({"alone": ["nope"]}, "names of operations"),
        ({"init": [3]}, "a strategy, or a list"),
        ({"program": [("pop",)]}, "rows such as"),
        ({"program": [(9, "pop")]}, "in a lane of"),
        ({"replay": "gil1_x"}, "a token from a report"),
        ({"roles": {"a": ["pop"], "b": ["push"], "c": []}}, "as many roles as threads"),
    ],
)
def test_a_bad_argument_is_refused_by_name(given, text):
    with pytest.raises(BadValue, match=text):
        judged(Stack, **given)


class ReturnsWhatChanges:
    """The list that it returns changes later; the thread saw it as it was."""

    def __init__(self):
        self._lock, self._items = threading.Lock(), []

    def add(self):
        with self._lock:
            self._items.append(1)
            return self._items

    def generated(self):
        with self._lock:
            return (each for each in list(self._items))

    def lucky(self):
        return object()


@pytest.mark.slow
def test_results_are_copied_iterators_are_used_up_and_objects_are_known_by_identity():
    assert judged(ReturnsWhatChanges, examples=60).verdict == "holds"


class Draws:
    def draw(self):
        return random.random()


def test_a_result_that_is_random_is_never_told_to_be_wrong():
    assert judged(Draws, examples=20).verdict in ("holds", "inconclusive")


@pytest.mark.slow
def test_a_weak_operation_is_not_compared():
    given = {"ops": {"add": [], "value": []}, "final": lambda counter: None, "examples": 30}
    assert judged(Counter, weak=["add", "value"], **given).verdict == "holds"
    assert judged(Counter, weak=["value"], **given).verdict == "violated"


class Model:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop(0) if self.items else None


@pytest.mark.slow
def test_a_model_says_what_is_right():
    given = {"ops": {"push": [st.integers(1, 2)], "pop": []}, "examples": 60}
    assert judged(locked(Stack), model=Stack, **given).verdict == "holds"
    found = judged(locked(Stack), model=Model, **given)
    assert (found.verdict, found.cause, found.code) == ("violated", "model", "GC705")


@pytest.mark.slow
def test_only_errors_leaves_results_as_a_note():
    found = judged(Counter, only="errors", examples=30)
    assert found.verdict == "holds"
    assert any("not atomic" in note for note in found.notes)
    assert judged(Stack, only="errors", examples=200).cause == "exception"


class Pairs(Mapping):
    """Two attributes that change together, under a lock; a view refers to the object."""

    def __init__(self):
        self._key, self._value, self._lock = 0, 0, threading.Lock()

    def put(self, value):
        with self._lock:
            self._key = value
            self._value = value

    def __getitem__(self, key):
        with self._lock:
            return self._value if key == self._key else None

    def __iter__(self):
        return iter([self._key])

    def __len__(self):
        return 1

    def view(self):
        return ItemsView(self)

    def pair(self):
        return (self._key, self._value)


def test_what_is_in_the_object_while_a_view_of_it_is_returned_is_no_result():
    given = {"judge": False, "seed": 1, "examples": 20}
    assert gilcheck.linearizable(Pairs, ops={"put": [[1, 2]], "view": []}, **given).verdict == "holds"
    assert gilcheck.linearizable(Pairs, ops={"put": [[1, 2]], "pair": []}, **given).verdict == "violated"


@pytest.mark.slow
def test_the_pairs_of_a_class_with_many_methods_overlap_without_more_examples():
    wide = type("Wide", (), {f"call{number}": lambda self: setattr(self, "last", 1) for number in range(26)})
    result = gilcheck.linearizable(wide, judge=False, seed=1, budget=1000)
    assert result.verdict == "holds"
    assert result.overlapped == result.pairs == 351
