"""A search keeps its threads on one core, and nothing else."""

import os
import subprocess
import sys
import threading
import time

import pytest

from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.core.system import HAS_AFFINITY, HAS_PROC
from pytest_gilcheck.engine.running.one_core import OneCore

from ..undecided import undecided

pytestmark = pytest.mark.skipif(
    not HAS_AFFINITY or not HAS_PROC or len(os.sched_getaffinity(0)) < 2, reason="no CPU affinity here, or one core only"
)
PRINT_CORES = "import os; print(*sorted(os.sched_getaffinity(0)))"


def really_allowed():
    """The cores of the calling thread, by the kernel."""
    with open("/proc/thread-self/status") as file:
        [line] = [line for line in file if line.startswith("Cpus_allowed_list:")]
    cores = set()
    for part in line.split()[1].split(","):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


class Counter:
    def __init__(self):
        self.count = 0
        self.seen = []


def count(counter):
    counter.seen.append((really_allowed(), os.sched_getaffinity(0)))
    counter.count += 1


@pytest.fixture
def here(monkeypatch):
    """The calls, with their searches in this process."""
    monkeypatch.setenv("GILCHECK_ISOLATE", "none")
    return Gilcheck()


def test_the_threads_of_a_search_run_on_one_core_and_read_the_affinity_that_they_would_have(here):
    before, counters = os.sched_getaffinity(0), []

    def setup():
        counters.append(Counter())
        return counters[-1]

    here.fuzz(setup=setup, threads=[count, count], schedules=20, seed=1)
    seen = [each for counter in counters for each in counter.seen]
    assert all(told == before for _, told in seen)
    assert really_allowed() == before == os.sched_getaffinity(0)
    if min(len(real) for real, _ in seen) > 1:
        undecided("no core of this machine was idle")


@pytest.mark.slow
def test_the_affinity_is_as_before_after_a_search_that_fails_or_cannot_be_made(here):
    before = really_allowed()
    here.fuzz(setup=Counter, threads=[count, count], invariant=lambda counter: False, schedules=20).assert_violated()
    assert really_allowed() == before
    here.fuzz(threads=[lambda: None, lambda: None], schedules=20)
    assert really_allowed() == before


def test_programs_that_the_workload_starts_may_use_all_cores(here):
    printed = []

    def setup():
        printed.append(subprocess.run([sys.executable, "-c", PRINT_CORES], capture_output=True, text=True, check=True).stdout)
        return Counter()

    here.fuzz(setup=setup, threads=[lambda c: c.seen.append(1), lambda c: c.seen.append(2)], schedules=2)
    assert printed
    assert {frozenset(map(int, line.split())) for line in printed} == {frozenset(os.sched_getaffinity(0))}


def test_an_affinity_that_the_workload_sets_is_left_alone():
    with OneCore():
        chosen = {max(os.sched_getaffinity(0))}
        kept = []

        def work():
            os.sched_setaffinity(0, chosen)
            kept.append(really_allowed())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert kept == [chosen]
        before = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, chosen)
            assert os.sched_getaffinity(0) == chosen == really_allowed()
        finally:
            os.sched_setaffinity(0, before)


def test_threads_that_were_there_before_keep_their_cores():
    stop, seen, ready = threading.Event(), [], threading.Event()

    def stay():
        ready.set()
        stop.wait()
        seen.append(really_allowed())

    thread = threading.Thread(target=stay)
    thread.start()
    ready.wait()
    with OneCore():
        stop.set()
        thread.join()
    assert seen == [really_allowed()]


@pytest.mark.slow
def test_a_search_leaves_a_core_that_others_use():
    with OneCore() as core:
        [here] = really_allowed()
        busy = f"import os; os.sched_setaffinity(0, [{here}])\nwhile True: pass"
        neighbour = subprocess.Popen([sys.executable, "-c", busy])
        try:
            until = time.monotonic() + 20
            while really_allowed() == {here} and time.monotonic() < until:
                sum(range(10_000))
                core.look()
            assert here not in really_allowed() or len(really_allowed()) > 1
        finally:
            neighbour.kill()
            neighbour.wait()
        until = time.monotonic() + 5
        while len(really_allowed()) > 1 and time.monotonic() < until:
            sum(range(10_000))
            core.look()
        if len(really_allowed()) > 1:
            undecided("no core of this machine was idle")
