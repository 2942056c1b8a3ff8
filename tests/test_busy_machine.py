"""What a busy machine does to this suite: a test is undecided, and never red."""

import time
from types import SimpleNamespace

import hypothesis
import pytest
from hypothesis import strategies as st

from .undecided import PREFIX, decided


@st.composite
def slowly(draw):
    time.sleep(0.25)  # longer than the deadline of hypothesis, and ten of them are longer than its patience
    return draw(st.integers())


def drawn(**settings):
    @hypothesis.settings(max_examples=10, database=None, phases=[hypothesis.Phase.generate], **settings)
    @hypothesis.given(slowly())
    def draw(number):
        assert number == number

    draw()


@pytest.mark.slow
def test_values_that_are_drawn_slowly_fail_no_test():
    drawn()


@pytest.mark.slow
def test_by_the_defaults_of_hypothesis_they_do():
    with pytest.raises(hypothesis.errors.FailedHealthCheck, match="slow"):
        drawn(deadline=200, suppress_health_check=[])


def test_no_test_module_has_settings_that_depend_on_time():
    assert hypothesis.settings().deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings().suppress_health_check


def result(verdict, outcome):
    return SimpleNamespace(verdict=verdict, outcome=outcome, reason="why")


@pytest.mark.parametrize(
    "open_",
    [result("inconclusive", "busy"), result("inconclusive", "lost"), result("inconclusive", None), result("violated", "lost")],
    ids=lambda each: f"{each.verdict} {each.outcome}",
)
def test_what_the_machine_or_the_interpreter_may_have_caused_leaves_a_test_undecided(open_):
    with pytest.raises(pytest.skip.Exception, match=f"{PREFIX}why"):
        decided(open_)


@pytest.mark.parametrize(
    ("told", "expected"), [(result("violated", "deaf"), ()), (result("violated", "lost"), ("lost",)), (result("holds", None), ())]
)
def test_every_other_result_is_judged(told, expected):
    assert decided(told, *expected) is told
