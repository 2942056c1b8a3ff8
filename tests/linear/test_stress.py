"""Classes whose drawn programs run with real threads: what that finds, and what it must not condemn."""

import collections
import itertools
import os
import queue
import subprocess
import sys
import threading
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from pytest_gilcheck import BadValue, ConcurrentMachine, gilcheck
from pytest_gilcheck.core.cores import usable_cores
from pytest_gilcheck.core.fork_safety import can_fork
from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from pytest_gilcheck.engine.stress.guard import HANGS
from pytest_gilcheck.linear import real_threads, stressed
from pytest_gilcheck.linear.real_threads import _merges

from .classes import Counter, Stack, locked

FREE = build() == FREE_THREADED
for_real = pytest.mark.skipif(
    not FREE or usable_cores() < 2 or can_fork() is not None, reason="real threads need a build without a GIL, two cores and a fork"
)


def run_cli(*arguments):
    command = [sys.executable, "-m", "pytest_gilcheck", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


judged = partial(gilcheck.linearizable, judge=False, seed=1, stress=True)
LONG = 1000.0


@pytest.mark.skipif(FREE, reason="for builds with a GIL")
def test_a_build_with_a_gil_refuses_real_threads_and_names_what_to_run():
    with pytest.raises(BadValue, match=r"python3\.13t or later .*without stress, schedules are searched on every build"):
        judged(Counter)


@for_real
def test_a_token_cannot_be_replayed_by_real_threads():
    with pytest.raises(BadValue, match="follows no schedule"):
        judged(Counter, replay="gil1_48gK-OYBAggBAwLSsgM")


@for_real
def test_a_racy_counter_is_found_and_a_search_gives_its_token():
    found = judged(Counter, budget=LONG)
    assert (found.verdict, found.kind, found.code) == ("violated", "GIL-MASKED", "GC706"), str(found)
    assert found.token
    assert 0 < found.hits <= found.runs
    assert f"seen in {found.hits:,} of " in str(found)


@for_real
def test_a_locked_counter_is_not_condemned():
    found = judged(locked(Counter), examples=25, budget=LONG)
    assert found.verdict == "holds", str(found)
    assert found.reason.endswith("nothing seen")
    assert f"{found.programs:,} programs, {found.runs:,} runs with real threads" in found.reason


@for_real
@pytest.mark.slow
@pytest.mark.parametrize("make", [locked(Counter), locked(Stack)])
def test_no_class_with_a_lock_is_condemned_in_a_thousand_programs(make):
    assert judged(make, examples=1000, budget=LONG).verdict != "violated"


def meets(other):
    """A class of which two calls that overlap do this."""

    class Meeting:
        def __init__(self):
            self._inside = 0

        def enter(self):
            self._inside += 1
            for _ in range(3000):
                if self._inside > 1:
                    other()
            self._inside -= 1

    return Meeting


@for_real
def test_a_process_that_ends_when_threads_meet_ends_its_program_alone():
    found = judged(meets(lambda: os._exit(7)), budget=LONG)
    assert (found.verdict, found.cause, found.kind, found.code) == ("violated", "crashed", "C-LEVEL", "GC602"), str(found)
    assert "exited with status 7" in found.reason
    assert "no token replays it, and seed=1 draws the same programs again" in found.reason
    assert "stress=True" in found.pasted


@for_real
def test_a_hang_is_ended_and_told_with_its_stacks():
    found = judged(meets(threading.Event().wait), budget=LONG, timeout=1.0)
    assert (found.verdict, found.cause) == ("violated", "stuck"), str(found)
    assert "enter" in found.story, "of the stacks, or of the schedule that shows it as well"


@for_real
def test_a_hang_that_does_not_come_again_is_no_finding_and_no_pass(monkeypatch):
    really, calls = stressed.run, []

    def run(real, bounds):
        calls.append(bounds.timeout)
        child = really(real, bounds)
        if len(calls) > 1:
            return child
        return SimpleNamespace(
            failure=None, outcome=1, first=None, counts=child.counts, kinds=child.kinds, end=lambda: (HANGS, "killed", "")
        )

    monkeypatch.setattr(stressed, "run", run)
    found = judged(locked(Counter), budget=LONG, timeout=3.0)
    assert found.verdict == "inconclusive", str(found)
    assert "did not end once, and a second time all did" in found.reason
    assert calls == [3.0, 6.0]


@for_real
def test_a_class_in_c_runs_for_real():
    found = judged(collections.deque, ops={"append": [[1, 2]], "popleft": []}, examples=25, budget=LONG)
    assert found.verdict == "holds", str(found)
    assert found.pairs == found.overlapped == 3


@for_real
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="itertools is safer since")
def test_what_real_threads_alone_show_is_at_the_level_of_c():
    program = [("before", "__next__"), (1, "__next__"), (2, "__next__")]
    found = judged(itertools.cycle, init=[[[1, 2, 3]]], program=program, budget=30)
    assert (found.verdict, found.cause, found.kind, found.code) == ("violated", "not atomic", "C-LEVEL", "GC601"), str(found)
    assert "no schedule shows it" in str(found)
    assert "stress=True" in found.pasted


class CountedByTheClass:
    made = 0

    def add(self):
        CountedByTheClass.made += 1
        return CountedByTheClass.made


@for_real
def test_state_outside_of_the_object_is_refused():
    found = judged(CountedByTheClass, budget=LONG)
    assert (found.verdict, found.code) == ("inconclusive", "GC707"), str(found)


@for_real
def test_programs_that_wait_in_an_order_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(real_threads, "_WAITS", 0.05)
    found = judged(queue.Queue, init=[[1]], ops={"put": [[1]], "get": []}, include=["queue"], examples=10, budget=5)
    assert found.verdict == "inconclusive", str(found)
    assert "wait in a sequential order" in str(found)


class KeepsAModel(ConcurrentMachine):
    def __init__(self):
        super().__init__()
        self.count = 0

    @rule(x=st.integers(0, 2))
    def add(self, x):
        self.count += x


@for_real
def test_a_machine_that_races_with_itself_is_refused():
    found = judged(KeepsAModel, budget=LONG)
    assert found.verdict == "inconclusive"
    assert "self.count of the machine" in found.reason


@for_real
def test_the_command_runs_a_class_in_c_for_real():
    result = run_cli("fuzz", "collections:deque", "--stress", "--examples=3", "--seed=1")
    assert "runs with real threads" in result.stdout
    assert result.returncode in (0, 1, 3)


@pytest.mark.skipif(FREE, reason="for builds with a GIL")
def test_the_command_refuses_real_threads_with_a_gil_in_one_line():
    result = run_cli("fuzz", "collections:deque", "--stress")
    assert result.returncode == 2
    assert "python3.13t" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_every_merge_of_the_threads_is_an_order():
    assert len(list(_merges((3, 3)))) == len(set(_merges((3, 3)))) == 20
    assert set(_merges((1, 2))) == set(itertools.permutations((0, 1, 1)))
