"""Processes that a target leaves behind, and those that a busy machine keeps from ending."""

import os
import subprocess
import sys

import pytest

from pytest_gilcheck.core.clocks import time
from pytest_gilcheck.core.system import HAS_PROC
from pytest_gilcheck.interrupt.survivors import survivors

pytestmark = pytest.mark.skipif(
    not HAS_PROC or not hasattr(os, "sched_setaffinity"), reason="no CPU affinity or no scheduler statistics here"
)
# the leader of a group starts a process on one core, which computes for so long, and leaves at once
LEADER = """
import os, subprocess, sys
core, seconds = sys.argv[1:]
os.sched_setaffinity(0, [int(core)])
work = f"import time\\nwhile time.process_time() < {seconds}: pass"
subprocess.Popen([sys.executable, "-I", "-S", "-c", work], stdout=subprocess.DEVNULL)
"""


def left_by(seconds):
    """The survivors, after half a second, of a process whose child needs so many seconds of one core, on which others compute."""
    core = str(min(os.sched_getaffinity(0)))
    spin = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    command = [sys.executable, "-I", "-S", "-c", spin]
    neighbours = [subprocess.Popen(command, start_new_session=True) for _ in range(4)]  # a session has its share of the core
    try:
        leader = subprocess.Popen([sys.executable, "-I", "-S", "-c", LEADER, core, str(seconds)], start_new_session=True)
        leader.wait()
        began = time.monotonic()
        return survivors(leader.pid, 0.5), time.monotonic() - began
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
        subprocess.run(["pkill", "-KILL", "-s", str(leader.pid)], check=False)


@pytest.mark.slow
def test_a_process_that_is_denied_a_core_is_not_left_behind_before_it_has_had_its_time():
    left, took = left_by(0.25)
    assert left.names == (), f"after {took:.2f} s"
    left, took = left_by(60)
    assert len(left.names) == 1
    assert left.denied
    assert took > 0.7  # it got that in addition
    assert took < 10.0  # and no more


@pytest.mark.slow
def test_a_process_that_sleeps_is_left_behind_after_its_time_on_a_busy_machine_too():
    leader = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", 'import subprocess; subprocess.Popen(["sleep", "60"])'], start_new_session=True
    )
    leader.wait()
    began = time.monotonic()
    left = survivors(leader.pid, 0.3)
    took = time.monotonic() - began
    os.killpg(leader.pid, 9)
    assert len(left.names) == 1
    assert not left.denied
    assert took < 5.0
