"""Is one racy pair found among many visible steps, with how many preemptions in the report, and by whom else?

The programs are those of `tests/fuzz/ladder.py`: a publication, a check before an act, a lost update and an order of locks,
early, in the middle and late among so many visible steps. Each check has the budget of its rung: 0.5, 0.5, 2 and 20 seconds for
200, 2,000, 20,000 and 200,000 steps. Prints a Markdown table, with the seconds and the CPU seconds of the whole check, the report
included: what is found early is then classified, minimised and looked into for as long as the budget lasts.

    python benchmarks/fuzz_ladder.py --steps 200,2000,20000
    python benchmarks/fuzz_ladder.py --neighbours 2      # with so many busy processes beside it
    python benchmarks/fuzz_ladder.py --peers             # two other schedulers, each with the same budget

Exits with 1 if a pair was not found by us, or was reported with more than one preemption.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_sides.sides import REQUIREMENTS, peer, say
from neighbours import neighbours

from pytest_gilcheck import gilcheck
from tests.fuzz.ladder import PLACES, RACY, Rung, State

BUDGETS = {200: 0.5, 2_000: 0.5, 20_000: 2.0, 200_000: 20.0}  # seconds, by visible steps
PEERS = {"frontrun": ("random", "dpor"), "interleave-test": ("pct", "dfs")}
GRACE = 20.0  # seconds after which a peer that has not ended is ended


def climb(rung: Rung, budget: float) -> bool:
    """Print the row of one check; returns whether it found the pair, with one preemption."""
    began, used = time.perf_counter(), sum(os.times()[:4])
    result = gilcheck.fuzz(setup=State, threads=rung.threads, invariant=rung.invariant, budget=budget, seed=1)
    seconds, cpu = time.perf_counter() - began, sum(os.times()[:4]) - used  # with the fork that searches
    kind = result.kind or result.reason[:60]
    print(
        f"| {rung.racy} | {result.steps:,} | {rung.count} | {rung.place} | {result.preemptions} | {kind} | "
        f"{result.coverage.partition(' ')[0]} | {result.schedules:,} | {budget:g} | {seconds:.2f} | {cpu:.2f} |",
        flush=True,
    )
    return result.preemptions == 1


def of_peers(rungs: list[tuple[Rung, float]]) -> None:
    """Print what the peers make of the same programs."""
    print("| tool | racy | steps asked | threads | place | said | schedules | budget | s |\n" + "| --- " * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for tool in REQUIREMENTS:
            side = peer(tool, sys.executable, Path(folder))
            if isinstance(side, str):
                say(side)
                continue
            for mode in PEERS[tool]:
                for rung, budget in rungs:
                    name = f"ladder:{rung.racy}:{rung.steps}:{rung.place}:{rung.count}"
                    answer = side.ask(budget + GRACE, do="find", program=name, mode=mode, seconds=budget, seed=1)
                    print(
                        f"| {tool}, {mode} | {rung.racy} | {rung.steps:,} | {rung.count} | {rung.place} | {answer['said']} | "
                        f"{answer['schedules']} | {budget:g} | {answer['seconds']:.2f} |",
                        flush=True,
                    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="200,2000,20000", help=f"of {', '.join(map(str, BUDGETS))} (default: the first three)")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--racy", default=",".join(RACY))
    parser.add_argument("--places", default=",".join(PLACES))
    parser.add_argument("--budget", type=float, help="seconds for each check, instead of that of its rung")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside it (default: 0)")
    parser.add_argument("--peers", action="store_true", help="the peers, and not this project")
    given = parser.parse_args()
    rungs = [
        (Rung(racy, steps, place, count), given.budget or BUDGETS.get(steps, 20.0))
        for racy in given.racy.split(",")
        for steps in map(int, given.steps.split(","))
        for count in map(int, given.threads.split(","))
        for place in given.places.split(",")
    ]
    with neighbours(given.neighbours):
        if given.peers:
            of_peers(rungs)
            return 0
        print(
            "| racy | steps | threads | place | preemptions | kind | schedules to it | runs | budget | s | CPU s |\n"
            + "| --- " * 11
            + "|"
        )
        found = [climb(rung, budget) for rung, budget in rungs]
    print(f"\n{sum(found)} of {len(found)} found, with one preemption")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
