"""The GIL-held fraction from made-up samples, so without measuring time."""

import pytest

from pytest_gilcheck.core import held
from pytest_gilcheck.core.interpreter import FREE_THREADED, build


@pytest.mark.parametrize(("wait", "expected"), [(0.005, 1.0), (0.0, 0.0)], ids=["always held", "never held"])
def test_a_gil_that_is_found_taken_at_each_sample_is_held_all_the_time(wait, expected):
    sampler = held._GilSampler(0.0, None)
    sampler.waits, sampler.sleeps = [wait] * 20, [0.001] * 20
    assert sampler.fraction() == pytest.approx(expected)


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
def test_a_gil_that_is_held_without_the_workload_is_not_charged_to_it(monkeypatch):
    def sample(sampler, times):
        sampler.waits += [0.005] * times
        sampler.sleeps += [0.001] * times

    monkeypatch.setattr(held._GilSampler, "sample", sample)
    found = held.held_fraction(lambda: None, seconds=0.001, limit=60)
    assert found.fraction == 0
    assert "another thread" in found.unusable or "machine too busy" in found.unusable
