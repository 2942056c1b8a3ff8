"""Which cause is named, on figures made up for it."""

from dataclasses import replace

import pytest

from pytest_gilcheck.core.held_fraction import Held
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.scaling.diagnosis import Cause, diagnose, identity
from pytest_gilcheck.scaling.reading import Ceiling, read_rounds
from pytest_gilcheck.scaling.watch import WatchSummary

from .made import rounds

BUSY_MACHINE = Ceiling(low=None, high=2.0, typical=1.05)  # beside which even 1.0x looks like all that there was


def cause(verdict, held, speedup=1.0, top=BUSY_MACHINE):
    seen = None if held is None else Held(held, 40, 0.005, {"work.py:3 (work)": 1.0})
    reading = replace(read_rounds(rounds([speedup] * 5), 2, 2), ceiling=top)
    return diagnose(verdict, reading, identity(reading.trusted), seen, None).cause


def test_a_refuted_claim_whose_workload_held_the_gil_does_so_because_of_the_gil_however_noisy_the_speedup():
    assert cause(Verdict.VIOLATED, held=0.97) is Cause.GIL


def test_without_a_held_gil_that_speedup_is_all_there_was_to_have():
    top = Ceiling(low=None, high=2.0, typical=1.3)
    assert cause(Verdict.VIOLATED, held=0.1, speedup=1.28, top=top) is Cause.SCALES
    assert cause(Verdict.VIOLATED, held=0.97, speedup=1.28, top=top) is Cause.GIL


@pytest.mark.parametrize("held", [0.97, None])
def test_what_reaches_the_ceiling_and_was_not_refuted_scales(held):
    top = Ceiling(low=1.8, high=2.0, typical=1.95)
    assert cause(Verdict.HOLDS, held, speedup=1.9, top=top) is Cause.SCALES


@pytest.mark.parametrize(("share", "expected"), [(0.01, False), (0.6, True)])
def test_a_lock_is_the_cause_only_if_threads_often_wait_for_it(share, expected):
    reading = read_rounds(rounds([1.0] * 5), 2, 2)
    seen = WatchSummary(100, "work.py:3 (work)", "lock", share, (), ())
    found = diagnose(Verdict.VIOLATED, reading, identity(reading.trusted), None, seen)
    assert (found.cause is Cause.LOCK) is expected


def test_a_queue_that_only_the_sampling_has_seen_is_not_the_cause():
    reading = read_rounds(rounds([1.0] * 5), 2, 2)
    seen = WatchSummary(100, "work.py:3 (work)", "lock", 0.6, ("work.py:4 (work)",), ())
    terms = replace(identity(reading.trusted), blocked=0.02)
    found = diagnose(Verdict.VIOLATED, reading, terms, None, seen)
    assert found.cause is not Cause.LOCK
    assert not any("held by a thread" in line for line in found.details)


@pytest.mark.parametrize(("held", "said"), [(0.98, True), (0.2, False)])
def test_beside_a_lock_the_gil_is_named_where_it_would_limit_the_threads_as_well(held, said):
    reading = read_rounds(rounds([1.0] * 5), 2, 2)
    seen = WatchSummary(100, "work.py:3 (work)", "lock", 0.6, (), ())
    held = Held(held, 40, 0.005, {"work.py:3 (work)": 1.0})
    found = diagnose(Verdict.VIOLATED, reading, identity(reading.trusted), held, seen)
    assert found.cause is Cause.LOCK
    assert ("the GIL limits it here" in found.text) is said


def test_threads_that_take_more_cpu_time_for_the_same_work_contend():
    reading = read_rounds(rounds([1.0] * 5, cpu=1.0), 2, 2)
    terms = identity(reading.trusted)
    assert terms.cpu_inflation == pytest.approx(2)
    assert diagnose(Verdict.VIOLATED, reading, terms, None, None).cause is Cause.CONTENTION


def test_threads_that_hardly_run_do_not_contend_but_wait():
    reading = read_rounds(rounds([1.0] * 5, cpu=1.0), 2, 2)
    waiting = replace(identity(reading.trusted), cores_sequential=0.02, cores_threaded=0.04, blocked=0.96)
    found = diagnose(Verdict.VIOLATED, reading, waiting, None, None)
    assert found.cause is Cause.WAITING
    assert "blocked 96% of their time" in found.text
