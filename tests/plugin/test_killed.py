"""pytest ended from outside in the middle of a check: nothing it started is there two seconds later."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

SOURCE = """
import subprocess, sys, time, pytest

MARK = {mark!r}

def body():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", MARK])
    time.sleep(600)

@pytest.mark.{marker}
def test_it():
    body()

def test_call(gilcheck):
    gilcheck.interrupt(body)
"""
CHECKS = {
    "scaling": "gil_scaling",
    "interrupt": "gil_interrupt(over=600)",
    "latency": "gil_latency(timeout=600)",
}


def alive(mark):
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if any(mark in word for word in process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("check", [*CHECKS, "call"])
def test_no_process_is_left_two_seconds_after(tmp_path, check, number):
    mark = f"gilcheck-killed-{tmp_path}"
    source = tmp_path / "test_killed.py"
    source.write_text(SOURCE.format(mark=mark, marker=CHECKS.get(check, "skip")))
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-k",
            "test_call" if check == "call" else "test_it",
            str(source),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    until = time.monotonic() + 60
    while not alive(mark):
        assert time.monotonic() < until, "the check never began"
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(number)
    time.sleep(2)
    left = [process for process in alive(mark) + alive(str(source)) if process.pid != run.pid]  # pytest has its own things to end
    told = [process.cmdline() for process in left]
    for process in left:
        process.kill()
    run.wait(60)
    assert not told
