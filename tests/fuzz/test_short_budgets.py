"""What a search does with a budget that is short for the program. The clock advances by runs, switches and recordings alone."""

import functools
import math
import operator
import re
import threading
from dataclasses import replace

import pytest

from pytest_gilcheck.engine import execution
from pytest_gilcheck.engine.running.engine import Engine
from pytest_gilcheck.engine.running.turns import Turns
from pytest_gilcheck.engine.touched import trace
from pytest_gilcheck.engine.touched.trace import Trace
from pytest_gilcheck.fuzz import check, draws
from pytest_gilcheck.search import conflicts, explorer, here, ledger, reduction, search, strategy
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.ledger import FEWEST
from pytest_gilcheck.search.outcome import SearchOutcome

from ..slow import one_in
from .programs import Clock, plan


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (check, draws, execution, explorer, here, ledger, conflicts, reduction, strategy, trace):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock


def costs(monkeypatch, clock, kind, method, seconds):
    """Make each call of a method take so long."""
    real = getattr(kind, method)

    def slow(self, *arguments, **named):
        clock.now += seconds
        return real(self, *arguments, **named)

    monkeypatch.setattr(kind, method, slow)


class Shared:
    def __init__(self):
        self.words = ["b", "a"]
        self.count = 0

    def read(self):
        for _ in range(150):
            functools.reduce(max, self.words)

    def count_up(self):
        for _ in range(50):
            self.count = self.count + 1
            functools.reduce(max, self.words)


def begun_in_c(method):
    """A thread that begins in code that is not under test: a doubt, so no search settles."""
    return operator.methodcaller(method.__name__)


def in_two_threads(method, budget):
    return check.fuzz(check.program([begun_in_c(method)] * 2, Shared, None, None), plan(seed=1, budget=budget))


@pytest.mark.slow
def test_samples_of_a_long_program_switch_seldom_if_many_switches_would_leave_no_time_for_enough_of_them(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.001)
    costs(monkeypatch, clock, Turns, "hand_to", 0.001)
    result = in_two_threads(Shared.read, budget=1.0)
    assert result.verdict == "holds", result.reason
    assert "sampled" in result.reason


@pytest.mark.slow
def test_recordings_that_take_long_leave_time_for_samples(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.001)
    costs(monkeypatch, clock, Trace, "ended", 0.02)
    result = in_two_threads(Shared.count_up, budget=0.5)
    assert result.verdict == "holds", result.reason
    assert "by their conflicts" in result.reason
    assert "sampled" in result.reason


def test_a_run_that_takes_too_long_to_record_goes_on_without_its_record_and_samples_alone_make_no_pass(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.001)
    costs(monkeypatch, clock, Trace, "__call__", 0.002)
    result = in_two_threads(Shared.read, budget=1.0)
    assert result.verdict == "inconclusive", result.reason
    assert "1 schedule by their conflicts" in result.reason
    assert 1 + int(re.search(r"then (\d+) sampled", result.reason)[1]) >= FEWEST, "which they do where conflicts are known"
    assert "no time to record a run, so it is not known which of its steps conflict" in result.reason


def test_a_record_may_take_the_time_of_samples_where_these_will_leave_steps_out(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.0071)
    costs(monkeypatch, clock, Trace, "__call__", 0.001)
    result = in_two_threads(Shared.read, budget=1.0)
    assert "no time to record" not in result.reason
    assert "sampled at the" in result.reason


def test_a_program_too_long_to_be_recorded_at_all_is_sampled(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.09)
    costs(monkeypatch, clock, Trace, "__call__", 1.0)
    result = in_two_threads(Shared.count_up, budget=1.0)
    assert result.verdict == "inconclusive"
    assert result.why == "cut short"
    assert "sampled" in result.reason
    assert clock.now < 1002


def test_a_program_too_long_for_even_such_samples_is_cut_short(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.02)
    result = in_two_threads(Shared.read, budget=1.0)
    assert result.verdict == "inconclusive"
    assert result.why == "cut short"


class MadeOnce:
    def __init__(self):
        self.lock, self.made = threading.Lock(), None

    def get(self):
        if self.made is None:
            with self.lock:
                if self.made is None:
                    made = functools.reduce(dict.__or__, ({"name": "x"},))
                    self.made = made
        return self.made["name"]


def test_a_level_of_the_enumeration_that_does_not_end_leaves_time_for_samples(monkeypatch, clock):
    costs(monkeypatch, clock, Engine, "run", 0.001)
    program = check.program([begun_in_c(MadeOnce.get)] * 3, MadeOnce, None, None)
    result = check.fuzz(program, plan(seed=1, budget=0.16))
    assert result.verdict == "holds", result.reason
    assert "sampled" in result.reason


class Stepwise:
    def __init__(self):
        self.words, self.one, self.two = ["b", "a"], 0, 0

    def many(self):
        for _ in range(10):
            self.one = self.two
            self.two = self.one
        functools.reduce(max, self.words)

    def one_time(self):
        self.one = self.two
        self.two = self.one
        functools.reduce(max, self.words)


def slower_after(monkeypatch, clock, runs, seconds):
    """Make each run take a millisecond, and after so many runs, so many seconds."""
    real, begun = Engine.run, []

    def slower(self, *arguments, **named):
        begun.append(clock.now)
        clock.now += 0.001 if len(begun) < runs else seconds
        return real(self, *arguments, **named)

    monkeypatch.setattr(Engine, "run", slower)


def search_of(threads, clock, budget):
    program = check.program(threads, Stepwise, None, None)
    with explorer_for(program, plan(seed=1), lambda label: None) as one:
        sequential = one.sequential()
        return search.Search(one, 2, ledger.Account(clock.now + budget, now=clock), 1).run(sequential)


def test_a_level_that_takes_longer_than_expected_was_run_in_a_drawn_order_so_what_was_run_of_it_counts(monkeypatch, clock):
    slower_after(monkeypatch, clock, 120, 0.004)
    found = search_of([Stepwise.many] * 2, clock, 0.36)
    assert found.complete == 0
    assert found.enumerated == found.exhausted
    assert not found.too_few, str(found)


def test_of_such_a_level_the_other_orders_of_the_threads_after_a_preemption_do_not_count(monkeypatch, clock):
    slower_after(monkeypatch, clock, 200, 0.006)
    found = search_of([Stepwise.one_time] * 3, clock, 0.36)
    assert found.complete == 0
    assert found.enumerated - found.exhausted >= 10, str(found)
    assert found.counting == found.sampled + found.conflicts


@pytest.mark.slow
@pytest.mark.parametrize("brief_after", one_in(2, [2.0, math.inf]))
def test_a_brief_search_ends_when_it_is_enough_for_a_claim(monkeypatch, clock, brief_after):
    costs(monkeypatch, clock, Engine, "run", 0.01)
    with explorer_for(check.program([begun_in_c(Shared.read)] * 2, Shared, None, None), plan(seed=1), lambda label: None) as one:
        sequential, begun = one.sequential(), clock.now
        found = search.Search(one, 2, ledger.Account(clock.now + 4.0, now=clock), 1, brief_after=clock.now + brief_after).run(
            sequential
        )
    assert not found.too_few
    assert found.counting > FEWEST, str(found)
    assert (clock.now < begun + 2.1) is (brief_after == 2.0), str(found)


def test_schedules_of_a_complete_enumeration_and_those_that_turn_a_conflict_round_count_and_those_of_an_incomplete_one_do_not():
    assert not SearchOutcome(wanted=2, complete=1, exhausted=95, enumerated=95, sampled=5).too_few
    assert not SearchOutcome(wanted=2, complete=0, exhausted=2, enumerated=2, conflicts=60, sampled=40).too_few
    assert SearchOutcome(wanted=2, complete=0, exhausted=2, enumerated=5_000, sampled=50).too_few
    assert SearchOutcome(wanted=2, complete=0, exhausted=720, enumerated=720, sampled=5).too_few, "orders, without any preemption"
    assert SearchOutcome(wanted=2, complete=1, exhausted=50, enumerated=5_000, sampled=40).too_few


def test_schedules_are_never_more_than_all_there_are():
    cut = SearchOutcome(wanted=2, complete=1, exhausted=500, enumerated=22_500, pending=15_000, sampled=9)
    assert "22,000 of more than 22,000 with 2 preemptions by enumeration, then 9 sampled of more than 22,000 with" in str(cut)
    assert "then 4,500 of about 15,000 with 2 preemptions" in str(replace(cut, enumerated=5_000))


class Loading:
    def __init__(self):
        self.entries, self.ready, self.found, self.counted, self.lock = {}, False, [], 0, threading.Lock()


def load(state):
    with state.lock:
        state.entries["a"] = 1
    state.ready = True


def find(state):
    if not state.ready and state.entries:  # the load is not quite done
        state.counted += 1
        state.found.append(1)


def find_with_lock(state):
    with state.lock:
        find(state)


def before_and_after_much_in_c(body):
    def thread(state):
        state.one = state.two = state.three = state.four = state.five = 1  # races that do no harm
        for _ in range(100):
            functools.reduce(max, ("b", "a"))
        body(state)
        for _ in range(100):
            functools.reduce(max, ("b", "a"))

    return thread


@pytest.mark.slow
@pytest.mark.parametrize(("look", "broken"), [(find, True), (find_with_lock, False)])
def test_runs_with_a_likely_conflict_are_recorded_if_that_leaves_time_for_samples(monkeypatch, clock, look, broken):
    costs(monkeypatch, clock, Engine, "run", 0.02)
    costs(monkeypatch, clock, Trace, "ended", 1.5)
    threads = [before_and_after_much_in_c(body) for body in (load, look, look)]
    program = check.program(threads, Loading, lambda state: state.counted == len(state.found), None)
    result = check.fuzz(program, plan(seed=1, budget=20.0))
    assert (result.verdict == "violated") is broken, result.reason
