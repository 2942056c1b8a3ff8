"""A body that forks in the thread of the test, under each check: nobody reports twice, and what cannot be told is undecided."""

import json
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bodies fork")

SUITE = """
import os, threading, pytest

class Counter: value = 0

@pytest.fixture
def counter(): return Counter()

def ends():
    pid = os.fork()
    if pid == 0: os._exit(3)
    os.waitpid(pid, 0)

def comes_back():
    pid = os.fork()
    if pid == 0: return
    os.waitpid(pid, 0)

either = pytest.mark.parametrize("forks", [ends, comes_back])

@either
@pytest.mark.gil_latency(p99=5.0, budget=0.3, timeout=5)
def test_latency(forks): forks()

@either
@pytest.mark.gil_interrupt(repeats=1, over=0.3, within=5, exits_within=5)
def test_interrupt(forks):
    forks()
    threading.Event().wait(60)

@either
@pytest.mark.gil_interrupt(inject="every-step", invariant=lambda: True)
def test_injection(forks): forks()

@either
@pytest.mark.gil_fuzz(schedules=20, invariant=lambda counter: counter.value == 2)
def test_fuzz(counter, forks):
    value = counter.value
    forks()
    counter.value = value + 1

@either
def test_call(gilcheck, forks):
    gilcheck.fuzz(threads=[forks, forks], schedules=5)

def test_last(): pass
"""


@pytest.mark.slow
def test_a_body_that_forks_is_judged_or_undecided_and_its_child_reports_nothing(run, pytester):
    result = run(SUITE, "-v", "--gilcheck-json=e.json", timeout=200)
    text = result.stdout.str()
    assert "INTERNALERROR" not in text, text
    assert text.count("=== test session starts ===") == 1
    ends = [line.split("::")[1].split()[:2] for line in result.outlines if "::test_" in line and "%]" in line]
    assert len(ends) == len({name for name, _ in ends}) == 11, text
    assert ["test_last", "PASSED"] in ends
    evidence = json.loads((pytester.path / "e.json").read_text())
    found = {record["subject"].partition("::")[2]: record for record in evidence["records"]}
    assert len(found) == len(evidence["records"]) == 10
    for forks in ("ends", "comes_back"):
        for searched in ("test_fuzz", "test_call"):  # other processes cannot be scheduled
            assert found[f"{searched}[{forks}]"]["verdict"] == "inconclusive"
            assert "it forks (os.fork)" in found[f"{searched}[{forks}]"]["reason"]
        assert found[f"test_injection[{forks}]"]["verdict"] == "violated"  # an interrupt right after the fork: nobody waits for it
        assert found[f"test_interrupt[{forks}]"]["verdict"] in ("holds", "inconclusive")
    assert found["test_latency[comes_back]"]["outcome"] == "failed"  # a thread that returns in a fork ends the fork, and not pytest
