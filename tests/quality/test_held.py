"""The GIL-held fraction tells a holder from one that lets go."""

import hashlib
import time

import pytest

from pytest_gilcheck.core import held_fraction as sampling
from pytest_gilcheck.core.clocks import voluntary_switches
from pytest_gilcheck.core.held_fraction import _GilSampler, held_fraction
from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from tests.undecided import undecided

BUFFER = bytes(1 << 20)
pytestmark = pytest.mark.exclusive


def count():
    n = 50_000
    while n:
        n -= 1


def hash_buffer():
    hashlib.sha256(BUFFER).digest()


def nap():
    time.sleep(0.005)


def usable(held):
    assert held is not None
    if held.unusable:
        undecided(str(held.unusable))


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
@pytest.mark.skipif(voluntary_switches() is None, reason="this platform does not count what a thread waits for")
def test_a_thread_that_the_machine_wakes_late_does_not_wait_for_the_gil(monkeypatch):
    class Late:
        def __getattr__(self, name):
            return getattr(time, name)

        def sleep(self, seconds):
            time.sleep(seconds + 0.005)

    monkeypatch.setattr(sampling, "time", Late())
    alone, beside = _GilSampler(0.0, None), _GilSampler(0.0, None)
    alone.sample(20)
    assert sum(alone.waits) < 0.02
    beside.start()
    until = time.monotonic() + 20  # beside busy processes the sampler hardly runs
    while sum(beside.waits) <= 0.02 and time.monotonic() < until:
        count()
    beside.stop()
    assert sum(beside.waits) > 0.02


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
def test_a_python_loop_holds_the_gil_and_is_named():
    held = held_fraction(count, seconds=0.4, limit=30)
    usable(held)
    assert held.fraction > 0.7
    assert "count" in (held.holder or "")
    assert held.most_speedup < 1.5


@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
@pytest.mark.parametrize("work", [hash_buffer, nap])
def test_what_lets_go_of_the_gil_does_not(work):
    held = held_fraction(work, seconds=0.4, limit=30)
    usable(held)
    assert held.fraction < 0.3


@pytest.mark.skipif(build() != FREE_THREADED, reason="there is a GIL")
def test_without_a_gil_there_is_nothing_to_measure():
    assert held_fraction(count, seconds=0.1, limit=30) is None
