"""A schedule that failed is kept beside hypothesis' example, and the next campaign begins with it."""

import contextlib
import threading

import pytest
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase

from pytest_gilcheck import gilcheck


@pytest.fixture
def database():
    before = settings.get_current_profile_name()
    settings.register_profile("of this test", database=InMemoryExampleDatabase(), derandomize=False)
    settings.load_profile("of this test")
    yield settings().database
    settings.load_profile(before)


def stack_of(*, locked):
    class Stack:
        def __init__(self):
            self.items, self.lock = [], threading.Lock() if locked else contextlib.nullcontext()

        def push(self, item):
            with self.lock:
                self.items.append(item)

        def pop(self):
            with self.lock:
                return self.items.pop() if self.items else None

    return Stack


def checked(cls, **given):
    return gilcheck.linearizable(cls, judge=False, budget=1000, examples=50, ops={"push": [[1]], "pop": []}, **given)


@pytest.mark.usefixtures("database")
def test_the_next_campaign_begins_with_the_schedule_that_failed_and_tells_the_same():
    first, second = checked(stack_of(locked=False)), checked(stack_of(locked=False))
    assert (first.verdict, second.verdict) == ("violated", "violated")
    assert (second.programs, second.schedules) == (1, 1)
    assert (first.program, first.token, first.outcome) == (second.program, second.token, second.outcome)


@pytest.mark.usefixtures("database")
@pytest.mark.slow
def test_the_token_alone_replays_the_smallest_program():
    token = checked(stack_of(locked=False)).token
    assert checked(stack_of(locked=False), replay=token).verdict == "violated"
    assert checked(stack_of(locked=True), replay=token).verdict != "violated"


@pytest.mark.slow
def test_a_schedule_that_no_longer_fails_is_dropped_and_so_is_what_cannot_be_read(database):
    checked(stack_of(locked=False))
    kept = [key for key, values in database.data.items() if key.startswith(b"gilcheck") and values]
    assert len(kept) == 1
    for damaged in (b"", b"\xff", b"[1]", b'["a", ["b"], "gil1_x"]'):
        database.save(kept[0], damaged)
    held = checked(stack_of(locked=True))
    assert held.verdict == "holds"
    assert held.programs > 10
    assert not database.data[kept[0]]


def test_with_a_seed_nothing_is_kept(database):
    assert checked(stack_of(locked=False), seed=1).verdict == "violated"
    assert not any(database.data.values())
