"""What takes long in the first run alone, such as a table that it fills, ends no check; what takes long in each run does."""

import os
import re

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.engine.running import watchdog
from pytest_gilcheck.engine.running.events import Events
from pytest_gilcheck.engine.running.journal import Journal, Stage
from pytest_gilcheck.search.hang_watch import HangWatch

from ..undecided import expect
from .programs import Counter, counted, is_two

TABLE = {}
ENDED = []  # whether steps are reported no more
DEAR = {"schedules": 300}


@pytest.fixture(autouse=True)
def empty():
    TABLE.clear()
    ENDED.clear()


@pytest.fixture
def short_reports(monkeypatch):
    """The first run goes on without reports after few points; `fill` ends as soon as that is so, on a machine of any speed."""
    real = Events.end_reports

    def noted(events):
        real(events)
        ENDED.append(True)

    monkeypatch.setattr(Events, "end_reports", noted)
    monkeypatch.setattr(watchdog, "_MOST_REPORTED", 500)


def fill():
    while not TABLE or (not ENDED and len(TABLE) < 5_000_000):
        TABLE[len(TABLE)] = len(TABLE) + 1


def table():
    if not TABLE:
        fill()
    return TABLE


def add_of_table(counter):
    one = table()[0]
    counter.value += one


def add_of_table_locked(counter):
    one = table()[0]
    with counter.lock:
        counter.value += one


def test_a_race_behind_a_first_run_that_is_dear_only_once_is_found(short_reports):
    result = counted(add_of_table, add_of_table, setup=Counter, invariant=is_two, **DEAR)
    assert ENDED
    assert result.verdict == "violated", str(result)
    assert result.preemptions == 1
    assert result.coverage.endswith("(fill) on took too long to be watched"), result.coverage
    TABLE.clear()
    again = counted(add_of_table, add_of_table, setup=Counter, invariant=is_two, replay=result.token)
    assert again.verdict == "violated", str(again)


def test_of_a_dear_first_run_it_is_said_what_was_not_searched_and_what_to_do(short_reports):
    result = counted(add_of_table_locked, add_of_table_locked, setup=Counter, invariant=is_two, **DEAR)
    assert ENDED
    assert result.verdict == "inconclusive", str(result)
    assert result.why == "not repeatable"
    assert result.told.startswith("the first run took ")
    assert f"and made 'TABLE' of module {__name__}" in result.reason
    assert "(fill) on were not watched, and none of its schedules was searched" in result.reason
    assert "make it before the check: call it once in a fixture, or in setup; otherwise " in result.reason


@pytest.mark.parametrize("where", ["before", "in setup"])
def test_what_is_made_before_the_check_or_in_setup_is_searched_as_a_whole(short_reports, where):
    def made():
        table()
        return Counter()

    if where == "before":
        TABLE[0] = 1
    ENDED.append(True)
    setup = Counter if where == "before" else made
    fixed = counted(add_of_table_locked, add_of_table_locked, setup=setup, invariant=is_two, **DEAR)
    assert fixed.verdict == "holds", str(fixed)
    assert "first run" not in fixed.coverage
    racy = counted(add_of_table, add_of_table, setup=setup, invariant=is_two, **DEAR)
    assert racy.verdict == "violated", str(racy)


def computed():
    """Seconds, by a clock that no check makes virtual."""
    return sum(os.times()[:2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning")
@pytest.mark.parametrize("locked", [False, True])
def test_nor_does_it_end_a_check_that_is_guarded_by_another_process(locked):
    """By real time: it computes for 3 s, and a run may take 2 s."""

    def fill_for_long():
        until = computed() + 3
        while computed() < until:
            TABLE[len(TABLE) % 100] = 1

    def use(counter):
        if not TABLE:
            fill_for_long()
        (add_of_table_locked if locked else add_of_table)(counter)

    result = gilcheck.fuzz(threads=[use, use], setup=Counter, invariant=is_two, budget=2, seed=1, judge=False)
    if locked:
        assert "none of its schedules was searched" in result.reason, str(result)
    else:
        expect(result, "violated")
        assert "on took too long to be watched" in result.coverage


@pytest.mark.slow
def test_a_program_whose_each_run_is_too_long_is_not_explorable():
    def use(counter):
        while computed() < counter.until:
            counter.value += 1

    class Long(Counter):
        def __init__(self):
            super().__init__()
            self.until = computed() + 4

    result = gilcheck.fuzz(threads=[use, use], setup=Long, budget=2, seed=1, judge=False)
    assert result.verdict == "inconclusive", str(result)
    assert result.why == "not explorable"
    assert result.told.startswith("a run of it has not ended after 2 s: T")


@pytest.mark.slow
def test_a_first_run_that_never_ends_is_ended_by_the_timeout():
    def use(counter):
        while True:
            counter.value += 1

    result = gilcheck.fuzz(threads=[use, use], setup=Counter, budget=2, timeout=4, seed=1, judge=False)
    assert result.verdict == "inconclusive", str(result)
    assert re.search(r"not explorable: a run of it has not ended after 4 s: T[01] is at .*never_ends", result.reason), str(result)


def test_another_process_gives_a_run_without_reports_more_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("pytest_gilcheck.search.hang_watch.monotonic", lambda: now[0])
    monkeypatch.setattr("pytest_gilcheck.search.hang_watch._cpu_seconds", lambda pid: now[0])
    journal = Journal()
    watch = HangWatch(journal, 2.0, 8.0)

    def hangs_after(seconds, *, unreported):
        journal.begin(Stage.SETUP)
        journal.begin(Stage.THREADS)
        assert not watch.hangs(os.getpid())
        if unreported:
            journal.go_on_unreported()
        now[0] += seconds
        return watch.hangs(os.getpid())

    for unreported, longest in ((False, 2), (True, 8), (False, 2)):
        assert not hangs_after(longest - 1, unreported=unreported)
        assert hangs_after(longest + 2, unreported=unreported)
    journal.close()
