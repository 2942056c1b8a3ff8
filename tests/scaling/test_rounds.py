"""The order of the laps in a round, and what makes a measurement worthless: made-up samplers, no time is measured."""

import os
from dataclasses import replace
from itertools import islice

import pytest

from pytest_gilcheck.core.cores import CAN_PIN, pinned
from pytest_gilcheck.core.interpreter import FREE_THREADED, GIL, build
from pytest_gilcheck.core.verdict import Verdict
from pytest_gilcheck.scaling import check
from pytest_gilcheck.scaling.check import scaling
from pytest_gilcheck.scaling.claim import ScalingClaim
from pytest_gilcheck.scaling.judgement import judge
from pytest_gilcheck.scaling.plan import ScalingPlan
from pytest_gilcheck.scaling.reading import read_rounds
from pytest_gilcheck.scaling.sampling import Calibration, Sampler

from .made import lap, rounds

CLAIM = ScalingClaim(0.8, None, "at least 0.8x")


class Made(Sampler):
    """Returns made-up laps, and notes their order."""

    def __init__(self):
        self.work = self.reference = Made  # is never called
        self.setup, self.team, self.order = None, (1, 2), []

    @property
    def calibration(self):
        return Calibration(1, 0.02, 0.0, 1, 0.02)

    def _sequential_lap(self, work, calls, label, setup):
        self.order.append(label)
        return lap([20.0, 20.0], sequential=True)

    def _lap(self, calls, label, setup):
        self.order.append(label)
        return lap([20.0, 20.0])


def test_the_sequential_lap_comes_first_in_every_other_round():
    sampler = Made()
    list(islice(sampler.rounds(), 4))
    first = [next(label for label in sampler.order if label.startswith(f"round {number}, ")) for number in range(1, 5)]
    assert [label.rpartition(" ")[2] for label in first] == ["sequential", "threaded", "sequential", "threaded"]


@pytest.mark.parametrize(("seconds", "believed"), [(0.02, True), (0.1, False), (0.005, False)], ids=["same", "faster", "slower"])
def test_a_call_that_takes_another_time_than_in_the_calibration_is_not_judged(seconds, believed):
    made = rounds([1.9] * 4)
    judgement = judge(CLAIM, read_rounds(made, 2, 2), None)
    assert judgement.verdict is Verdict.HOLDS
    found = check._believed(judgement, made, 0.1, Calibration(1, seconds, 0.0, 1, seconds), ScalingPlan(threads=2), 1.0)
    assert found.verdict is (Verdict.HOLDS if believed else Verdict.INCONCLUSIVE)
    assert believed or "changed speed" in found.reason


@pytest.mark.parametrize("denied", [0.7, 1.0, 1.2])
def test_a_lap_without_a_core_says_nothing_of_the_speed_of_the_workload(denied):
    made = rounds([1.9] * 4)
    slow = lap([20.0, 20.0], denied=denied, sequential=True)
    made[0] = replace(made[0], work=replace(made[0].work, sequential=slow))
    judgement = judge(CLAIM, read_rounds(made, 2, 2), None)
    found = check._believed(judgement, made, 0.1, Calibration(1, 0.02, 0.0, 1, 0.02), ScalingPlan(threads=2), 1.0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert f"machine too busy: for {min(denied, 1):.0%} of a lap" in found.reason
    assert "changed speed" not in found.reason


@pytest.mark.parametrize(("lasted", "busy"), [(0.11, False), (0.9, True)])
def test_too_few_rounds_say_how_long_one_took_if_the_machine_slowed_it(lasted, busy):
    made = rounds([1.0])
    judgement = judge(ScalingClaim(1.5, None, "at least 1.5x"), read_rounds(made, 2, 2), None)
    found = check._believed(judgement, made, lasted, Calibration(1, 0.02, 0.0, 1, 0.02), ScalingPlan(threads=2), 1.0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "1 round fitted into budget=1 s, at least 3 are needed, and one takes about 0.1 s" in found.reason
    assert ("of an idle machine; here one took 0.9 s" in found.reason) is busy


@pytest.mark.skipif(not CAN_PIN, reason="no affinity here")
def test_a_block_that_raises_leaves_the_affinity_as_it_was():
    before = os.sched_getaffinity(0)

    def fail():
        with pinned(1):
            assert len(os.sched_getaffinity(0)) == 1
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert os.sched_getaffinity(0) == before


def test_a_gil_that_comes_back_during_the_check_leaves_no_verdict(monkeypatch):
    monkeypatch.setattr(check, "build", lambda: GIL if build() == FREE_THREADED else FREE_THREADED)
    result = scaling(lambda: None, CLAIM, ScalingPlan(threads=2), name="too short to time")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == check.gil_came_back(result.interpreter)
