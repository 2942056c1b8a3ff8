"""What many small checks cost: tests of a counter that holds, under pytest, and programs in one session.

Run: python -m benchmarks.small_checks [tests, such as 1 10 100]

Prints the CPU seconds of pytest runs of so many checked tests, and of the same tests without the marker; and the CPU milliseconds
of programs in one session, until their first schedule and until they hold. Pin it to one core (``taskset -c 0``).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.small_counter import Counter, lost_nothing, twice
from pytest_gilcheck.core.clocks import monotonic, process_time
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.session import Session
from pytest_gilcheck.search.explorer import Explorer
from pytest_gilcheck.search.ledger import limited
from pytest_gilcheck.search.search import Search

PROGRAMS, SECONDS = 20, 60.0
MODULE = """
import threading
import pytest

class Counter:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()

    def add(self):
        with self.lock:
            self.value += 1

@pytest.fixture
def counter():
    return Counter()
"""
TEST = """
{marker}
def test_add_{number}(counter):
    counter.add()
    counter.add()
"""


def pytest_run(tests: int, marker: str) -> float:
    """The CPU seconds of a run of so many tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "test_small.py")
        path.write_text(MODULE + "".join(TEST.format(marker=marker, number=number) for number in range(tests)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_a_session() -> list[tuple[float, float]]:
    """Of each program, the CPU milliseconds until its first schedule, and until it holds."""
    found = []
    with Session() as session:
        for number in range(PROGRAMS):
            begun = process_time()
            program = Program((twice, twice), Counter, lost_nothing, f"counter {number}")
            runs = session.use(program, Explorer)
            sequential = runs.sequential()
            ready = process_time()
            outcome = Search(runs, 2, limited(monotonic() + SECONDS, None), 1).run(sequential)
            assert outcome.failure is None, "a locked counter loses nothing"
            found.append((1000 * (ready - begun), 1000 * (process_time() - begun)))
    return found


def main() -> None:
    first, *later = in_a_session()
    print(
        f"in a session: first {first[0]:.1f} and {first[1]:.1f} ms; later ones, median {median(ready for ready, _ in later):.1f}",
        end="",
    )
    print(f" ms until the first schedule, {median(held for _, held in later):.1f} ms until they hold", flush=True)
    for tests in map(int, sys.argv[1:] or ("1", "10")):
        checked, plain = pytest_run(tests, "@pytest.mark.gil_fuzz"), pytest_run(tests, "")
        print(f"{tests} tests under pytest: {checked:.2f} s of CPU, {plain:.2f} s without the marker", flush=True)


if __name__ == "__main__":
    main()
