"""A broken ``setup`` of a check is an error of its test, in whatever way it is broken, and so is a workload that dies by itself."""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")

SOURCE = """
import ctypes, os, time, pytest
values = []

def work():
    for _ in range(3): values.append(1)

def fine(): values.clear()
def raises(): raise LookupError("broken setup")
def exits(): os._exit(0)
def crashes(): ctypes.string_at(0)
def interrupts(): raise KeyboardInterrupt
def leaves(): raise SystemExit(0)

every = pytest.mark.parametrize("setup", {setups})

@every
def test_injection(gilcheck, setup): gilcheck.interrupt(work, inject="every-step", setup=setup).assert_holds()
@every
def test_interrupt(gilcheck, setup):
    sleep = lambda: time.sleep(0.1)
    gilcheck.interrupt(sleep, setup=setup, repeats=1, over=0.1, timeout=30, within=5, exits_within=20).assert_holds()
@pytest.mark.gil_interrupt(inject="every-step", setup={setups}[0])
def test_marked(): work()
@pytest.mark.parametrize("dies", [exits, crashes][:len({setups}) - 1])
def test_workload(gilcheck, dies): gilcheck.interrupt(dies, inject="every-step")
"""


@pytest.mark.slow
def test_a_broken_setup_is_a_failure_and_never_a_skip(run):
    result = run(SOURCE.format(setups="[raises, exits, crashes, interrupts, leaves]"))
    result.assert_outcomes(failed=5 + 5 + 1 + 2)
    text = result.stdout.str()
    for line in (
        "broken setup",
        "in setup=exits, the process exited with status 0",
        "in setup=crashes, the process was killed",
        "the setup raised KeyboardInterrupt",
        "the setup raised SystemExit: 0",
        "the setup ended its process, which exited",
        "without any injected exception, the process exited with status 0",
    ):
        assert line in text


@pytest.mark.slow
def test_the_same_tests_with_a_setup_that_works_pass(run):
    run(SOURCE.format(setups="[fine]")).assert_outcomes(passed=3, skipped=1)  # no workload that dies
