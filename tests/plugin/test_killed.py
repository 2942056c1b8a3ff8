"""A signal ends pytest during a check: two seconds later, no process that it started exists.

The runs (four ways to run a check, three signals) run at the same time; each test examines one of them. By default each way gets
one signal; with -m slow, the others.
"""

import os
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
    "scaling": "gil_scaling(timeout=600)",
    "interrupt": "gil_interrupt(over=600, timeout=600)",
    "latency": "gil_latency(timeout=600)",
    "call": "skip",
}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
RUNS = [(check, number) for check in CHECKS for number in SIGNALS]
BY_DEFAULT = [(check, SIGNALS[place % len(SIGNALS)]) for place, check in enumerate(CHECKS)]
LONGEST_START = 120.0  # seconds until every check has begun
GONE_AFTER = 2.0  # seconds

pytestmark = pytest.mark.xdist_group("killed")  # one worker makes the fixture


def processes_with(*marks):
    """The processes that have one of these marks in their command line, by mark."""
    found = {mark: [] for mark in marks}
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE:
            for mark in marks:
                if any(mark in argument for argument in process.info["cmdline"] or []):
                    found[mark].append(process)
    return found


class KilledRun:
    """One pytest run; its check starts a process with `mark` in its command line."""

    def __init__(self, folder, check):
        folder.mkdir()
        self.mark, self.source = f"gilcheck-killed-{folder}-", folder / "test_killed.py"
        self.source.write_text(SOURCE.format(mark=self.mark, marker=CHECKS[check]))
        test = "test_call" if check == "call" else "test_it"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gilcheck", "-k", test, str(self.source)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=os.environ | {"GILCHECK_LOCK": str(folder / "lock"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        self.failure = None  # why there was no check to end with the signal
        self.left = []  # command lines of the processes that still existed after the signal


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """The runs of the session's tests, two seconds after their signal."""
    base = tmp_path_factory.mktemp("killed")
    wanted = {item.callspec.params["key"] for item in request.session.items if item.module is request.module}
    runs = {key: KilledRun(base / "-".join((key[0], key[1].name)), key[0]) for key in sorted(wanted)}
    waiting, until = dict(runs), time.monotonic() + LONGEST_START
    while waiting and time.monotonic() < until:
        found = processes_with(*(run.mark for run in waiting.values()))
        for key, run in list(waiting.items()):
            if found[run.mark]:
                del waiting[key]
            elif run.process.poll() is not None:
                run.failure = f"pytest ended before its check began: {run.process.returncode}"
                del waiting[key]
        time.sleep(0.05)
    for run in waiting.values():
        run.failure = f"the check did not begin within {LONGEST_START:g} s"
    for (_, number), run in runs.items():
        run.process.send_signal(number)
    time.sleep(GONE_AFTER)
    found = processes_with(*(mark for run in runs.values() for mark in (run.mark, str(run.source))))
    for run in runs.values():
        left = [p for p in found[run.mark] + found[str(run.source)] if p.pid != run.process.pid]  # pytest may still be writing
        run.left = [process.info["cmdline"] for process in left]
        for process in left:
            process.kill()
        run.process.kill() if run.failure else None
        run.process.wait(60)
    return runs


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, id=f"{key[0]}-{key[1].name}", marks=() if key in BY_DEFAULT else pytest.mark.slow) for key in RUNS],
)
def test_no_process_is_left_two_seconds_after_the_signal(runs, key):
    run = runs[key]
    assert run.failure is None
    assert not run.left
