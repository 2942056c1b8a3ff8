"""A proof is tested with samples, so that a mistake about what a step touches, or about which instruction is a step, comes out."""

import re

import pytest

from pytest_gilcheck.fuzz import check
from pytest_gilcheck.fuzz.conflicts import trace
from pytest_gilcheck.fuzz.searching.explorer import Explorer
from pytest_gilcheck.fuzz.searching.search import Search
from pytest_gilcheck.fuzz.steps.changing import Changing

from ..slow import one_in
from .programs import Counter, Sums, add, add_locked, alike, counted, is_two, look, move, work_alone

PROGRAMS = {"lost update": (add, add, Counter, is_two), "torn pair": (move, look, Sums, alike)}


def blind_recorder(monkeypatch):
    """Nothing that a step touches is changed."""
    real = trace.touches
    monkeypatch.setattr(trace, "touches", lambda *step: [touch._replace(changes=False) for touch in real(*step) or ()])


def constant_names(monkeypatch):
    """No attribute ever changes, so to read one is no step."""

    def attribute_changes(names, name, *, method):
        names._used.update(names._flags())
        return False

    monkeypatch.setattr(Changing, "attribute_changes", attribute_changes)
    monkeypatch.setattr(check, "check_alone", lambda: None)  # which would notice


MISTAKES = [blind_recorder, constant_names]


@pytest.mark.parametrize("name", one_in(2, PROGRAMS))
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_what_a_step_touches_or_in_which_one_is_visible_is_no_false_proof(mistake, name, monkeypatch):
    first, second, setup, invariant = PROGRAMS[name]
    mistake(monkeypatch)
    result = counted(first, second, setup=setup, invariant=invariant, schedules=1000)
    assert result.verdict == "violated", result.reason
    assert result.replays == (10, 10)
    again = counted(first, second, setup=setup, invariant=invariant, replay=result.token)
    assert again.verdict == "violated", "the token says which instructions were steps"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_without_the_samples_these_mistakes_would_be_proofs(mistake, monkeypatch):
    mistake(monkeypatch)
    monkeypatch.setattr(Search, "_passes_test", lambda *of: True)
    result = counted(add, add, setup=Counter, invariant=is_two, schedules=1000)
    assert "every interleaving" in result.reason


def test_before_a_proof_all_classes_are_looked_at_once_more(monkeypatch):
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
        assert "every interleaving" in result.reason
        assert happened[: happened.index("test")][-1] == "look", happened


def test_a_proof_says_with_how_many_samples_it_was_tested():
    result = counted(add_locked, add_locked, setup=Counter, invariant=is_two, schedules=1000)
    assert result.verdict == "holds"
    assert re.search(r"every interleaving is equivalent to .* \(tested with 200 samples\)", result.reason), result.reason


def test_threads_that_seem_to_share_nothing_are_tested_with_fewer():
    result = counted(work_alone, work_alone, schedules=1000)
    assert result.reason == "every interleaving is equivalent to the one that was run (tested with 60 samples): no failure"


def test_the_test_ends_with_the_number_of_schedules():
    result = counted(add_locked, add_locked, setup=Counter, invariant=is_two, schedules=60)
    assert result.verdict == "holds"
    samples = int(re.search(r"tested with (\d+) samples", result.reason)[1])
    assert 0 < samples < 60
