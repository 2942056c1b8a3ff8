"""Thousands of waits at once: what each costs in memory, and how a program ends that starts too many."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("waits.py")
pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="this reads /proc of Linux")


def run(*arguments):
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=SCRIPT.parent)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stderr[-2000:]
    came = json.loads(lines[-1])
    print(f"{arguments}: {came['waiting']} at once, {came['seconds']:.2f} s, {came['each'] / 1024:.1f} KiB each, {came['error']}")
    return came


# Published: processes are unusable, threads fit, coroutines are the cheapest.
def test_a_process_costs_more_than_a_thread_and_a_thread_more_than_a_coroutine():
    process, thread, coroutine = run("processes", 50), run("threads", 2_000), run("coroutines", 20_000)
    assert (process["waiting"], thread["waiting"], coroutine["waiting"]) == (50, 2_000, 20_000)
    assert process["each"] > 4 * thread["each"]
    assert thread["each"] > 4 * coroutine["each"]


# Each thread takes address space for its stack, 8 MiB, and for the allocator, up to 64 MiB.
def test_too_many_threads_end_in_a_runtime_error():
    came = run("threads", 5_000, 1_500)
    assert came["waiting"] < 1_000
    assert came["error"] == 'RuntimeError("can\'t start new thread")'


# The limit of processes is a number. (Memory comes later: a forked child costs little until it writes.)
def test_too_many_processes_end_in_an_os_error():
    came = run("processes", 500, 30)
    assert came["waiting"] < 60
    assert came["error"].startswith("BlockingIOError(11")


# The limit of coroutines is memory, and they are many by then. An event loop in that state cannot even report it.
@pytest.mark.skipif("t" in sys.abiflags, reason="a free-threaded build reserves more address space than this test grants")
def test_too_many_coroutines_end_in_a_memory_error():
    came = run("bare_coroutines", 10_000_000, 200)
    assert came["waiting"] > 50_000
    assert came["error"] == "MemoryError()"
