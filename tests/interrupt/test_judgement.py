"""From shots to a verdict, without any process: the same shots, just so many of them, both ways."""

import pytest

from pytest_gilcheck.interrupt.claim import claim
from pytest_gilcheck.interrupt.judgement import judge
from pytest_gilcheck.interrupt.shot import Shot, Trouble
from tests.given import given

CLAIM = claim(given("interrupt", within=0.2))


def shot(delivery=0.001, trouble=None, denied=0.0):
    return Shot(2, 0.1, sent=0, entered=int(delivery * 1e9), trouble=trouble, denied=denied)


def test_enough_good_shots_hold_and_one_fewer_does_not():
    assert judge([shot()] * 3, CLAIM, 3).verdict == "holds"
    assert judge([shot()] * 2, CLAIM, 3).verdict == "inconclusive"


@pytest.mark.parametrize("trouble", [t for t in Trouble if t not in ("late", "lost", "missed", "busy", "ended", "untold")])
def test_one_clear_trouble_refutes_any_number_of_good_shots(trouble):
    judged = judge([shot()] * 9 + [shot(trouble=trouble)], CLAIM, 3)
    assert (judged.verdict, judged.decided_by.trouble) == ("violated", trouble)


@pytest.mark.parametrize(("delivery", "verdict"), [(0.25, "inconclusive"), (0.7, "violated")])
def test_a_single_late_shot_refutes_only_when_it_is_clearly_late(delivery, verdict):
    assert judge([shot(delivery, Trouble.LATE)], CLAIM, 3).verdict == verdict


def test_two_late_shots_refute():
    assert judge([shot(0.25, Trouble.LATE)] * 2, CLAIM, 3).verdict == "violated"


def test_a_late_shot_beside_enough_good_ones_is_not_enough_for_either():
    judged = judge([shot(0.25, Trouble.LATE), shot(), shot()], CLAIM, 3)
    assert judged.verdict == "inconclusive"
    assert "0.25 s late" in judged.reason


def test_a_lost_signal_is_no_pass_beside_any_number_of_good_ones_and_refutes_when_seen_twice():
    once = judge([shot(trouble=Trouble.LOST, delivery=0.7)] + [shot()] * 9, CLAIM, 3)
    assert once.verdict == "inconclusive"
    assert "one signal of 10 was lost" in once.reason
    assert judge([shot(trouble=Trouble.LOST)] * 2 + [shot()] * 9, CLAIM, 3).verdict == "violated"


def test_time_that_the_machine_denied_is_not_counted_against_the_code():
    late = shot(0.7, Trouble.LATE, denied=0.5)
    assert late.lateness == pytest.approx(0.2)
    assert judge([late], CLAIM, 3).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("trouble", "words"), [("busy", "machine"), ("missed", "too short"), ("ended", "by itself"), ("untold", "cannot be judged")]
)
def test_what_decides_nothing_is_never_a_pass(trouble, words):
    judged = judge([shot(), shot(trouble=Trouble(trouble))], CLAIM, 3)
    assert judged.verdict == "inconclusive"
    assert words in judged.reason
