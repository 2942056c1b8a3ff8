"""How often a latency check names the right cause: a C call that keeps the GIL, beside bytecode of the same length.

The C call is ``bytes(n).hex()``, which never releases the GIL; the bytecode is a loop that counts. Both are made to use so many
milliseconds of CPU time, and each is checked at several switch intervals, alone and beside busy processes. The cause is that of the
first place that the check names, whatever the verdict: a busy machine leaves many verdicts inconclusive.

To compare with another version, run this file with the folder of that version first on PYTHONPATH.

    python benchmarks/latency_causes.py --checks 2 --lengths 2 5 10 25 50 --intervals 1 5 20 --load 0 2
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest_gilcheck
from pytest_gilcheck import gilcheck


def of_cpu_time(make: Callable[[int], Callable[[], object]], milliseconds: float, size: int) -> Callable[[], object]:
    """What uses about so many milliseconds of CPU time, made of what a first guess at the size takes."""
    for _ in range(3):
        work, best = make(size), float("inf")
        for _ in range(5):
            start = time.thread_time()
            work()
            best = min(best, time.thread_time() - start)
        size = max(1, int(size * milliseconds / 1e3 / best))
    return make(size)


def in_c(size: int) -> Callable[[], object]:
    def work() -> None:
        bytes(size).hex()

    return work


def in_bytecode(size: int) -> Callable[[], object]:
    def work() -> None:
        number = 0
        while number < size:
            number += 1

    return work


def cause(work: Callable[[], object], interval: float, budget: float) -> tuple[str, str]:
    """The kind of the first holder of the GIL, or why there is none; and the verdict."""
    result = gilcheck.latency(work, p99=0.001, switchinterval=interval / 1e3, budget=budget)
    return (result.holders[0].kind if result.holders else "nobody named"), str(result.verdict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=2, help="of each cell (default: 2)")
    parser.add_argument("--lengths", type=float, nargs="+", default=[2, 5, 10, 25, 50], help="milliseconds of CPU time of one call")
    parser.add_argument("--intervals", type=float, nargs="+", default=[1, 5, 20], help="milliseconds between two switches")
    parser.add_argument("--load", type=int, nargs="+", default=[0, 2], help="busy processes beside the check")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of each check (default: 2)")
    given = parser.parse_args()
    kinds = {"C call": (in_c, 1_000_000), "bytecode": (in_bytecode, 100_000)}
    works = {(kind, ms): of_cpu_time(make, ms, size) for kind, (make, size) in kinds.items() for ms in given.lengths}
    print(f"{os.path.dirname(pytest_gilcheck.__file__)}; {gilcheck.interpreter}; load average {os.getloadavg()[0]:.0f}\n")
    print("| workload | switch interval, ms | busy processes | right | both named | wrong | nobody named | violated |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    total: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for load in given.load:
        spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
        try:
            for interval in given.intervals:
                for kind in kinds:
                    row: Counter[str] = Counter()
                    for ms in given.lengths:
                        for _ in range(given.checks):
                            named, verdict = cause(works[kind, ms], interval, given.budget)
                            row[verdict] += 1
                            row["right" if named == kind else "wrong" if named in kinds else named] += 1
                            if named in kinds and named != kind:
                                print(
                                    f"wrong: {kind} of {ms:g} ms at {interval:g} ms is called {named}", file=sys.stderr, flush=True
                                )
                    total[kind] += row
                    print(f"| {kind} | {interval:g} | {load} | {_cells(row)} |", flush=True)
        finally:
            for process in spin:
                process.kill()
                process.wait()
    for kind, row in total.items():
        print(f"| **{kind}** | all | all | {_cells(row)} |")
    print(f"\nload average at the end {os.getloadavg()[0]:.0f}")


def _cells(row: Counter[str]) -> str:
    return " | ".join(str(row[name]) for name in ("right", "bytecode or C call", "wrong", "nobody named", "violated"))


if __name__ == "__main__":
    main()
