"""What is stored as a slice, or as a byte: C goes through it before it changes the container."""

import threading

import pytest

from ..slow import one_in
from .programs import SETTLED, counted, under_the_lock


class Rows(list):
    """A list with one method of its own, which no slice asks for."""

    def append(self, row):
        super().append(row)


class Checked(list):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


class Several:
    def __init__(self, state):
        self.state = state

    def __iter__(self):
        self.state.begun = True
        yield 7


class Byte:
    def __init__(self, state):
        self.state = state

    def __index__(self):
        self.state.begun = True
        return 7


class State:
    def __init__(self):
        self.lock, self.seen, self.begun, self.all = threading.Lock(), [], False, slice(None)
        self.source, self.rows, self.plain, self.checked = [3], Rows([1]), [1], Checked([1])
        self.several, self.byte, self.bytes = Several(self), Byte(self), bytearray(b"a")


def by_method(s):
    for _ in range(2):
        s.plain.__setitem__(slice(None), s.source)
        s.seen += s.plain


def of_derived(s):
    for _ in range(2):
        s.rows[s.all] = s.source
        s.seen += [s.rows[0]]


def by_super(s):
    for _ in range(2):
        s.checked[:] = s.source
        s.seen += [s.checked[0]]


def change_source(s):
    s.source[0] = 9


def store_several(s):
    s.rows[s.all] = s.several


def store_byte(s):
    s.bytes.__setitem__(0, s.byte)


def look_at_rows(s):
    if s.begun:
        s.seen += [s.rows[0], 7]


def look_at_bytes(s):
    if s.begun:
        s.seen += [s.bytes[0], 7]


PAIRS = {
    "by the method": (by_method, change_source),
    "of a derived list": (of_derived, change_source),
    "by super": (by_super, change_source),
    "what has code": (store_several, look_at_rows),
    "a byte that has code": (store_byte, look_at_bytes),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, PAIRS))
def test_what_is_stored_is_read_and_its_code_comes_first(name, monkeypatch):
    monkeypatch.setattr("pytest_gilcheck.search.search.Search._passes_test", lambda *ignored: True)

    def same(s):
        return not s.seen or s.seen[0] == s.seen[1]

    result = counted(*PAIRS[name], setup=State, invariant=same, schedules=300)
    assert result.bound not in SETTLED, result.reason
    twin = counted(*map(under_the_lock, PAIRS[name]), setup=State, invariant=same, schedules=300)
    assert twin.verdict == "holds", twin.reason
    if "code" not in name:
        assert twin.bound in SETTLED, twin.reason
