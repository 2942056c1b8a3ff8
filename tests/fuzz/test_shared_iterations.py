"""Generators that several threads reach: where one ends, its code goes on, and up to there nobody else may advance it."""

import threading

import pytest

from pytest_gilcheck.core.verdict import Verdict

from .programs import counted


class Rows:
    def __init__(self):
        self.asked, self.rows = 0, self.each()

    def each(self):
        self.asked += 1
        raise KeyError("no rows")
        yield

    def first(self):
        try:
            return next(self.rows)
        except (KeyError, StopIteration):
            return None


class GuardedRows(Rows):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def first(self):
        with self.lock:
            return super().first()


@pytest.mark.parametrize(("kind", "verdict"), [(Rows, Verdict.VIOLATED), (GuardedRows, Verdict.HOLDS)])
def test_a_generator_runs_until_its_exception_has_left_it(kind, verdict):
    result = counted(kind.first, kind.first, setup=kind, schedules=100)
    assert result.verdict is verdict, str(result)
    if verdict is Verdict.VIOLATED:
        assert "generator already executing" in result.reason


class Pool:
    def __init__(self):
        self.in_use, self.left, self.uses = 1, None, 0
        self.cursor = self.rows()
        next(self.cursor)

    def rows(self):
        try:
            yield 1
        finally:
            self.in_use -= 1

    def use(self):
        cursor = self.cursor
        self.uses = 1
        return cursor is None

    def drop(self):
        self.cursor = None
        self.left = self.in_use


class Closing(Pool):
    def drop(self):
        self.cursor.close()
        self.left = self.in_use


@pytest.mark.parametrize(("kind", "verdict"), [(Pool, Verdict.VIOLATED), (Closing, Verdict.HOLDS)])
def test_a_suspended_generator_ends_where_its_last_reference_goes(kind, verdict):
    result = counted(kind.use, kind.drop, setup=kind, invariant=lambda pool: pool.left == 0, schedules=100)
    assert result.verdict is verdict, str(result)
