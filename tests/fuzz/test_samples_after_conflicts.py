"""When no conflict is left, samples follow: they find a mistake about what a step touches, or which instruction is a step."""

import pytest

from pytest_gilcheck.engine.bytecode.changing import Changing
from pytest_gilcheck.engine.touched import trace
from pytest_gilcheck.fuzz import check
from pytest_gilcheck.search import ledger
from pytest_gilcheck.search.bound import Bound
from pytest_gilcheck.search.explorer import Explorer
from pytest_gilcheck.search.search import Search

from ..slow import one_in
from .alone import (
    Own,
    announce,
    call_c,
    count_alone,
    count_locked,
    count_shared,
    read_clock,
    share_if_announced,
    start_thread,
    use_chance,
)
from .programs import SETTLED, Counter, Sums, add, add_locked, alike, counted, is_two, look, move, work_alone

PROGRAMS = {"lost update": (add, add, Counter, is_two), "torn pair": (move, look, Sums, alike)}


def blind_recorder(monkeypatch):
    """Nothing that a step touches is changed."""
    real = trace.touches_of
    monkeypatch.setattr(
        trace, "touches_of", lambda *step, **how: [touch._replace(changes=False) for touch in real(*step, **how) or ()]
    )


def constant_names(monkeypatch):
    """No attribute ever changes, so to read one is no step."""

    def attribute_changes(names, name, *, method):
        names._used.update(names._flags())
        return False

    monkeypatch.setattr(Changing, "attribute_changes", attribute_changes)
    monkeypatch.setattr(check, "check_alone", lambda: None)  # which would notice


MISTAKES = one_in(2, [blind_recorder, constant_names])


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_what_a_step_touches_or_in_which_one_is_visible_is_found_by_the_samples(mistake, name, monkeypatch):
    first, second, setup, invariant = PROGRAMS[name]
    mistake(monkeypatch)
    result = counted(first, second, setup=setup, invariant=invariant, schedules=1000)
    assert result.verdict == "violated", result.reason
    assert result.replays == (10, 10)
    again = counted(first, second, setup=setup, invariant=invariant, replay=result.token)
    assert again.verdict == "violated", "the token says which instructions were steps"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_without_the_samples_these_mistakes_would_hold(mistake, monkeypatch):
    mistake(monkeypatch)
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    result = counted(add, add, setup=Counter, invariant=is_two, schedules=1000)
    assert result.bound in SETTLED


@pytest.mark.slow
def test_before_the_search_is_settled_all_classes_are_looked_at_once_more(monkeypatch):
    """A class that only a late run has made may compute an attribute that counted as constant."""
    happened = []

    def noted(kind, name, what):
        real = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda self, *how, **named: happened.append(what) or real(self, *how, **named))

    noted(Explorer, "once", "run")
    noted(Changing, "in_classes", "look")
    monkeypatch.setattr(Search, "_passes_test", lambda *of: happened.append("test") or True)
    for threads in (2, 3, 4):
        happened.clear()
        result = counted(*[add_locked] * threads, setup=Counter, schedules=1000)
        assert result.bound in SETTLED
        assert happened[: happened.index("test")][-1] == "look", happened


def test_what_leaves_no_conflict_says_how_many_samples_followed():
    result = counted(add_locked, add_locked, setup=Counter, invariant=is_two, schedules=1000)
    assert result.verdict == "holds"
    assert (result.bound, result.samples) == (Bound.CONFLICTS, 180), result.reason


def test_threads_that_share_nothing_are_tested_with_fewer_samples_and_with_ten_if_they_are_long(monkeypatch):
    result = counted(work_alone, work_alone, schedules=1000)
    assert (result.bound, result.samples) == (Bound.INDEPENDENT, 60)
    assert result.reason == "the threads touched nothing in common that changes: 1 schedule, and 60 samples: no failure"
    monkeypatch.setattr(ledger, "TESTED_POINTS", 20)  # so this one is long
    result = counted(work_alone, work_alone, schedules=1000)
    assert (result.bound, result.samples) == (Bound.INDEPENDENT, 10)
    assert result.schedules < 30, "with the sequential orders"


def both(one, other, *, state, **arguments):
    return counted(one, other, setup=state, schedules=1000, **arguments)


@pytest.mark.slow
def test_one_shared_counter_beside_all_that_is_their_own_is_found(monkeypatch):
    monkeypatch.setattr(ledger, "TESTED_POINTS", 20)
    assert both(count_alone, count_alone, state=Own).bound is Bound.INDEPENDENT
    result = both(count_shared, count_shared, state=Own, invariant=lambda own: own.count == 2)
    assert result.verdict == "violated", str(result)
    fixed = both(count_locked, count_locked, state=Own, invariant=lambda own: own.count == 2)
    assert fixed.verdict == "holds", str(fixed)
    assert fixed.bound is not Bound.INDEPENDENT


def test_what_is_shared_in_one_order_only_is_searched(monkeypatch):
    monkeypatch.setattr(ledger, "TESTED_POINTS", 20)
    for threads in ((announce, share_if_announced), (share_if_announced, announce)):
        result = both(*threads, state=Own, invariant=lambda own: not own.seen or own.count == 1)
        assert result.verdict == "holds", str(result)
        assert result.bound is not Bound.INDEPENDENT


@pytest.mark.parametrize("thread", one_in(2, [call_c, start_thread, read_clock, use_chance]))
def test_nothing_is_said_of_threads_of_which_not_all_is_known(thread):
    assert both(thread, thread, state=Own).bound is not Bound.INDEPENDENT


@pytest.mark.slow
def test_threads_that_seem_to_share_nothing_are_searched_on_if_a_sample_takes_another_path(monkeypatch):
    monkeypatch.setattr(trace, "touches_of", lambda *step, **how: [])
    assert both(count_shared, count_alone, state=Own).bound is Bound.INDEPENDENT
    result = both(announce, share_if_announced, state=Own)
    assert result.verdict == "holds", str(result)
    assert result.bound is not Bound.INDEPENDENT
    assert "schedules (schedules=1000)" in result.reason


def test_the_test_ends_with_the_number_of_schedules():
    result = counted(add_locked, add_locked, setup=Counter, invariant=is_two, schedules=60)
    assert result.verdict == "holds"
    samples = result.samples
    assert 0 < samples < 60
