"""A schedule that failed is kept beside hypothesis' example, and the next campaign begins with it."""

import contextlib
import json
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


@pytest.mark.slow
def test_workers_divide_classes_and_share_what_was_kept(pytester, monkeypatch):
    """With ``-n``: each class is a test, and the next run begins with the failures that any worker has kept."""
    pytester.makepyfile(
        shared="""
        class Counter:
            def __init__(self):
                self.count = 0
            def add(self):
                self.count += 1
                return self.count
        class Ids:
            def __init__(self):
                self.last = 0
            def next_id(self):
                self.last = self.last + 1
                return self.last
        """,
        test_shared="""
        from pytest_gilcheck import linearizable
        from shared import Counter, Ids
        test_counter = linearizable(Counter)
        test_ids = linearizable(Ids)
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    monkeypatch.delenv("CI", raising=False)  # in CI, hypothesis keeps nothing
    for again in (False, True):
        result = pytester.runpytest_subprocess("-n", "2", "--gilcheck-json=e.json", "test_shared.py")
        result.assert_outcomes(failed=2)
        records = json.loads((pytester.path / "e.json").read_text())["records"]
        assert sorted(record["subject"].rpartition("::")[2] for record in records) == ["test_counter", "test_ids"]
        if again:
            assert [record["figures"]["programs"] for record in records] == [1, 1]
            assert [record["figures"]["schedules"] for record in records] == [1, 1]
