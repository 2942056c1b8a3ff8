"""What does a sweep cost each test that shares nothing?

Trivial tests, plainly and swept, in a suite of a few and in one of many: the difference has no start of a process in it. Prints
CPU milliseconds for each test on top of the plain run, with all processes of the sweep, and exits with 1 if they are above 15.

    python benchmarks/sweep_trivial.py                   1,000 tests
    python benchmarks/sweep_trivial.py --tests 200
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 15.0
FEW = 50


def cpu_seconds(folder: Path, *options: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    if options and "shares nothing that was seen" not in shown:
        sys.exit(f"no test was swept:\n{shown}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def difference(tests: int) -> float:
    """CPU seconds of a sweep of so many tests, on top of the plain run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = "    assert number + 1 > number\n"
        text = f"import pytest\n@pytest.mark.parametrize('number', range({tests}))\ndef test_trivial(number):\n{body}"
        (folder / "test_trivial.py").write_text(text)
        (folder / "pytest.ini").write_text("[pytest]\n")
        return cpu_seconds(folder, "--gilcheck-sweep", "--gilcheck-sweep-budget=600") - cpu_seconds(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tests", type=int, default=1_000, help="trivial tests (default 1000)")
    tests = parser.parse_args().tests
    milliseconds = 1e3 * (difference(tests) - difference(FEW)) / (tests - FEW)
    load = os.getloadavg()[0]
    print(f"{milliseconds:.1f} ms of CPU for each trivial test on top of the plain run ({tests} tests, load {load:.1f})")
    return milliseconds > LIMIT


if __name__ == "__main__":
    sys.exit(main())
