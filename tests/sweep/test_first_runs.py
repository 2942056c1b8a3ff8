"""Causes of what only the first run of a process makes."""

import re

import pytest

from .test_put_off import causes
from .test_servers import sweep as sweep  # the fixture
from .test_sweep import counted

SHOP = """
import threading
LOCK = threading.RLock()

class Table:
    def __init__(self):
        self.rows = []
        self.rows.append(1)
        self.ready = True

    def check(self):
        assert self.ready
        return self

TABLE = TWICE = None

def table():
    global TABLE
    with LOCK:
        if TABLE is None:
            TABLE = object.__new__(Table)
            TABLE.__init__()
        return TABLE.check()

def twice():
    global TWICE
    with LOCK:
        if TWICE is None:
            TWICE = Table()
        return TWICE
"""
SUITE = """
def test_rows():
    assert shop.table().rows == [1]

def test_checks():
    assert shop.table().check()

def test_ready():
    table = shop.table()
    assert table.ready
    assert len(table.rows) == 1

def test_other():
    assert shop.twice() is shop.twice()
"""


@pytest.mark.slow
def test_one_race_that_three_tests_meet_is_one_cause_with_its_pair_and_another_one_is_another_cause(sweep):
    racy = SHOP.replace("with LOCK:", "if True:")
    result, lines = sweep(SUITE, shop=racy)
    result.assert_outcomes(passed=5)
    assert counted(lines)["shares nothing that was seen"] == 1
    line = {text.strip(): number for number, text in enumerate(racy.strip().splitlines(), 1)}
    ready = f"cause in your package: shop.py:{line['self.ready = True']} and shop.py:{line['assert self.ready']}"
    made = f"cause in your package: shop.py:{line['TWICE = Table()']} and shop.py:{line['return TWICE']}"
    assert sorted(causes(lines)) == sorted([ready, made])
    met = lines[lines.index(ready) + 1]
    assert re.match(r"met by 3 tests", met)
    assert "::test_other" not in met
    result, lines = sweep(SUITE, "--gilcheck-sweep-budget=8", shop=SHOP)
    assert result.ret == 0
    assert not causes(lines)
