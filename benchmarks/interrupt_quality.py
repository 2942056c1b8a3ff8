"""Is every verdict of the interrupt check right, and its culprit?

Runs the catalogue of workloads with a known answer (``tests/interrupt/catalogue.py``) over and over, and counts wrong verdicts,
wrong outcomes, wrong culprits, and undecided ones. Prints a markdown table, and exits with 1 if anything was wrong.

    python benchmarks/interrupt_quality.py --repeats 30
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from tests.interrupt.catalogue import CASES, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30, help="checks of each workload (default: 30)")
    parser.add_argument("--signals", type=int, default=3, help="signals in each check (default: 3)")
    parser.add_argument("--only", default="", help="workloads with this in their name")
    given = parser.parse_args()
    free_threaded = build() == FREE_THREADED
    print(f"{gilcheck.interpreter}; {given.repeats} checks of each, {given.signals} signals each\n")
    print("| workload | expected | right | wrong | lost | inconclusive | s, median | delivery, ms, median / max |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    faults = []
    for case in CASES:
        if given.only not in case.name:
            continue
        if case.data is not None:
            case.data()
        outcomes, seconds, deliveries = {"right": 0, "wrong": 0, "lost": 0, "inconclusive": 0}, [], []
        for _ in range(given.repeats):
            start = time.monotonic()
            result = gilcheck.interrupt(case.work, repeats=given.signals, over=0.2, exits_within=1.0)
            seconds.append(time.monotonic() - start)
            deliveries += [trial.delivery for trial in result.trials if trial.delivery is not None]
            fault = wrong(case, result, free_threaded)
            if fault is not None:
                faults.append(f"{case.name}: {fault}\n{result}")
                print(faults[-1], file=sys.stderr, flush=True)
            undecided = "inconclusive" if str(result.verdict) == "inconclusive" else "right"
            lost = case.may_be_lost and str(result.outcome) == "lost"
            outcomes["wrong" if fault else "lost" if lost else undecided] += 1
        delivered = f"{statistics.median(deliveries) * 1e3:.2g} / {max(deliveries) * 1e3:.2g}" if deliveries else "-"
        counts = " | ".join(str(number) for number in outcomes.values())
        print(f"| {case.name} | {case.verdict} | {counts} | {statistics.median(seconds):.1f} | {delivered} |", flush=True)
    print(f"\n{len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
