"""Who waits for a process that it has started waits in real time: no timeout passes before the process has had its time."""

import subprocess
import sys
import time

import pytest

from ..slow import one_in
from .programs import Counter, add_locked, counted

PROCESS = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(0.2)"]


def runs(counter):
    subprocess.run(PROCESS, timeout=30, check=True)
    add_locked(counter)


def terminates(counter):
    child = subprocess.Popen(PROCESS)
    child.terminate()
    child.wait(timeout=30)
    add_locked(counter)


def gives_up_late(counter):
    child = subprocess.Popen(PROCESS)
    for _ in range(3_000):
        if child.poll() is not None:
            break
        time.sleep(0.01)
    else:
        raise TimeoutError("30 s over")
    add_locked(counter)


@pytest.mark.slow
@pytest.mark.parametrize("wait", one_in(3, [runs, terminates, gives_up_late]))
def test_a_process_has_the_time_that_its_parent_gives_it(wait):
    result = counted(wait, add_locked, setup=Counter, schedules=2, budget=3.0, invariant=lambda counter: counter.value == 2)
    assert result.verdict != "violated", result.reason


@pytest.mark.slow
def test_a_process_that_takes_longer_than_its_parent_waits_is_a_timeout():
    def waits(counter):
        child = subprocess.Popen(PROCESS)
        try:
            child.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            add_locked(counter)
        child.wait()

    result = counted(waits, add_locked, setup=Counter, schedules=2, budget=3.0, invariant=lambda counter: counter.value == 2)
    assert result.verdict != "violated", result.reason
