"""Where time is short, samples switch only where several threads touch the same; what they find is followed with every step."""

import ctypes
import math
import queue
import re
import threading
from contextlib import contextmanager
from random import Random

import pytest

from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.schedule import Choice, Schedule, Token
from pytest_gilcheck.fuzz.check import fuzz
from pytest_gilcheck.fuzz.draws import Drawn
from pytest_gilcheck.search import ledger
from pytest_gilcheck.search.conflicts import first_focus
from pytest_gilcheck.search.explorer import Explorer
from pytest_gilcheck.search.focus import Focus
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.outcome import SearchOutcome
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.reduction import Reduction
from pytest_gilcheck.search.samples import Sampling
from pytest_gilcheck.search.sampling import PartialOrder, Priorities, UniformWalk
from pytest_gilcheck.search.search import Search
from tests.quality.corpus import CASES
from tests.undecided import undecided

PRIVATE = 50  # elements that each thread puts into a list of its own


class State:
    def __init__(self):
        self.n, self.order, self.lock = 0, [], threading.Lock()


def busy():
    mine = []
    for index in range(PRIVATE):
        mine.append(index)
    return mine


def lose(state):
    busy()
    seen = state.n
    busy()
    state.n = seen + 1
    state.order.append(threading.current_thread().name)


def keep(state):
    busy()
    with state.lock:
        seen = state.n
        busy()
        state.n = seen + 1
        state.order.append(threading.current_thread().name)


class Address:
    """Says that it is ready before its address is there."""

    def __init__(self):
        self.ready, self.buffer = False, ctypes.create_string_buffer(b"text")
        self.address = 0


def publish(state):
    busy()
    state.ready = True
    busy()
    state.address = ctypes.addressof(state.buffer)


def use(state):
    busy()
    if state.ready:
        ctypes.string_at(state.address)


def both_count(state):
    assert state.n == 2, state.n


@pytest.fixture
def short(monkeypatch):
    """There is never time for every step, and no schedule is run by its conflicts but the first."""
    monkeypatch.setattr(Search, "_too_long_for_every_step", lambda self: self._focus is not None)
    monkeypatch.setattr(ledger, "SHORT", math.inf)
    monkeypatch.setattr(ledger, "SHORT_LATER", math.inf)
    for name in ("_turn_round", "_follow_hint"):
        whole = getattr(Reduction, name)
        monkeypatch.setattr(Reduction, name, lambda self, *args, whole=whole: whole(self, *args) if self.gil else None)
    monkeypatch.setattr(Reduction, "_doubt_of", lambda self, *arguments: "there is no time")


def program(body):
    return Program((body, body), State, both_count, body.__name__, None)


@pytest.mark.slow
def test_a_lost_update_is_found_and_minimised_and_its_token_replays(short):
    plan = FuzzPlan(budget=10.0)
    result = fuzz(program(lose), plan)
    assert result.verdict is Verdict.VIOLATED, result.message
    if "the budget was spent" in result.reason:
        undecided(result.reason)
    assert result.preemptions == 1
    again = fuzz(program(lose), FuzzPlan(budget=10.0, replay=Token.read(result.token)))
    assert again.verdict is Verdict.VIOLATED, again.message


@pytest.mark.slow
def test_the_twin_with_a_lock_holds_and_the_claim_says_at_how_many_points(short):
    result = fuzz(program(keep), FuzzPlan(budget=2.0))
    if result.reason.startswith("cut short"):
        undecided(result.reason)
    assert result.verdict is Verdict.HOLDS, result.message
    assert "points where threads may touch the same" in result.reason


@pytest.mark.slow
def test_where_conflicts_have_left_no_time_for_every_step_the_samples_after_them_leave_some_out(monkeypatch):
    monkeypatch.setattr(ledger, "SHORT", 0.0)  # at first there seems to be enough
    monkeypatch.setattr(ledger, "SHORT_LATER", math.inf)
    monkeypatch.setattr(Reduction, "_doubt_of", lambda self, *arguments: "there is no time")
    monkeypatch.setattr(Search, "_enumerate", lambda self: True)
    monkeypatch.setattr(Search, "_too_long_for_every_step", lambda self: self._focus is not None and self.found.sampled > 0)
    result = fuzz(program(keep), FuzzPlan(budget=1.5))
    assert result.verdict is not Verdict.VIOLATED, result.message
    narrow = re.findall(r"([\d,]+) sampled at the \d+ points where threads may touch the same", result.reason)
    if not narrow and result.reason.startswith("cut short"):
        undecided(result.reason)
    assert narrow, result.reason


def test_a_claim_says_how_many_schedules_left_steps_out_by_conflicts_by_samples_and_with_further_draws():
    whole, narrow = (
        SearchOutcome(conflicts=30, sampled=90),
        SearchOutcome(conflicts=30, focused_conflicts=20, sampled=90, focused=80, focus=12),
    )
    in_focus = "at the 12 points where threads may touch the same"
    assert "may touch the same" not in str(whole)
    assert f"30 schedules by their conflicts (20 of them only {in_focus}), then 80 sampled {in_focus}" in str(narrow)
    assert "; and 40 schedules with 3 other draws of" in str(Drawn(whole, 3, 40, 0, 40, uses=True))
    assert "40 schedules (25 of them only at points where threads may touch the same) with 3" in str(
        Drawn(whole, 3, 40, 25, 40, uses=True)
    )


@pytest.mark.slow
def test_a_step_of_which_it_is_a_guess_what_it_touches_is_left(short):
    twin = next(case.buggy for case in CASES if case.name == "observers")
    searched = Program(twin.threads, twin.setup, twin.invariant, "observers", None)
    assert fuzz(searched, FuzzPlan(budget=5.0)).verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_a_crash_is_a_finding_with_one_preemption_and_a_token(short):
    result = Gilcheck().fuzz(setup=Address, threads=[publish, use], budget=4.0)
    if "the budget was spent" in result.reason:  # in the middle of minimising
        undecided(result.reason)
    assert (result.verdict, result.symptom, result.preemptions) == (Verdict.VIOLATED, "crashed", 1), result.message
    again = Gilcheck().fuzz(setup=Address, threads=[publish, use], replay=result.token)
    assert (again.verdict, again.symptom) == (Verdict.VIOLATED, "crashed"), again.message


def test_most_steps_are_hidden_and_those_on_what_both_threads_touch_are_left():
    with focused(program(lose)) as (explorer, found):
        whole, _ = explorer.follow(Schedule())
    assert found is not None
    assert found.points < whole.points / 10
    assert ".n" not in {access.name for access in found.hidden.values()}


@contextmanager
def focused(searched):
    """An explorer of a program, and the focus of its recorded run."""
    with explorer_for(searched, FuzzPlan(timeout=20.0), lambda label: None) as explorer:
        explorer.sequential()
        yield explorer, first_focus(explorer)


def test_when_more_is_known_of_names_every_step_is_a_point_of_the_new_tables():
    with focused(program(lose)) as (explorer, found):
        explorer.hide(found.hidden)
        narrow, _ = explorer.follow(Schedule())
        explorer.events.names._set("looked_into")  # code that looks into frames has started: each instruction is a step
        assert not explorer.events.tables_unchanged()
        more, _ = explorer.follow(Schedule())
        explorer.hide({})
        whole, _ = explorer.follow(Schedule())
    assert narrow.points < whole.points == more.points


@pytest.mark.slow
def test_what_fails_without_some_steps_and_not_with_all_is_told_and_never_holds(short, monkeypatch):
    whole = Explorer.follow_without
    monkeypatch.setattr(Explorer, "follow_without", lambda self, *arguments: (whole(self, *arguments)[0], None))
    monkeypatch.setattr(Sampling, "_portfolio", once_in_focus(Sampling._portfolio))
    monkeypatch.setattr(Focus, "led", lambda *of: True)  # else it is run again with every step
    result = fuzz(program(lose), FuzzPlan(budget=2.0))
    assert result.verdict in (Verdict.INCONCLUSIVE, Verdict.VIOLATED), result.message  # a run with every step may fail by itself
    assert "a run in which steps were left out failed (invariant: " in result.reason


def once_in_focus(portfolio):
    """No sample at every step, which would find it as well."""

    def focused(self, *arguments, **how):
        if how.get("focused"):
            return (yield from portfolio(self, *arguments, **how))
        self.found.sampled = 10**6
        return set()

    return focused


class Work:
    def __init__(self):
        self.items, self.total, self.lock = queue.SimpleQueue(), 0, threading.Lock()
        for _ in range(4):
            self.items.put(1)


class Node:
    def __init__(self, parent):
        self.parent, self.children, self.weight = parent, [], 0


def grow():
    """A tree that only its own cycles keep alive when the thread has ended."""
    root = Node(None)
    for _ in range(PRIVATE):
        root.children.append(Node(root))
        root.weight += 1


def taken(work):
    while True:
        try:
            yield work.items.get_nowait()
        except queue.Empty:
            return


def count(work, item):
    grow()
    work.total += item


def count_under_the_lock(work, item):
    grow()
    with work.lock:
        work.total += item


def all_of(counting):
    def worker(work):
        for item in taken(work):
            counting(work, item)

    return worker


def four_are_counted(work):
    return work.total == 4


def workers(counting):
    return Program((all_of(counting),) * 2, Work, four_are_counted, counting.__name__, None)


def test_what_one_worker_did_alone_for_the_other_too_is_left_and_what_a_cycle_alone_keeps_is_not():
    with focused(workers(count)) as (explorer, found):
        whole, _ = explorer.follow(Schedule())
    hidden = {access.name for access in found.hidden.values()}
    assert ".total" not in hidden, "in this run the first worker takes all items"
    assert {".weight", ".children"} <= hidden
    assert found.points < whole.points / 10


@pytest.mark.slow
@pytest.mark.parametrize(("counting", "verdict"), [(count, Verdict.VIOLATED), (count_under_the_lock, Verdict.HOLDS)])
def test_an_update_that_workers_lose_is_found_where_steps_are_left_out(short, counting, verdict):
    result = fuzz(workers(counting), FuzzPlan(budget=6.0, seed=1))
    if "cut short by budget" in result.reason:
        undecided(result.reason)
    assert result.verdict is verdict, result.message


class Box:
    def __init__(self):
        self.done = False


class Total:
    def __init__(self):
        self.pending, self.total = None, 0


def wait(box):
    while True:
        if box.done:
            return


def get(state):
    box = state.pending
    if box is None:
        box = Box()
        state.pending = box
        state.total += 1
        box.done = True
        state.pending = None
    wait(box)


def test_a_thread_that_polls_what_no_other_touched_in_the_recorded_run_is_stopped_all_the_same():
    with focused(Program((get, get), Total, None, "get", None)) as (explorer, found):
        explorer.hide(found.hidden)
        runs = [explorer.follow(Schedule((Choice(point, 1),)))[0] for point in range(1, found.points)]
    assert not any(run.stuck for run in runs)
    assert any(run.yields for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("body", [lose, keep])
def test_a_run_in_which_steps_were_hidden_ends_alike_when_every_step_is_a_point(body):
    seen, compared = [], 0
    states = []

    def setup():
        states.append(State())
        return states[-1]

    with focused(Program((body, body), setup, None, "followed", None)) as (explorer, kept):
        lengths = [kept.lengths[0], kept.lengths[1]]
        draw = Random(1)
        for number in range(30):
            explorer.hide(kept.hidden)
            policy = (Priorities(draw, kept.points), UniformWalk(draw, lengths), PartialOrder(draw))[number % 3]
            narrow, _ = explorer.once(policy)
            found = states[-1].n, states[-1].order
            whole, _ = explorer.follow_without(narrow.schedule, kept.hidden)
            assert (states[-1].n, states[-1].order) == found
            assert [choice.thread for choice in whole.schedule.choices] == [choice.thread for choice in narrow.schedule.choices]
            assert whole.points > narrow.points
            again, _ = explorer.follow(whole.schedule)
            assert (states[-1].n, states[-1].order) == found
            assert again.points == whole.points
            seen.append(found[0])
            compared += bool(narrow.schedule.preemptions)
    assert compared > 10
    assert set(seen) == ({1, 2} if body is lose else {2})
