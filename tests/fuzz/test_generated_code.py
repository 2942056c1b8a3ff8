"""Code that is made anew for each run has a number in its file name, which is no different step; another line or name is one."""

import itertools
import threading

import pytest

from .programs import counted

ADDS = """
def add(made):
    made.value += 1

def add_locked(made):
    with made.lock:
        made.value += 1
"""


class Made:
    numbers = itertools.count()

    def __init__(self, source=ADDS):
        self.value, self.lock, self.names = 0, threading.Lock(), {}
        exec(compile(source, f"<decorated-{next(self.numbers)}>", "exec"), self.names)


class MadeElsewhere(Made):
    """Each time one line further down."""

    def __init__(self):
        self.lines = next(self.numbers)
        super().__init__("\n" * self.lines + ADDS)


def calls(name):
    return lambda made: made.names[name](made)


@pytest.mark.parametrize(("name", "verdict"), [("add", "violated"), ("add_locked", "holds")])
def test_a_check_of_code_that_each_run_generates_is_decided(name, verdict):
    result = counted(calls(name), calls(name), setup=Made, invariant=lambda made: made.value == 2, schedules=60)
    assert result.verdict == verdict, result.reason


def test_code_that_differs_by_more_than_its_number_is_not_the_same_step():
    locked = calls("add_locked")
    result = counted(locked, locked, setup=MadeElsewhere, invariant=lambda made: made.value == 2, schedules=60)
    assert result.verdict == "inconclusive", result.reason
    assert "the same schedule gave different steps" in result.reason
