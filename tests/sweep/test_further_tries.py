"""A search that has decided nothing has more time when all others have had their turn; a record that takes long comes after all."""

from types import SimpleNamespace

import pytest

from pytest_gilcheck.adaptors.sweep_searches import MOST, Searches
from pytest_gilcheck.sweep.contended import Use
from pytest_gilcheck.sweep.swept import SweepOutcome, Swept


class Needs:
    """A course of which the search decides with so many seconds."""

    has_token, was_searched, is_gone, things, steps, dear = False, False, False, (), 1.0, 0.0

    def __init__(self, name, seconds, clock):
        self.name, self.seconds, self.clock, self.budgets = name, seconds, clock, []

    def search(self, budget):
        self.was_searched = budget > 0
        self.budgets.append(budget)
        self.clock.left -= min(budget, self.seconds)
        outcome = SweepOutcome.HOLDS if budget >= self.seconds else SweepOutcome.NOT_REPEATABLE
        return Swept(test=self.name, outcome=outcome)


def made(budget, **seconds):
    clock = SimpleNamespace(left=budget)
    searches, server = Searches(), SimpleNamespace(lives=True)
    courses = {name: Needs(name, needed, clock) for name, needed in seconds.items()}
    for course in courses.values():
        searches.add(server, course, lambda: None)
    found = [(each.test, each.outcome) for each in searches.made(lambda server: True, lambda: clock.left)]
    return found, courses


def test_what_needs_more_than_a_first_try_is_decided_after_the_others_if_there_is_time():
    found, courses = made(60.0, dear=12.0, cheap=1.0)
    assert found == [("cheap", SweepOutcome.HOLDS), ("dear", SweepOutcome.HOLDS)]
    assert courses["dear"].budgets[0] == MOST
    assert len(courses["dear"].budgets) == 2


def test_all_others_have_their_first_turn_before_a_second_one_also_those_that_meet_what_was_searched_for():
    clock = SimpleNamespace(left=100.0)
    searches, server = Searches(), SimpleNamespace(lives=True)
    searches.add(server, Needs("dear", 12.0, clock), lambda: None)
    for name in ("one", "two", "three"):
        cheap = Needs(name, 1.0, clock)
        cheap.things = (frozenset({Use("shop.py", 1, 1)}),)
        searches.add(server, cheap, lambda: None)
    assert [each.test for each in searches.made(lambda server: True, lambda: clock.left)] == ["one", "two", "three", "dear"]


@pytest.mark.parametrize("budget", [6.0, 11.0])
def test_it_is_given_up_where_no_time_is_left_that_is_worth_a_try(budget):
    found, courses = made(budget, dear=12.0, cheap=1.0)
    assert dict(found)["dear"] is SweepOutcome.NOT_REPEATABLE
    assert sum(courses["dear"].budgets) <= budget


def test_while_other_searches_come_later_a_first_try_is_short_and_the_second_one_waits_until_the_end():
    clock = SimpleNamespace(left=100.0)
    searches, server = Searches(), SimpleNamespace(lives=True)
    dear = Needs("dear", 12.0, clock)
    searches.add(server, dear, lambda: None)
    assert not list(searches.made(lambda server: True, lambda: clock.left, 50.0, further=False))
    assert searches.has(server)
    assert not searches.untried(server)
    [found] = searches.made(lambda server: True, lambda: clock.left)
    assert found.outcome is SweepOutcome.HOLDS
    assert dear.budgets == [2.0, 20.0]
    assert not len(searches)


def test_what_no_time_decides_is_tried_twice_and_told_once():
    found, courses = made(600.0, never=1e9)
    assert found == [("never", SweepOutcome.NOT_REPEATABLE)]
    assert courses["never"].budgets == [MOST, 4 * MOST]


class Records(Needs):
    """A course of which the record was put off, and decides nothing."""

    def __init__(self, name, dear, clock):
        super().__init__(name, 0.0, clock)
        self.dear, self.order = dear, []

    def record(self):
        self.clock.recorded.append(self.name)
        self.clock.left -= self.dear
        self.dear = 0.0

    def spent(self):
        return Swept(test=self.name, outcome=SweepOutcome.CUT_SHORT)


@pytest.mark.parametrize(
    ("budget", "recorded", "cut_short"),
    [(100.0, ["one", "two", "three"], []), (7.0, ["one", "two", "three"], []), (3.0, ["one", "two"], ["three"])],
)
def test_records_that_were_put_off_come_the_shortest_first_and_then_as_long_as_there_is_time(budget, recorded, cut_short):
    clock = SimpleNamespace(left=budget, recorded=[])
    searches, server = Searches(), SimpleNamespace(lives=True)
    for name, dear in {"three": 3.0, "one": 1.0, "two": 2.0}.items():
        searches.add(server, Records(name, dear, clock), lambda: None)
    found = {each.test: each.outcome for each in searches.made(lambda server: True, lambda: clock.left)}
    assert clock.recorded == recorded
    assert [name for name, outcome in found.items() if outcome is SweepOutcome.CUT_SHORT] == cut_short
    assert set(found) == {"one", "two", "three"}


def test_searches_whose_records_are_made_come_before_what_is_left_of_the_dear_records():
    clock = SimpleNamespace(left=10.0, recorded=[])
    searches, server = Searches(), SimpleNamespace(lives=True)
    searches.add(server, Records("dear", 6.0, clock), lambda: None)
    searches.add(server, Records("later", 9.0, clock), lambda: None)
    searches.add(server, Needs("cheap", 1.0, clock), lambda: None)
    found = [each.test for each in searches.made(lambda server: True, lambda: clock.left)]
    assert clock.recorded == ["dear", "later"]
    assert found == ["cheap", "dear", "later"]
