"""A process that waits in the kernel, beside others that use all cores: what it waits for may have no core either."""

import atexit
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.clocks import time
from pytest_gilcheck.core.system import HAS_PROC
from pytest_gilcheck.interrupt import process_snapshot
from tests.undecided import decided

pytestmark = pytest.mark.skipif(not HAS_PROC or not hasattr(os, "posix_spawn"), reason="no such waits, or no /proc, here")
# A process that starts another waits, where no signal but SIGKILL ends it, until that has opened its files; here, a pipe.
WAITS = """
import os, sys
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
"""


@pytest.fixture
def pipe(tmp_path):
    name = tmp_path / "pipe"
    os.mkfifo(name)
    return str(name)


@contextmanager
def all_cores_busy(each=3):
    """So many processes for each core that others find next to nothing."""
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(each * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def test_what_the_hypervisor_steals_from_one_core_counts_as_denied_and_not_the_sum_of_all():
    before = now = process_snapshot.take(os.getpid())
    assert now.stolen
    later = replace(now, stolen=dict.fromkeys(range(8), 1.5), at=now.at + 2)
    assert later.denied_since(replace(before, stolen=dict.fromkeys(range(8), 0.5))) == pytest.approx(1.0)
    assert later.denied_since(replace(before, stolen=later.stolen)) == 0
    assert later.denied_since(replace(before, stolen={})) == 0  # a core that has just come online


def test_a_wait_in_the_kernel_decides_nothing_only_while_others_use_all_cores(pipe):
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", WAITS, pipe]) as process:
        try:
            before = process_snapshot.take(process.pid)
            until = time.monotonic() + 30
            while not (now := process_snapshot.take(process.pid)).uninterruptible and time.monotonic() < until:
                time.sleep(0.01)
            assert now.uninterruptible == {process.pid}
            at, idle = before.at + 1, before.idle + 1
            assert not replace(now, at=at, idle=idle, main_cpu=before.main_cpu).held_by_kernel_since(before)
            held = replace(now, at=at, idle=before.idle, main_cpu=before.main_cpu)
            assert held.held_by_kernel_since(before) == {process.pid}
            by_itself = replace(held, main_cpu=before.main_cpu + 0.9)
            assert not by_itself.held_by_kernel_since(before)  # it has used the cores itself
            assert not replace(held, uninterruptible=frozenset()).held_by_kernel_since(before)  # it sleeps as programs do
        finally:
            with open(pipe, "w"):  # the other process goes on, and so does this one
                assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize("crowded", [False, True])
def test_an_end_that_waits_in_the_kernel_is_late_only_on_a_machine_with_an_idle_core(pipe, crowded):
    def work():
        try:
            time.sleep(30)
        finally:
            os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, pipe, os.O_RDONLY, 0)])

    def check():
        return gilcheck.interrupt(work, signals=(signal.SIGINT,), repeats=1, over=0.2, within=1.0, exits_within=0.4)

    if crowded:
        with all_cores_busy():
            result = check()
        assert (result.verdict, result.outcome) == ("inconclusive", "busy"), result
    else:
        result = decided(check())
        assert (result.verdict, result.outcome) == ("violated", "stuck in cleanup"), result


@pytest.mark.slow
@pytest.mark.exclusive
@pytest.mark.parametrize("never", [False, True])
def test_a_process_that_waits_for_its_child_lingers_beside_busy_ones_only_if_that_does_not_end_in_three_times_that(never):
    started = []

    def setup():
        seconds = 60 if never else 1.9
        code = f"import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep({seconds})"
        started.append(subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE))
        started[0].stdout.read(1)

    def work():
        atexit.register(started[0].wait)
        time.sleep(30)

    with all_cores_busy():
        result = gilcheck.interrupt(work, setup=setup, signals=(signal.SIGINT,), repeats=1, over=0.1, within=1.0, exits_within=1.0)
    assert (result.verdict, result.outcome) == (("violated", "lingers") if never else ("inconclusive", "busy")), result
