"""The ledger says what each phase of a check may spend. The clock of these tests advances only when they say so."""

import ast
import inspect
import math
from pathlib import Path

import pytest

from pytest_gilcheck import fuzz, search
from pytest_gilcheck.search import ledger
from pytest_gilcheck.search.ledger import RECORD, REPORT, REPORT_EACH, REPORT_RUNS, TABLE, UNITS, Account, Ledger

from ..fuzz.programs import Clock

MOST = 60  # numbers that steer a search
# Numbers that steer no search: how a process is looked after, how a report looks, and what arguments are by default.
ELSEWHERE = {
    "search/plan.py", "search/explorer.py", "search/harness.py", "fuzz/entry.py", "fuzz/forked.py", "fuzz/isolated.py",
    "fuzz/explaining/rows.py", "fuzz/explaining/explain.py", "fuzz/explaining/recorder.py", "fuzz/check.py",
    "fuzz/shared_values.py", "fuzz/reasons.py", "search/forks.py", "search/hang_watch.py",
    # Those of what is searched on summaries alone will follow.
    "search/focus.py", "search/races.py", "search/reduction.py", "search/frontier.py", "search/first_runs.py",
}  # fmt: skip


def test_the_table_has_at_most_so_many_numbers_each_with_a_unit_and_a_reason():
    assert len(TABLE) <= MOST
    for name, entry in TABLE.items():
        assert getattr(ledger, name) == entry.value
        assert entry.unit in UNITS, name
        assert len(entry.reason.split()) >= 4, name


def numbers(path):
    """The names in a module that are bound to numbers."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(isinstance(value, ast.Constant) and type(value.value) in (int, float) for value in values):
                yield ast.unparse(node)


def test_no_module_of_the_search_or_of_the_report_has_a_number_of_its_own():
    found = {}
    for package in (search, fuzz):
        folder = Path(inspect.getfile(package)).parent
        for path in folder.rglob("*.py"):
            name = path.relative_to(folder.parent).as_posix()
            if name not in ELSEWHERE and not name.startswith("fuzz/crashing/"):
                found[name] = list(numbers(path))
    assert not {name: each for name, each in found.items() if each}
    assert "search/orders.py" in found


def counting(most, clock, **more):
    """An account by count."""
    return Account(clock.now + 10.0, most, now=clock, **more)


def test_an_account_by_time_ends_at_its_time_and_a_mark_is_a_share_of_what_is_left():
    clock = Clock()
    account = Account(clock.now + 10.0, now=clock)
    clock.now += 2.0
    mark = account.mark(0.5, least=99)
    assert account.left() == 8.0
    clock.now += 4.0
    assert not account.reached(mark)
    clock.now += 0.1
    assert account.reached(mark)
    assert not account.reached()
    clock.now += 4.0
    assert account.reached()
    assert not account.expired, "it is by time"


def test_an_account_by_count_ends_after_so_many_schedules_whatever_the_clock_says():
    clock = Clock()
    account = counting(20, clock)
    assert account.left() == math.inf
    share, least = account.mark(0.25), account.mark(0.25, least=8)
    for number in range(20):
        assert account.reached(share) is (number >= 5)
        assert account.reached(least) is (number >= 8)
        assert not account.reached()
        clock.now += 0.1
        account.ran += 1
    assert account.reached()
    assert not account.expired


def test_an_account_by_count_has_expired_if_its_time_comes_first():
    clock = Clock()
    account = counting(20, clock)
    clock.now += 10.1
    assert account.reached()
    assert account.expired


def test_schedules_are_allowed_by_what_those_before_have_taken_or_by_their_number():
    clock = Clock()
    account = counting(100, clock)
    assert account.allows(50, 0.5, pace=1000.0)
    assert not account.allows(51, 0.5, pace=0.0)
    timed = Account(clock.now + 10.0, now=clock)
    timed.ran = 2
    clock.now += 2.0
    assert timed.allows(4, 0.5, pace=0.0), "a second for each so far, and eight are left"
    assert not timed.allows(5, 0.5, pace=0.0)
    assert timed.allows(8, 0.5, pace=0.5)


def test_a_recorded_run_counts_as_many_where_a_report_is_counted_and_as_one_where_a_search_is():
    clock = Clock()
    for account, each in ((counting(100, clock, records=True), RECORD), (counting(100, clock), 1)):
        for _ in range(3):
            account.ran += 1
            account.recorded()
        assert account.reached(3 * each)
        assert not account.reached(3 * each + 1)
        assert account.fits(10, seconds=0.0, mark=100.0) is (each == 1)


def test_a_record_fits_by_time_if_it_ends_before_the_mark():
    clock = Clock()
    account = Account(clock.now + 10.0, now=clock)
    assert account.fits(3, 2.0, clock.now + 6.0)
    assert not account.fits(4, 2.0, clock.now + 6.0)


@pytest.mark.parametrize("counted", [False, True])
def test_a_report_has_so_many_runs_as_make_so_many_steps_and_some_however_long_they_are(counted):
    clock = Clock()
    budget = Ledger(1000.0, counted=counted, now=clock)
    for points, runs in (
        (0, REPORT // REPORT_EACH + REPORT_RUNS),
        (750, REPORT // 1000 + REPORT_RUNS),
        (100 * REPORT, REPORT_RUNS),
    ):
        account = budget.account(0.5, points)
        account.ran += runs // 2 - 1
        assert not account.reached(), points
        account.ran += 2
        assert account.reached()
        assert not account.expired


def test_what_a_phase_leaves_undone_is_said_once_and_what_the_clock_has_cut_short_apart():
    clock = Clock()
    budget = Ledger(10.0, counted=True, now=clock)
    ended, open_ = budget.account(0.0, 100), budget.account(0.5, 100)
    for account in (ended, open_, ended):
        budget.closed(account, "minimising", "not fully minimised")
    assert (budget.unfinished, budget.late) == (["not fully minimised"], [])
    late = budget.account(0.5, 100)
    clock.now += 11.0
    budget.closed(late, "minimising", "not fully minimised")
    assert not budget.late, "it had come to its own end before"
    late.reached()
    budget.closed(late, "minimising", "not fully minimised")
    assert budget.late == ["minimising"]


def test_a_report_by_time_gets_its_share_and_never_more_than_a_tenth_beyond_the_budget():
    clock = Clock()
    budget = Ledger(10.0, now=clock)
    assert budget.share(0.4) == 1004.0
    clock.now = 1009.0
    assert budget.share(0.4) == 1011.0
    assert budget.left() == 2.0
    assert not budget.over()
    clock.now = 1012.0
    assert budget.left() == 0.0
    assert budget.over()
    assert budget.is_past(budget.share(0.4))
    assert not Ledger(0.0, counted=True, now=clock).over(), "a report of a counted search depends on no time"
