"""What is a race of a run, and what keeps two accesses in order, on runs that are written down."""

import pytest

from pytest_gilcheck.engine.bytecode.touch import ALL
from pytest_gilcheck.search.races import Races

from .written import COUNTER, LIST, ONE_LOCK, OTHER_LOCK, acquires, reads, releases, run, writes


def pairs(races):
    return [(race.first, race.second) for race in races]


def races_of(*transitions):
    return Races(run(*transitions).touched, len(transitions))


@pytest.mark.parametrize(
    ("first", "second", "race"),
    [
        (writes(COUNTER), writes(COUNTER), True),
        (reads(COUNTER), writes(COUNTER), True),
        (writes(COUNTER), reads(COUNTER), True),
        (reads(COUNTER), reads(COUNTER), False),
        (writes(COUNTER), writes(LIST), False),
        (writes(COUNTER, 5), writes(COUNTER, 6), False),
        (writes(COUNTER, 5), reads(COUNTER, ALL), True),
        (acquires(ONE_LOCK), acquires(OTHER_LOCK), False),
    ],
)
def test_two_accesses_of_one_part_race_if_one_of_them_changes_it(first, second, race):
    assert pairs(races_of((0, first), (1, second)).races) == [(1, 2)] * race


def test_one_thread_alone_has_no_race():
    assert not races_of((0, writes(COUNTER)), (0, writes(COUNTER))).races


LOCKED = [(0, acquires(ONE_LOCK)), (0, writes(COUNTER)), (0, releases(ONE_LOCK))]


def test_a_pair_in_sections_of_one_lock_is_no_race_and_the_acquisitions_are():
    races = races_of(*LOCKED, (1, acquires(ONE_LOCK)), (1, writes(COUNTER)), (1, releases(ONE_LOCK)))
    assert pairs(races.races) == [(1, 4)]
    assert not races.unguarded()


def test_a_pair_in_sections_of_two_locks_is_a_race():
    races = races_of(*LOCKED, (1, acquires(OTHER_LOCK)), (1, writes(COUNTER)), (1, releases(OTHER_LOCK)))
    assert pairs(races.races) == [(2, 5)]
    assert pairs(races.unguarded()) == [(2, 5)]


def test_what_a_third_thread_has_put_in_order_is_no_race():
    """The first thread writes the list and then the counter, the second reads the counter, and then writes the list."""
    ordered = races_of((0, writes(LIST)), (0, writes(COUNTER)), (1, reads(COUNTER)), (1, writes(LIST)))
    assert pairs(ordered.races) == [(2, 3)]
    other_way = races_of((0, writes(COUNTER)), (0, writes(LIST)), (1, reads(COUNTER)), (1, writes(LIST)))
    assert pairs(other_way.races) == [(1, 3), (2, 4)]


def test_a_thread_whose_next_deed_is_to_acquire_a_held_lock_waits_there_and_not_after_the_release():
    races = races_of(*LOCKED, (1, acquires(ONE_LOCK)))
    assert races.waits(1, 2)
    assert not races.waits(1, 1)
    assert not races.waits(1, 4)
