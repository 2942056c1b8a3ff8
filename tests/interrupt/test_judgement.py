"""From trials to a verdict, without any process."""

import pytest

from pytest_gilcheck.interrupt.claim import claim
from pytest_gilcheck.interrupt.judgement import judge
from pytest_gilcheck.interrupt.trial import UNDECIDED, SignalOutcome, Trial
from tests.given import given

CLAIM = claim(given("interrupt", within=0.2))


def trial(delivery=0.001, outcome=None, denied=0.0):
    return Trial(2, 0.1, sent=0, entered=int(delivery * 1e9), outcome=outcome, denied=denied)


def test_enough_good_trials_hold_and_one_fewer_does_not():
    assert judge([trial()] * 3, CLAIM, 3).verdict == "holds"
    assert judge([trial()] * 2, CLAIM, 3).verdict == "inconclusive"


@pytest.mark.parametrize("outcome", [o for o in SignalOutcome if o not in UNDECIDED and o not in ("late", "lost")])
def test_one_clearly_bad_outcome_refutes_any_number_of_good_trials(outcome):
    judged = judge([trial()] * 9 + [trial(outcome=outcome)], CLAIM, 3)
    assert (judged.verdict, judged.decided_by.outcome) == ("violated", outcome)


@pytest.mark.parametrize(("delivery", "verdict"), [(0.25, "inconclusive"), (0.7, "violated")])
def test_a_single_late_trial_refutes_only_when_it_is_clearly_late(delivery, verdict):
    assert judge([trial(delivery, SignalOutcome.LATE)], CLAIM, 3).verdict == verdict


def test_two_late_trials_refute():
    assert judge([trial(0.25, SignalOutcome.LATE)] * 2, CLAIM, 3).verdict == "violated"


def test_a_late_trial_beside_too_few_good_ones_decides_nothing():
    judged = judge([trial(0.25, SignalOutcome.LATE), trial(), trial()], CLAIM, 3)
    assert judged.verdict == "inconclusive"
    assert "0.25 s late" in judged.reason


def test_a_lost_signal_prevents_a_pass_and_refutes_when_seen_twice():
    once = judge([trial(outcome=SignalOutcome.LOST, delivery=0.7)] + [trial()] * 9, CLAIM, 3)
    assert once.verdict == "inconclusive"
    assert "one signal of 10 was lost" in once.reason
    assert judge([trial(outcome=SignalOutcome.LOST)] * 2 + [trial()] * 9, CLAIM, 3).verdict == "violated"


def test_a_signal_that_was_not_handled_must_be_seen_twice_beside_trials_without_a_core():
    deaf, busy = trial(outcome=SignalOutcome.DEAF), trial(outcome=SignalOutcome.BUSY)
    once = judge([deaf, busy] + [trial()] * 9, CLAIM, 3)
    assert once.verdict == "inconclusive"
    assert "too busy" in once.reason
    assert judge([deaf, busy, deaf], CLAIM, 3).verdict == "violated"
    assert judge([deaf] + [trial()] * 9, CLAIM, 3).verdict == "violated"


def test_time_without_a_core_is_subtracted_from_the_lateness():
    late = trial(0.7, SignalOutcome.LATE, denied=0.5)
    assert late.lateness == pytest.approx(0.2)
    assert judge([late], CLAIM, 3).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("outcome", "text"), [("busy", "machine"), ("missed", "too short"), ("ended", "by itself"), ("unreported", "cannot be judged")]
)
def test_an_undecided_outcome_is_never_a_pass(outcome, text):
    judged = judge([trial(), trial(outcome=SignalOutcome(outcome))], CLAIM, 3)
    assert judged.verdict == "inconclusive"
    assert text in judged.reason
