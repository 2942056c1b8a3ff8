"""Classes as tests of pytest, and the command ``gilcheck fuzz``."""

import json
import subprocess
import sys

import pytest

CLASSES = """
    import threading

    class Counter:
        def __init__(self):
            self.count = 0
        def add(self):
            self.count += 1
            return self.count

    class Locked(Counter):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()
        def add(self):
            with self.lock:
                return super().add()

    class Waits:
        def __init__(self, widget): ...
"""
TESTS = """
    import pytest
    from hypothesis.stateful import rule
    from pytest_gilcheck import ConcurrentMachine, linearizable
    from counters import Counter, Locked

    test_racy = linearizable(Counter, seed=1)
    test_locked = linearizable(Locked, examples=20)
    test_known = linearizable(Counter, expect="violated")
    test_no_longer = linearizable(Locked, expect="violated", examples=20)

    @pytest.mark.gil_linearizable(examples=20)
    def test_marked():
        return Counter()

    class CounterMachine(ConcurrentMachine):
        options = {"examples": 20}
        def __init__(self):
            super().__init__()
            self.counter = Counter()
        @rule()
        def add(self):
            return self.counter.add()
    TestCounter = CounterMachine.TestCase
"""


@pytest.fixture
def counters(pytester, monkeypatch):
    pytester.makepyfile(counters=CLASSES)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pytester


@pytest.mark.slow
def test_a_class_is_a_test_with_evidence_and_its_token_replays(counters):
    counters.makepyfile(test_counters=TESTS)
    result = counters.runpytest_subprocess("--gilcheck-json=e.json", "test_counters.py")
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (2, 4)
    records = {
        entry["subject"].rpartition("::")[2]: entry for entry in json.loads((counters.path / "e.json").read_text())["records"]
    }
    assert records["test_racy"]["code"] in ("GC701", "GC706")
    assert records["test_racy"]["details"]["lanes"]["steps"]
    assert records["test_locked"]["verdict"] == "holds"
    pasted = records["test_racy"]["details"]["pasted"]
    counters.makepyfile(test_pasted=pasted)
    again = counters.runpytest_subprocess("test_pasted.py")
    again.assert_outcomes(failed=1)
    assert records["test_racy"]["token"] in again.stdout.str()
    counters.makepyfile(
        counters=CLASSES.replace("class Counter", "class Gone").replace("class Locked(Counter)", "class Counter(Gone)")
    )
    counters.runpytest_subprocess("test_pasted.py").assert_outcomes(skipped=1)  # its steps are others now


@pytest.mark.parametrize(
    ("target", "options", "status", "text"),
    [
        ("counters:Locked", ("--examples=20",), 0, "holds"),
        ("counters:Counter", ("--seed=1",), 1, "add() -> 1   add() -> 1"),
        ("counters:Waits", (), 2, "nothing says what its parameter 'widget' takes"),
        ("collections:deque", (), 3, "deque is in C"),
        ("counters:Counter", ("--init", "3"), 2, "a Python tuple"),
    ],
)
def test_the_command_checks_a_class_with_no_test(counters, target, options, status, text):
    command = [sys.executable, "-m", "pytest_gilcheck", "fuzz", target, "--json=e.json", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=counters.path)
    assert result.returncode == status, result.stdout + result.stderr
    assert text in result.stdout + result.stderr
    if status in (0, 1, 3):
        [record] = json.loads((counters.path / "e.json").read_text())["records"]
        assert record["check"] == "linearizable"
