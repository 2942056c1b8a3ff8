"""In which order a frontier gives what is to be tried."""

from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.frontier import Frontier, Rank


def entered(*ranks):
    """A frontier with a schedule for each of these: its choices, and its rank."""
    frontier = Frontier()
    frontier.next()
    for choices, rank in ranks:
        node = tuple(choices[:-1]), choices[-1].point
        frontier.tried.setdefault(node, set())
        frontier.enter(frontier.waiting, node, choices[-1], rank)
    return frontier


ONE, TWO = (Choice(4, 1),), (Choice(2, 1), Choice(3, 0))
RARE, OFTEN, UNLIKELY = Rank(0, 0, 2), Rank(0, 0, 40), Rank(4, 0, 1)


def test_the_first_schedule_of_all_has_no_preemption():
    assert Frontier().next() == Schedule()


def test_fewer_preemptions_come_first_and_of_these_the_rarest_conflict():
    frontier = entered((TWO, RARE), (ONE, OFTEN), ((Choice(5, 1),), RARE))
    assert [frontier.next().choices for _ in range(3)] == [(Choice(5, 1),), ONE, TWO]
    assert frontier.next() is None


def test_by_rank_a_likely_conflict_comes_before_one_with_fewer_preemptions():
    frontier = entered((TWO, RARE), (ONE, UNLIKELY))
    frontier.by_rank()
    assert frontier.next().choices == TWO
    assert frontier.likely == 0


def test_a_hint_that_a_race_has_led_to_is_not_tried_again_and_hints_wait_for_a_doubt():
    frontier = entered((ONE, RARE))
    frontier.tried[(), 4].add(1)
    frontier.enter(frontier.hints, ((), 4), Choice(4, 1), UNLIKELY)
    frontier.tried[(), 9] = {0}
    frontier.enter(frontier.hints, ((), 9), Choice(9, 1), UNLIKELY)
    assert frontier.next().choices == ONE
    assert frontier.next(hints_too=False) is None
    assert frontier.next().choices == (Choice(9, 1),)
    assert frontier.next() is None


def test_what_was_run_without_a_record_is_to_be_run_again():
    frontier = entered((ONE, RARE))
    assert frontier.next_without_record(True, likely=True).choices == ONE
    assert frontier.unrecorded == 1
    assert frontier.again().choices == ONE
    assert frontier.again() is None
