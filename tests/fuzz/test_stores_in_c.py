"""Attributes that C stores, so that no instruction has their names."""

import operator
import types

import pytest

from ..slow import one_in
from .programs import counted


class Config(types.SimpleNamespace):
    host = "h0"
    port = 0

    def refresh(self, **new):
        super().__init__(**new)


class Slotted:
    __slots__ = ("limit", "same")

    def __init__(self):
        self.limit, self.same = 0, True


class State:
    def __init__(self):
        self.config, self.space, self.seen = Config(), types.SimpleNamespace(), (0, 0)
        self.space.left = self.space.right = 0


def refresh(s):
    s.config.refresh(host="h1", port=1)


def connect(s):
    s.seen = (s.config.host != "h0", s.config.port)


def begin_again(s):
    s.space.__init__(left=1, right=1)


def read_both(s):
    s.seen = (s.space.left, s.space.right)


def set_slot(slotted):
    Slotted.limit.__set__(slotted, 1)


def set_by_name(slotted):
    operator.methodcaller("__setattr__", "limit", 1)(slotted)


def set_by_look_up(slotted):
    getattr(slotted, "__setattr__")("limit", 1)  # noqa: B009


def read_twice(slotted):
    first = slotted.limit
    slotted.same = first == slotted.limit


@pytest.mark.parametrize(("writes", "reads"), [(refresh, connect), (begin_again, read_both)], ids=["by a subclass", "by a call"])
def test_an_attribute_that_a_namespace_stores_by_its_init_is_no_constant(writes, reads):
    result = counted(writes, reads, setup=State, invariant=lambda s: s.seen[0] == s.seen[1], schedules=500)
    assert result.verdict == "violated", result.reason


@pytest.mark.parametrize("writes", one_in(3, [set_slot, set_by_name, set_by_look_up]))
def test_an_attribute_that_is_stored_by_a_method_in_c_is_no_constant(writes):
    result = counted(writes, read_twice, setup=Slotted, invariant=lambda slotted: slotted.same, schedules=500)
    assert result.verdict == "violated", result.reason


def test_what_no_thread_stores_stays_constant():
    result = counted(read_both, connect, setup=State, invariant=lambda s: True, schedules=500)
    assert result.verdict == "holds"
