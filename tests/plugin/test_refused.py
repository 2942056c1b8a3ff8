"""A bad argument of a marker fails its own test with one line. One pytest run tests all of them."""

import os
import re
import subprocess
import sys

import pytest

# (marker, arguments, texts that the line must contain, in this order)
REFUSED = [
    ("gil_scaling", "min_spedup=2", ["min_spedup", "did you mean", "min_speedup"]),
    ("gil_scaling", "threads=0", ["threads=0", "whole number, at least 2"]),
    ("gil_scaling", "threads=10**9", ["threads=1000000000", "at most"]),
    ("gil_scaling", "threads=3000", ["threads=3000", "timeout=60: one lap of so many"]),
    ("gil_scaling", "timeout=1e300", ["timeout=1e+300", "seconds above 0, at most 100,000,000"]),
    ("gil_scaling", "budget=10**400", ["budget=1000", "seconds above 0, at most 100,000,000"]),
    ("gil_scaling", "min_speedup=10**400", ["min_speedup=1000", "a number above 0"]),
    ("gil_scaling", "budget=float('nan')", ["budget=nan", "seconds above 0"]),
    ("gil_scaling", "warmup=10**12", ["warmup=1000000000000", "at most 1,000,000"]),
    ("gil_scaling", "min_speedup='fast'", ["min_speedup='fast'", "number above 0"]),
    ("gil_scaling", "min_speedup=1.5, max_slowdown=1.1", ["max_slowdown=1.1", "no min_speedup beside it"]),
    ("gil_scaling", "budget=-1", ["budget=-1", "seconds above 0"]),
    ("gil_scaling", "cores=10**6", ["cores=1000000", "expected"]),
    ("gil_scaling", "setup='x'", ["setup='x'", "something to call"]),
    ("gil_scaling", "1.5", ["argument=1.5", "by name only"]),
    ("gil_interrupt", "within=-1", ["within=-1", "seconds above 0"]),
    ("gil_interrupt", "repeats=10**30", ["repeats=1", "at most 1,000,000,000"]),
    ("gil_interrupt", "inject='sample', sample=10**30", ["sample=1", "at most 1,000,000,000"]),
    ("gil_interrupt", "3", ["argument=3", "by name only", "within="]),
    ("gil_interrupt", "wihtin=1", ["wihtin", "did you mean", "within"]),
    ("gil_interrupt", "signals='SIGKILL'", ["signals='SIGKILL'", "other than SIGKILL"]),
    ("gil_interrupt", "inject='x'", ["inject='x'", "'every-step' or 'sample'"]),
    (
        "gil_interrupt",
        "inject='every-step', invariant=lambda nothing: True",
        ["invariant=", "arguments are fixtures of the test; 'nothing' is not"],
    ),
    ("gil_latency", "p99=-1", ["p99=-1", "expected"]),
    ("gil_latency", "p98=1", ["p98", "did you mean", "p99"]),
    ("gil_latency", "workers=0", ["workers=0", "whole number, at least 1"]),
    ("gil_latency", "workers=99999999999", ["workers=99999999999", "at most 10,000"]),
    ("gil_latency", "switchinterval=-1", ["switchinterval=-1", "expected"]),
    ("gil_fuzz", "thread=3", ["thread", "did you mean", "threads"]),
    ("gil_fuzz", "threads=0", ["threads=0", "whole number, at least 1"]),
    ("gil_fuzz", "threads=99999999999", ["threads=99999999999", "whole number, at least 1, at most 10,000"]),
    ("gil_fuzz", "preemptions=10**30", ["preemptions=1", "at most 1,000,000,000"]),
    ("gil_fuzz", "seed=10**5000", ["seed=<int of 16,610 bits>", "at most 18,446,744,073,709,551,615"]),
    ("gil_fuzz", "timeout=float('inf')", ["timeout=inf", "seconds above 0"]),
    ("gil_fuzz", "mode='fast'", ["mode='fast'", "expected"]),
    ("gil_fuzz", "replay='gil1_x'", ["replay='gil1_x'", "a token"]),
    (
        "gil_fuzz",
        "schedules=type('Mute', (), {'__repr__': lambda self: exit(0)})()",
        ["schedules=<Mute, whose repr raises SystemExit>"],
    ),
    (
        "gil_fuzz",
        "schedules=type('Long', (), {'__repr__': lambda self: '[1\\n 2]'})()",
        ["schedules=[1 2] (from", "a whole number"],
    ),
    ("gil_fuzz", "schedules=type('Odd', (int,), {'__ge__': lambda *both: 1 / 0})(2)", ["schedules=2", "a whole number"]),
    ("gil_fuzz", "setup=list", ["setup", "threads"]),  # no such argument: the line names those that exist
]
pytestmark = pytest.mark.xdist_group("refused")  # one worker makes the fixture


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The lines of each test's failure, by the number of the test, and the output of the run."""
    folder = tmp_path_factory.mktemp("refused")
    tests = [f"@pytest.mark.{marker}({given})\ndef test_{n}(): pass\n" for n, (marker, given, _) in enumerate(REFUSED)]
    (folder / "test_refused.py").write_text("import pytest\n" + "".join(tests) + "def test_other(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gilcheck", "-q", "--rootdir", folder, folder]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    text = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment).stdout
    failures = re.split(r"(?m)^_+ test_(\d+) _+$", text.partition("= FAILURES =")[2].partition("\n=")[0])
    return dict(zip(map(int, failures[1::2]), failures[2::2], strict=True)), text


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[f"{marker}({given})" for marker, given, _ in REFUSED])
def test_a_bad_argument_fails_its_test_with_one_line(lines, number):
    marker, _, texts = REFUSED[number]
    [line] = [line for line in lines[0][number].splitlines() if line]
    assert line.startswith("gilcheck: ")
    assert f"(from marker {marker})" in line or line.startswith(f"gilcheck: {marker}: unknown argument ")
    assert f"test_refused.py:{2 * number + 2}" in line
    assert re.search(".*".join(map(re.escape, texts)), line), line


def test_a_bad_argument_fails_no_other_test(lines):
    assert f"{len(REFUSED)} failed, 1 passed" in lines[1]
    assert "Traceback" not in lines[1]
