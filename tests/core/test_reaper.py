"""Processes that a child started do not outlive a parent that is killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from pytest_gilcheck.core import reaper

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
PROGRAM = """
    import os, signal, subprocess, sys, time
    from pytest_gilcheck.core.child import ChildSide, fork
    side = fork(600)
    if isinstance(side, ChildSide):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what it starts ignores it too
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"])
        time.sleep(600)
    {then}
"""


def alive(mark):
    """Processes with this mark in their command line, zombies excluded."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if mark in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not so within {seconds} s"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_grandchildren_die_with_a_parent_that_is_killed(number, tmp_path):
    mark = f"gilcheck-test-{tmp_path}"
    program = textwrap.dedent(PROGRAM.format(mark=mark, then="time.sleep(600)"))
    parent = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    wait_for(lambda: alive(mark))
    parent.send_signal(number)
    parent.wait(20)
    try:
        wait_for(lambda: not alive(mark), 5)
    finally:
        for process in alive(mark):
            process.kill()


def test_without_the_reaper_they_live_on(tmp_path):
    """The test above can fail: without the reaper, the grandchildren live on."""
    mark = f"gilcheck-test-{tmp_path}"
    program = "from pytest_gilcheck.core import reaper\nreaper.start = reaper.watch = lambda *group: None\n"
    program += textwrap.dedent(PROGRAM.format(mark=mark, then="time.sleep(600)"))
    parent = subprocess.Popen([sys.executable, "-c", program])
    wait_for(lambda: alive(mark))
    parent.kill()
    parent.wait(20)
    time.sleep(0.5)
    left = alive(mark)
    for process in left:
        process.kill()
    assert left


def test_the_reaper_is_not_a_child_of_the_process_it_serves():
    program = """
        import os, psutil, time
        from tests.core.forked_call import call
        call(lambda: 1, 10)
        print([p.pid for p in psutil.Process().children(recursive=True)])
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no child to wait for")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "no child to wait for"]
    assert not done.stderr


def test_a_group_that_has_ended_is_released_because_its_number_may_soon_be_anothers(monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(reaper, "_pipe", writing)
    reaper.watch(4711)
    reaper.release(4711)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"+4711\n-4711\n"
