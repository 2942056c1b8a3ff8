"""What no schedule controls: threads that block out of sight keep the run, and every other run, in order."""

import os
import subprocess
import threading
import time
from functools import partial
from time import monotonic

import pytest

from pytest_gilcheck.core.system import HAS_PROC
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running import watchdog
from pytest_gilcheck.search.harness import explorer_for
from tests.undecided import undecided

from .programs import Counter, counted, plan

pytestmark = pytest.mark.skipif(not HAS_PROC, reason="without /proc, nobody sees that a thread sleeps")
LOOKS = watchdog._POLLS["S"] + 1  # that find the owner in one sleep, before a last one decides


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def at_looks(monkeypatch, *, before=lambda number, again: None, after=lambda number: None):
    """Call these before and after each look, with the number of looks in a row that have found the owner in one sleep."""
    real, last, number = watchdog._sleeps, None, 0

    def sleeps(task):
        nonlocal last, number
        before(number, lambda: real(task))
        answer = real(task)
        number = number + 1 if last == (task, answer) else int(answer != watchdog._AWAKE)
        last = task, answer
        after(number)
        return answer

    monkeypatch.setattr(watchdog, "_sleeps", sleeps)


def runs_of(*threads, setup=Counter, count=3):
    """The runs of this program with its threads in order."""
    with explorer_for(Program(threads, setup, None), plan(), lambda label: None) as explorer:
        return [explorer.in_order() for _ in range(count)]


def until(condition):
    end = monotonic() + 20
    while not condition() and monotonic() < end:
        time.sleep(0.001)


@pytest.mark.parametrize(("state", "blocked"), [("S", True), ("D", False)])
def test_a_thread_that_waits_for_a_device_for_a_while_is_not_blocked_outside_of_control(monkeypatch, pipe, state, blocked):
    """A disk is slow where others use it too; what another thread has to end, such as a read of a pipe, is no such wait."""
    real, over = watchdog.read, threading.Event()
    taken, take = threading.Event(), watchdog.Watchdog._take_turn_from

    def takes(self, *given):
        taken.set()
        take(self, *given)

    monkeypatch.setattr(watchdog, "read", lambda path: real(path).replace("State:\tS", f"State:\t{state}"))
    monkeypatch.setattr(watchdog.Watchdog, "_take_turn_from", takes)

    def serve():
        while not over.wait(0.01 if blocked else 0.1):
            if taken.is_set() or not blocked:  # on a busy machine, the watchdog comes late
                taken.clear()
                os.write(pipe[1], b"1")

    server = threading.Thread(target=serve)
    server.start()
    try:
        runs = runs_of(lambda counter: os.read(pipe[0], 1), lambda counter: None)
    finally:
        over.set()
        server.join()
    assert any(run.uncontrolled for run, _ in runs) == blocked
    assert not any(failure for _, failure in runs)


def test_a_thread_that_has_passed_its_turn_on_before_it_is_taken_for_blocked_is_left_alone(monkeypatch, pipe):
    went_on, take = threading.Event(), watchdog.Watchdog._take_turn_from

    def late(self, owner, switches):
        os.write(pipe[1], b"1")
        until(went_on.is_set)
        take(self, owner, switches)

    monkeypatch.setattr(watchdog.Watchdog, "_take_turn_from", late)

    def reads(counter):
        os.read(pipe[0], 1)
        with counter.ready:
            counter.ready.wait()

    def other(counter):
        with counter.ready:
            went_on.set()
            for _ in range(2_000):
                counter.value += 1
            counter.ready.notify()

    def setup():
        went_on.clear()
        counter = Counter()
        counter.ready = threading.Condition()
        return counter

    for run, failure in runs_of(reads, other, setup=setup):
        assert (run.uncontrolled, run.stuck, failure) == ((), "", None)


def test_a_thread_that_has_woken_before_it_is_taken_for_blocked_keeps_its_turn(monkeypatch, pipe):
    ended = False

    def before(number, look):
        nonlocal ended
        if number == LOOKS and not ended:
            asleep = look()
            os.write(pipe[1], b"1")
            until(lambda: look() not in (asleep, watchdog._AWAKE))
            ended = True

    def after(number):
        nonlocal ended
        if ended and number == LOOKS - 1:
            os.write(pipe[1], b"2")
            ended = False

    at_looks(monkeypatch, before=before, after=after)

    def reads(counter):
        sum(map(len, iter(partial(os.read, pipe[0], 1), b"2")))  # all of it in C: two reads, and no step between them

    def other(counter):
        counter.value += 1

    for run, failure in runs_of(reads, other):
        assert (run.uncontrolled, run.stuck, failure) == ((), "", None)


def test_a_thread_that_comes_back_while_its_turn_is_taken_waits_for_another(monkeypatch, pipe):
    def after(number):
        if number == LOOKS + 1:
            os.write(pipe[1], b"1")
            time.sleep(0.02)  # it runs into the engine meanwhile, if nothing holds it

    at_looks(monkeypatch, after=after)
    order = []

    def reads(counter):
        os.read(pipe[0], 1)
        order.append("read")
        counter.value += 1

    def other(counter):
        for _ in range(500):
            counter.value += 1
        order.append("other")

    for run, failure in runs_of(reads, other):
        if not run.uncontrolled:
            undecided("this machine was too busy: the thread came back before it was taken for blocked")
        assert len(run.uncontrolled) == 1
        assert (run.stuck, failure) == ("", None)
    assert order == ["other", "read"] * 3


@pytest.mark.slow
def test_two_threads_that_talk_out_of_sight_are_no_hang():
    def asks(pipes):
        for _ in range(2):
            os.write(pipes[0][1], b"?")
            os.read(pipes[1][0], 1)

    def answers(pipes):
        for _ in range(2):
            os.read(pipes[0][0], 1)
            os.write(pipes[1][1], b"!")

    pipes = [os.pipe(), os.pipe()]
    result = counted(asks, answers, setup=lambda: pipes, schedules=2)
    for end in (*pipes[0], *pipes[1]):
        os.close(end)
    assert result.verdict == "inconclusive", str(result)
    assert result.why == "partly uncontrolled"


@pytest.mark.slow
def test_a_thread_that_polls_for_one_that_is_blocked_out_of_sight_is_no_livelock():
    class Served(Counter):
        def __init__(self):
            super().__init__()
            self.process = subprocess.Popen(["sh", "-c", "sleep 0.1; echo served"], stdout=subprocess.PIPE)
            self.ready = False

    def reads(served):
        with served.process.stdout as answer:
            answer.read()
        served.process.wait()
        served.ready = True

    def polls(served):
        while not served.ready:
            pass

    result = counted(reads, polls, setup=Served, invariant=lambda served: served.ready, schedules=2)
    assert result.verdict == "inconclusive", str(result)
    assert result.why == "partly uncontrolled"


@pytest.mark.slow
def test_daemons_that_a_run_leaves_disturb_no_later_setup():
    class Made(Counter):
        def __init__(self):
            super().__init__()
            self.event = threading.Event()
            first = threading.Thread(target=self.made)
            first.start()
            first.join()

        def made(self):
            self.other = 1

    def leaves(state):
        for _ in range(2):
            threading.Thread(target=state.event.wait, daemon=True).start()

    def other(state):
        with state.lock:
            state.value += 1

    counted(leaves, other, setup=Made, invariant=lambda state: state.value == state.other == 1, schedules=30).assert_holds()


def test_an_invariant_may_sleep():
    def adds(counter):
        with counter.lock:
            counter.value += 1

    def slowly(counter):
        time.sleep(0.01)
        return counter.value == 2

    counted(adds, adds, setup=Counter, invariant=slowly, schedules=20).assert_holds()
