"""Code of the user's that runs where an object ends: some operands of that instruction are gone by then."""

import pytest

from tests.sweep.test_servers import sweep as sweep

ENDS = """
import collections, threading

class Left:
    def __init__(self):
        self.big = [bytearray(3_000)]

    def __getitem__(self, key):
        return 1

    def __add__(self, other):
        return 1

class Right:
    def __init__(self, ends):
        self.ends = ends

    def __del__(self):
        self.ends.ended()

class Ends:
    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def ended(self):
        with self.lock:
            self.count += 1

def rows(ends, number):
    try:
        yield from range(number)
    finally:
        ends.ended()

def begun(ends):
    found = rows(ends, 3)
    next(found)
    return found

def left_in_the_middle(ends):
    for row in rows(ends, 3):
        return row

def in_an_item(ends):
    return Left()[Right(ends)]

def in_an_operator(ends):
    return Left() + Right(ends)

def in_a_list(ends):
    return [begun(ends), 1][1]

def in_a_call(ends):
    return len([begun(ends), Right(ends), bytearray(100)])

def reused():
    return [bytearray(number) for number in range(20, 300, 7)]  # what has ended
"""
USES = """
import pytest, shop

ENDS = shop.Ends()
WAYS = [shop.left_in_the_middle, shop.in_an_item, shop.in_an_operator, shop.in_a_list, shop.in_a_call]

@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_ends(way):
    before = ENDS.count
    for _ in range(4):
        way(ENDS)
        shop.reused()
    assert ENDS.count >= before + 4
"""
UNLOCKED = ENDS.replace("with self.lock:", "if True:")


def swept(sweep, shop, *options):
    """The lines of an account without a crash."""
    result, lines = sweep(USES, *options, shop=shop)
    result.assert_outcomes(passed=6)
    assert not any("crashed" in line for line in lines), lines
    return lines


def test_code_that_runs_where_an_object_ends_does_not_end_the_process_of_the_sweep(sweep):
    assert not any(line.startswith("cause") for line in swept(sweep, ENDS, "--gilcheck-sweep-budget=8"))


@pytest.mark.slow
def test_the_race_of_such_code_is_found_and_its_fixed_twin_has_none(sweep):
    assert any(line.startswith("cause in your package: shop.py") for line in swept(sweep, UNLOCKED))
    assert not any(line.startswith("cause") for line in swept(sweep, ENDS))
