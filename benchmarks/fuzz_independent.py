"""What does a check cost whose threads share nothing?

    python benchmarks/fuzz_independent.py --steps 40 400 4000 --runs 5

Two threads count in objects of their own: one loop, and a few methods with a dictionary and a list. Prints the CPU time of a check
(the median), its verdict and what it says. The time is that of the process, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import FuzzResult, Gilcheck


class Own:
    def __init__(self) -> None:
        self.count, self.seen, self.by_key = 0, list[int](), dict[int, int]()

    def loop(self, steps: int) -> None:
        for _ in range(steps // 3):
            self.count += 1

    def mixed(self, steps: int) -> None:
        for number in range(steps // 6):
            self.note(number)

    def note(self, number: int) -> None:
        self.seen.append(number)
        self.by_key[number % 7] = self.by_key.get(number % 7, 0) + 1
        self.count = len(self.seen)


class Two:
    def __init__(self) -> None:
        self.first, self.second = Own(), Own()


def checked(work: Callable[[Own, int], None], steps: int, budget: float) -> tuple[float, FuzzResult]:
    def first(state: Two) -> None:
        work(state.first, steps)

    def second(state: Two) -> None:
        work(state.second, steps)

    begun = time.process_time()
    result = Gilcheck().fuzz(
        threads=[first, second], setup=Two, budget=budget, name=f"{work.__name__} {steps}", seed=1, judge=False
    )
    return time.process_time() - begun, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[40, 400, 4000], metavar="N", help="of each thread, about")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="checks of each (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=5.0, metavar="S", help="seconds of each check (default: %(default)s)")
    given = parser.parse_args()
    checked(Own.loop, 40, given.budget)  # for what only the first check of a process does
    for work in (Own.loop, Own.mixed):
        for steps in given.steps:
            seen = [checked(work, steps, given.budget) for _ in range(given.runs)]
            result = seen[-1][1]
            cpu = statistics.median(cpu for cpu, _ in seen)
            what = f"{work.__name__}, {steps:,} steps ({result.steps:,} in all)"
            print(f"{what}: {cpu:.2f} s of CPU time, {result.schedules} runs, {result.verdict}: {result.reason}", flush=True)


if __name__ == "__main__":
    os.environ["GILCHECK_ISOLATE"] = "none"
    main()
