"""What each plugin runs beside: for each check, a test whose claim holds and its broken twin, by name."""

import itertools
import threading

import pytest

from pytest_gilcheck.core.clocks import sleep  # a plugin may have replaced that of the module time

HELD, OPEN = threading.Lock(), threading.Lock()


class Counter:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()


@pytest.fixture
def counter():
    return Counter()


scaling = pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=2)
interrupt = pytest.mark.gil_interrupt(repeats=2, over=0.3, within=2, exits_within=0.3)
injection = pytest.mark.gil_interrupt(inject="every-step", invariant=lambda: not OPEN.locked())
fuzz = pytest.mark.gil_fuzz(schedules=40, invariant=lambda counter: counter.value == 2)


@scaling
def test_scaling_holds():
    sleep(0.02)


@scaling
def test_scaling_violated():
    with HELD:
        sleep(0.02)


@interrupt
def test_interrupt_holds():
    threading.Event().wait(60)


@interrupt
def test_interrupt_violated():
    while True:
        try:
            threading.Event().wait(60)
        except KeyboardInterrupt:
            pass


@injection
def test_injection_holds():
    with OPEN:
        str(1)


@injection
def test_injection_violated():
    OPEN.acquire()
    len([str(i) for i in range(2)])
    OPEN.release()


@pytest.mark.gil_latency(p99=5.0, budget=0.5)
def test_latency_holds():
    sleep(0.003)


@pytest.mark.gil_latency(p99=0.02, budget=1.5)
def test_latency_violated():
    assert -1 not in itertools.repeat(0, 8_000_000)


@fuzz
def test_fuzz_holds(counter):
    with counter.lock:
        counter.value += 1


@fuzz
def test_fuzz_violated(counter):
    value = counter.value
    counter.value = value + 1


def test_call_holds(gilcheck):
    def add(counter):
        with counter.lock:
            counter.value += 1

    gilcheck.fuzz(threads=[add, add], setup=Counter, invariant=lambda counter: counter.value == 2, schedules=8).assert_holds()


def test_call_violated(gilcheck):
    def add(counter):
        value = counter.value
        counter.value = value + 1

    gilcheck.fuzz(threads=[add, add], setup=Counter, invariant=lambda counter: counter.value == 2, schedules=40)
