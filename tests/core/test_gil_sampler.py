"""The GIL-held fraction from made-up samples, so without measuring time."""

import itertools
import time

import pytest

from pytest_gilcheck.core import held_fraction as held
from pytest_gilcheck.core.interpreter import FREE_THREADED, build


@pytest.mark.parametrize(("wait", "expected"), [(0.005, 1.0), (0.0, 0.0)], ids=["always held", "never held"])
def test_a_gil_that_is_found_taken_at_each_sample_is_held_all_the_time(wait, expected):
    sampler = held._GilSampler(0.0, None)
    sampler.waits, sampler.sleeps = [wait] * 20, [0.001] * 20
    assert sampler.fraction() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("seen", "denied", "expected"), [(0.8, 0.0, 0.8), (1.0, 0.9, 1.0), (0.8, 0.7, 1 / 3), (0.6, 0.7, 0.0), (1.0, 1.0, 0.0)]
)
def test_what_may_have_been_a_holder_without_a_core_is_not_charged_to_the_workload(seen, denied, expected):
    assert held.undisturbed(seen, denied) == pytest.approx(expected)


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
@pytest.mark.parametrize("denied", [0, 60_000_000_000])
def test_where_the_workload_hardly_had_a_core_the_fraction_is_not_usable(monkeypatch, denied):
    def sample(sampler, times):
        sampler.waits += [0.005 if sampler._holders else 0.0] * times
        sampler.sleeps += [0.001] * times
        time.sleep(0.001)

    so_far = itertools.count(0, denied)
    monkeypatch.setattr(held._GilSampler, "sample", sample)
    monkeypatch.setattr(held, "run_queue_wait_ns", lambda: next(so_far))
    monkeypatch.setattr(held, "stolen", float)  # one tick of that is as long as this lap
    found = held.held_fraction(lambda: None, seconds=0.01, limit=60)
    assert bool(found.unusable) == bool(denied), found
    assert (found.fraction > 0.9) != bool(denied)


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
def test_a_gil_that_is_held_without_the_workload_is_not_charged_to_it(monkeypatch):
    def sample(sampler, times):
        sampler.waits += [0.005] * times
        sampler.sleeps += [0.001] * times

    monkeypatch.setattr(held._GilSampler, "sample", sample)
    found = held.held_fraction(lambda: None, seconds=0.001, limit=60)
    assert found.fraction == 0
    assert "another thread" in found.unusable or "machine too busy" in found.unusable
