import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_gilcheck.scaling.models import Fit, amdahl, universal_scalability
from tests.untimed import UNTIMED

WORKERS = (1, 2, 4, 8, 16, 32)


@UNTIMED
@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0, 0.1))
def test_the_law_that_made_the_points_is_recovered(single, contention, coherence):
    truth = Fit(single, contention, coherence, 0, 0)
    fit = universal_scalability({n: truth.throughput(n) for n in WORKERS})
    assert fit is not None
    assert fit.single == pytest.approx(single, rel=1e-3)
    assert fit.contention == pytest.approx(contention, abs=1e-3)
    assert fit.coherence == pytest.approx(coherence, abs=1e-4)
    assert fit.residual < 1e-3


def test_a_peak_is_where_throughput_is_highest():
    fit = universal_scalability({n: Fit(100, 0.05, 0.01, 0, 0).throughput(n) for n in WORKERS})
    assert fit is not None
    assert fit.peak == pytest.approx((0.95 / 0.01) ** 0.5, rel=1e-3)
    around = [fit.throughput(fit.peak + d) for d in (-1, 0, 1)]
    assert max(around) == around[1]


def test_perfect_scaling_has_no_contention_and_no_peak():
    fit = universal_scalability({n: 10.0 * n for n in WORKERS})
    assert fit is not None
    assert (round(fit.contention, 6), fit.peak) == (0, None)


def test_what_helps_more_than_linearly_is_not_fitted_with_a_negative_term():
    fit = universal_scalability({1: 1.0, 2: 2.3, 4: 5.0})
    assert fit is not None
    assert fit.contention >= 0
    assert fit.coherence >= 0


def test_what_gets_slower_with_more_workers_has_no_serial_share_above_one():
    fit = amdahl({1: 100.0, 2: 80.0, 4: 70.0})
    assert fit.contention == 1
    assert 70 < fit.single == fit.throughput(4) < 100
    assert fit.residual > 0.1


def test_serial_code_is_all_serial_to_amdahl():
    fit = amdahl(dict.fromkeys((1, 2, 4), 100.0))
    assert fit is not None
    assert fit.contention == pytest.approx(1)


def test_too_few_points_are_no_law():
    assert universal_scalability({1: 1.0, 2: 2.0}) is None
    assert amdahl({1: 1.0}) is None
