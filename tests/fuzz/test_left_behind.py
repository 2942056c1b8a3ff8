"""A failing schedule that leaves its process in another state is found and replayed, each time in a process of its own."""

import logging
import sys
import threading
from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest

from pytest_gilcheck import gilcheck

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows"),
    pytest.mark.filterwarnings("ignore:gilcheck. the program changed:RuntimeWarning"),
]

LOGGER = logging.getLogger("tests.fuzz.left_behind")
LOCK = threading.Lock()


class Tariff:
    rate = 1


@contextmanager
def level():
    before = LOGGER.level
    LOGGER.setLevel(10)
    try:
        yield
    finally:
        LOGGER.setLevel(before)


def under_a_level(lock):
    def work():
        with lock, level():
            pass

    return {"threads": [work, work], "invariant": lambda: LOGGER.level == 0}


def patched(lock):
    def work(tariff):
        with lock, mock.patch.object(tariff, "rate", 2):
            pass

    return {"threads": [work, work], "setup": lambda: Tariff, "invariant": lambda tariff: tariff.rate == 1}


def patched_and_asserted(lock):
    def work():
        with lock, mock.patch.object(Tariff, "rate", 2):
            assert Tariff.rate == 2

    return {"threads": [work, work]}


PROGRAMS = [patched_and_asserted, under_a_level, patched]


@pytest.mark.slow  # the marker's test runs each time
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_found_with_few_preemptions_and_replays_and_its_twin_with_a_lock_holds(program):
    result = gilcheck.fuzz(**program(nullcontext()), schedules=600, budget=30)
    result.assert_violated()
    assert "it leaves behind what it breaks" in result.reason
    assert result.preemptions <= 2
    assert result.replays == (3, 3)
    assert result.rows
    assert (LOGGER.level, Tariff.rate) == (0, 1), "the process of the caller is as it was"
    again = gilcheck.fuzz(**program(nullcontext()), replay=result.token)
    assert (again.verdict, again.symptom) == ("violated", result.symptom), str(again)
    gilcheck.fuzz(**program(LOCK), schedules=100).assert_holds()


TEST = """
import threading
import pytest
import tariff
from unittest import mock

LOCK = threading.Lock()

@pytest.mark.gil_fuzz(schedules=600, budget=30)
def test_patched():
    with mock.patch("tariff.rate", 2):
        assert tariff.rate == 2

@pytest.mark.gil_fuzz(schedules=100, budget=30)
def test_patched_under_a_lock():
    with LOCK, mock.patch("tariff.rate", 2):
        assert tariff.rate == 2

def test_after():
    assert tariff.rate == 1
"""


@pytest.mark.slow
def test_as_a_marker_it_is_found_too_and_the_tests_after_it_are_not_disturbed(pytester):
    pytester.makepyfile(tariff="rate = 1")
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["test_patched: violated *; it leaves behind what it breaks*", "*replayed    3 of 3*"])


@pytest.mark.slow
def test_what_failed_once_and_in_no_process_again_is_undecided():
    calls = []

    def work():
        calls.append(1)
        calls.append(1)

    def fails_once():  # whatever the schedule: no other process has so many runs behind it
        return len(calls) != 4 * 16

    result = gilcheck.fuzz(threads=[work, work], invariant=fails_once, schedules=60, judge=False)
    assert result.verdict == "inconclusive", str(result)
