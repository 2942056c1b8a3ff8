"""What looks as if it touched nothing, and reads what another thread changes: it is found, or at least never proved."""

import threading
import types

import pytest

from pytest_gilcheck.fuzz.searching.search import Search

from ..slow import one_in
from .programs import counted


class State:
    """What one thread looks at twice, and the other changes between: ``same`` is whether both looks saw the same."""

    def __init__(self):
        self.items, self.one, self.two = [], 0, 0

    def same(self):
        return self.one == self.two


def a_bound_of_a_slice(state):
    state.one = repr(slice(state.items, None))
    state.two = repr(slice(state.items, None))


def a_slice_compares(state):
    state.one = slice(state.items, None) == slice([], None)
    state.two = slice(state.items, None) == slice([], None)


def a_bytearray_as_a_format(state):
    state.one = bytearray(b"%a") % (state.items,)
    state.two = bytearray(b"%a") % (state.items,)


def a_range_asks_for_an_index(state):
    wide = state.wide
    state.one = range(wide)
    state.two = range(wide)


def changed(state):
    state.items.append(1)


class WithWide(State):
    def __init__(self):
        super().__init__()
        self.wide = type("Wide", (), {"__index__": self.items.__len__})()


LOOKS = {
    "the bound of a slice": (State, a_bound_of_a_slice),
    "slices that are compared": (State, a_slice_compares),
    "a bytearray that formats": (State, a_bytearray_as_a_format),
    "a range of an object": (WithWide, a_range_asks_for_an_index),
}


@pytest.mark.parametrize("name", one_in(4, LOOKS))
def test_it_is_never_proved(name, monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    setup, look = LOOKS[name]
    result = counted(look, changed, setup=setup, invariant=State.same, schedules=400)
    assert "every interleaving" not in result.reason, result.reason


class Guard:
    """A lock in a wrapper, as many programs have one."""

    def __init__(self):
        self.lock, self.inside = threading.Lock(), False

    def __enter__(self):
        self.lock.acquire()
        self.inside = True
        return self

    def __exit__(self, kind, error, trace):
        self.inside = False
        return self.lock.__exit__(kind, error, trace)


class Guarded:
    def __init__(self):
        self.guard, self.seen = Guard(), False

    def work(self):
        with self.guard:
            pass

    def look(self):
        if not self.guard.inside and not self.guard.lock.acquire(blocking=False):
            self.seen = True  # nobody is inside, and the lock is held


def test_the_moment_before_a_lock_is_released_by_its_exit_method_is_in_a_schedule():
    result = counted(Guarded.work, Guarded.look, setup=Guarded, invariant=lambda state: not state.seen, schedules=400)
    assert result.verdict == "violated", str(result)


class Notes:
    def __delattr__(self, name):
        object.__delattr__(self, name)


class Noted:
    def __init__(self):
        self.notes = Notes()
        self.notes.count = 0

    def add(self):
        self.notes.count += 1


def test_an_attribute_of_a_class_with_a_way_of_its_own_to_delete_is_stored_as_any_other():
    result = counted(Noted.add, Noted.add, setup=Noted, invariant=lambda state: state.notes.count == 2, schedules=400)
    assert result.verdict == "violated", str(result)


def of_new_class(state):
    state.one = state.row.limit
    state.two = state.row.limit


class WithRow(State):
    def __init__(self):
        super().__init__()
        made = types.new_class("Row", (), {}, lambda names: names.update(limit=property(lambda row: len(self.items))))
        self.row = made()


def test_a_class_that_types_has_made_is_no_class_of_the_library(monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    result = counted(of_new_class, changed, setup=WithRow, invariant=State.same, schedules=400)
    assert "every interleaving" not in result.reason, result.reason


CACHE = None


class OnceInSetup:
    def __init__(self):
        global CACHE
        CACHE = CACHE if CACHE is not None else {}
        self.made = []

    def get(self):
        if "x" not in CACHE:
            self.made.append(1)
            CACHE["x"] = 1


def test_a_global_that_the_setup_stores_only_once_is_not_made_anew(monkeypatch):
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    result = counted(
        OnceInSetup.get, OnceInSetup.get, setup=OnceInSetup, invariant=lambda state: len(state.made) < 2, schedules=400
    )
    assert result.verdict != "holds", str(result)
