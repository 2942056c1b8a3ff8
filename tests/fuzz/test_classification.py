"""Whether a failure breaks today, is masked by the GIL, or was not decided."""

import collections
import fractions

import pytest

from pytest_gilcheck import Kind
from pytest_gilcheck.search import ledger

from .programs import Counter, add, counted, is_two


def test_a_failure_without_time_to_classify_it_has_no_kind(monkeypatch):
    monkeypatch.setattr(ledger, "CLASSIFYING", 0.0)
    result = counted(add, add, setup=Counter, invariant=is_two)
    result.assert_violated()
    assert result.kind is None
    assert "whether it breaks today was not decided" in result.reason


@pytest.mark.slow
def test_samples_of_what_breaks_today_switch_only_where_a_gil_can():
    def far_apart(counter):
        for _ in range(6):
            with counter.lock:
                counter.other = 1
        add(counter)

    result = counted(far_apart, far_apart, setup=Counter, invariant=is_two, schedules=60)
    result.assert_violated()
    assert result.kind is Kind.GIL_MASKED


class Kept:
    """A value that is read and written through Python code of the standard library, which no call instruction enters."""

    def __init__(self):
        self.by_key = collections.UserDict(n=0)
        self.by_operator = fractions.Fraction(0)
        self.half = fractions.Fraction(1, 2)
        self.by_attribute = fractions.Fraction(1)
        self.plain = 0


def by_subscript(kept):
    kept.by_key["n"] += 1


def by_operator(kept):
    kept.by_operator = kept.by_operator + kept.half


def by_comparison(kept):
    if kept.plain == 0 and kept.half < kept.by_attribute:
        kept.plain += 1


def by_attribute(kept):
    before = kept.plain
    kept.plain = before + kept.half.denominator


def by_containment(kept):
    if kept.plain == 0 and "n" in kept.by_key:
        kept.plain += 1


def in_c(kept):
    kept.plain += 1


def right(kept):
    return kept.by_key["n"] in (0, 2) and kept.by_operator in (0, 1) and kept.plain in (0, 1, 2, 4)


@pytest.mark.parametrize("thread", [by_subscript, by_operator, by_attribute], ids=lambda thread: thread.__name__)
def test_an_update_through_python_code_of_the_library_breaks_today(thread):
    result = counted(
        thread,
        thread,
        setup=Kept,
        schedules=150,
        invariant=lambda kept: right(kept) and (thread is not by_attribute or kept.plain == 4),
    )
    result.assert_violated()
    assert result.kind is Kind.BREAKS_TODAY, str(result)


@pytest.mark.parametrize("thread", [by_comparison, by_containment], ids=lambda thread: thread.__name__)
def test_so_does_a_check_by_it_before_an_act(thread):
    result = counted(thread, thread, setup=Kept, schedules=150, invariant=lambda kept: kept.plain == 1)
    result.assert_violated()
    assert result.kind is Kind.BREAKS_TODAY, str(result)


def test_the_same_in_c_is_masked():
    result = counted(in_c, in_c, setup=Kept, schedules=150, invariant=lambda kept: kept.plain == 2)
    result.assert_violated()
    assert result.kind is Kind.GIL_MASKED, str(result)


class Steps:
    """A status, and a list of what was done."""

    def __init__(self):
        self.status, self.done = "new", []


def by_append(steps):
    if steps.status == "new":
        steps.done.append(1)
        steps.status = "done"


def by_attribute_alone(steps):
    if steps.status == "new":
        steps.status = "done"
        steps.done = [*steps.done, 1]


@pytest.mark.parametrize(("thread", "kind"), [(by_append, Kind.BREAKS_TODAY), (by_attribute_alone, Kind.GIL_MASKED)])
def test_a_call_of_c_that_runs_for_the_first_time_lets_the_gil_go(thread, kind):
    result = counted(thread, thread, setup=Steps, schedules=150, invariant=lambda steps: len(steps.done) == 1)
    result.assert_violated()
    assert result.kind is kind, str(result)
