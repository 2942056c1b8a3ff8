"""The budget of a check holds for all that it does. The clock of these tests advances by the runs of the program."""

import threading

import pytest

from pytest_gilcheck.fuzz import check, draws, sensitivity
from pytest_gilcheck.search import explorer, ledger

from .programs import Clock, plan

RUN = 0.1  # seconds that a run of the program takes
FOR_THE_REPORT = 9 * RUN  # the first two runs, sequential orders after a failure, one replay, one explanation; and one begun run
ROUNDING = RUN / 100


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (check, draws, sensitivity, explorer, ledger):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock


class Lexer:
    """Published before it is initialised."""

    made = None

    def __init__(self, clock):
        clock.now += RUN
        type(self).made = None
        self.lock, self.seen, self.count = threading.Lock(), [], 0

    def get(self):
        if Lexer.made is None:
            Lexer.made = self
            self.rules = {}
            for name in range(60):
                self.rules[name] = name
        with self.lock:
            self.seen.append(len(Lexer.made.rules))

    def lose(self):
        self.count += 1

    def locked(self):
        with self.lock:
            self.seen = [*self.seen, 1]


def checked(clock, *threads, invariant=None, **arguments):
    begun = clock.now
    made = check.program(threads, lambda: Lexer(clock), invariant, None)
    result = check.fuzz(made, plan(seed=1, **arguments))
    return result, clock.now - begun


@pytest.mark.parametrize("budget", [2.0, 10.0])
def test_search_minimising_classification_and_report_end_within_the_budget_and_a_tenth(clock, budget):
    def complete(lexer):
        return all(seen == 60 for seen in lexer.seen)

    result, seconds = checked(clock, Lexer.get, Lexer.get, Lexer.get, invariant=complete, budget=budget)
    assert seconds <= 1.1 * budget + FOR_THE_REPORT + ROUNDING
    assert result.schedules * RUN == pytest.approx(seconds), "every run is counted"


@pytest.mark.slow
def test_what_the_budget_cut_off_is_said_and_with_more_of_it_everything_is_decided(clock):
    reasons = []
    for tenths in (6, 9, 20):
        result, seconds = checked(clock, Lexer.lose, Lexer.lose, invariant=lambda lexer: lexer.count == 2, budget=tenths / 10)
        assert seconds <= 1.1 * tenths / 10 + FOR_THE_REPORT + ROUNDING
        assert result.kind is not None or "the budget was spent" in result.reason or "cut short by budget" in result.reason
        reasons.append(result.reason)
    assert "cut short by budget" in reasons[0]
    assert any("whether it breaks today was not decided: the budget was spent" in reason for reason in reasons)
    result, _ = checked(clock, Lexer.lose, Lexer.lose, invariant=lambda lexer: lexer.count == 2, budget=60.0)
    assert result.kind == "GIL-MASKED"


def test_a_search_without_each_lock_shares_the_budget_with_the_search_before(clock):
    result, seconds = checked(
        clock, Lexer.locked, Lexer.locked, invariant=lambda lexer: len(lexer.seen) == 2, budget=5.0, sensitivity=True
    )
    assert seconds <= 1.1 * 5.0 + FOR_THE_REPORT + ROUNDING
    assert result.verdict in ("holds", "inconclusive")


@pytest.mark.slow
def test_a_budget_that_the_sequential_orders_spend_is_spent_on_nothing_else(clock):
    result, seconds = checked(clock, Lexer.locked, Lexer.locked, budget=RUN)
    assert result.why == "cut short", str(result)
    assert seconds <= 5 * RUN + ROUNDING  # two first runs, the two orders, and one run of the search
    checked(clock, Lexer.locked, Lexer.locked, budget=60.0)[0].assert_holds()
