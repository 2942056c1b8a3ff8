"""How long does a search take to find one racy pair among many visible steps, and how many preemptions has the report?

The programs are those of `tests/fuzz/ladder.py`: a publication, a check before an act, a lost update and an order of locks,
early, in the middle and late among so many visible steps. Prints a Markdown table; times are of CPU, and of the whole check.

    python benchmarks/fuzz_ladder.py --steps 200,2000,20000

Exits with 1 if a pair was not found, or was reported with more than one preemption.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import gilcheck
from tests.fuzz.ladder import PLACES, RACY, Rung, State


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="200,2000,20000")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--racy", default=",".join(RACY))
    parser.add_argument("--budget", type=float, default=5.0)
    given = parser.parse_args()
    failed = 0
    print("| racy | steps | threads | place | preemptions | kind | schedules to it | runs | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for racy in given.racy.split(","):
        for steps in map(int, given.steps.split(",")):
            for count in map(int, given.threads.split(",")):
                for place in PLACES:
                    rung = Rung(racy, steps, place, count)
                    begun = time.process_time()
                    result = gilcheck.fuzz(setup=State, threads=rung.threads, invariant=rung.invariant, budget=given.budget, seed=1)
                    spent = time.process_time() - begun
                    failed += result.preemptions != 1
                    kind = result.kind or result.reason[:60]
                    print(
                        f"| {racy} | {result.steps} | {count} | {place} | {result.preemptions} | {kind} | "
                        f"{result.coverage.partition(' ')[0]} | {result.schedules} | {spent:.2f} |",
                        flush=True,
                    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
