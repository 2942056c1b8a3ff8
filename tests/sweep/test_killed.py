"""Processes of a sweep that the system kills while searches wait for them."""

import re

import pytest

from .test_put_off import causes
from .test_put_off_threads import IN_THREADS
from .test_servers import LAZY
from .test_servers import sweep as sweep  # the fixture
from .test_sweep import SHOP, counted, unlocked

RACY = unlocked(SHOP)
KILLER = """
import os, signal
from pytest_gilcheck.adaptors.sweep_servers import SweepServers

real = SweepServers.due

def due(self, item, following, left, parts):
    if following is None:
        for each in (*self._kept, *((*self._older, *self._only_present) if ALL else ())):
            os.kill(each._life.pid, signal.SIGKILL)
    return real(self, item, following, left, parts)

SweepServers.due = due
"""
SUITE = f"""{IN_THREADS}
def test_threads():
    in_threads()

def test_left():
    assert shop.TOTAL

def test_after():
    assert True
"""


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_search_whose_process_was_killed_is_made_by_one_that_is_there_or_told_with_the_signal(sweep, pytester, all_of_them):
    pytester.makepyfile(killer=KILLER.replace("ALL", str(all_of_them)))
    result, lines = sweep(SUITE, "-p", "killer", shop=RACY)
    result.assert_outcomes(passed=4)
    if all_of_them:
        killed = r"1 the process of its sweep was killed by SIGKILL, .* \(process \d+\) \(test_suite.py::test_threads\)"
        assert any(re.match(killed, line) for line in lines)
        assert not causes(lines)
    else:
        assert counted(lines)["broken by a schedule"] == 1
        assert all(line.startswith("cause in your package: shop.py:") for line in causes(lines))


WARMED = """
def test_warms(capsys):  # it cannot be two clients
    shop.Lazy.get()

def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()
"""


def test_a_process_in_which_it_was_made_does_not_say_in_the_place_of_a_killed_one_that_no_schedule_breaks_it(sweep, pytester):
    pytester.makepyfile(
        killer=KILLER.replace("*self._kept, *((*self._older, *self._only_present) if ALL else ())", "*self._older,")
    )
    result, lines = sweep(WARMED, "-p", "killer", shop=LAZY)
    result.assert_outcomes(passed=3)
    assert counted(lines) == {"shares nothing that was seen": 1, "refused": 2}
    assert any(re.match(r"1 the process of its sweep was killed by SIGKILL, .*test_lazy", line) for line in lines)


def test_of_several_searches_in_a_process_that_was_killed_the_number_is_told(sweep, pytester):
    pytester.makepyfile(killer=KILLER.replace("ALL", "True"))
    suite = """
def test_sell():
    assert shop.sell() == 1

def test_lazy():
    assert shop.Lazy.get() is shop.Lazy.get()
"""
    _, lines = sweep(suite, "-p", "killer", shop=RACY)
    assert any(re.match(r"2 the process of its sweep was killed by SIGKILL, ", line) for line in lines)
