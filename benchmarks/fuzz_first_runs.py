"""Does the search of a first run tell right from wrong?

    python benchmarks/fuzz_first_runs.py --every 3 --budget 5

The pairs of ``tests/quality/pairs``, with the state made once before the check in place of anew for each schedule: a buggy program
breaks only in its first run, or a later run fails whatever the schedule. A buggy program that holds is a false pass if its failure
needs no more than one preemption. Pairs of the kinds ``loops``, ``time`` and ``chance`` are left out. Exits with 1 if a fixed
program was condemned or a buggy one held.
"""

from __future__ import annotations

import argparse
import collections
import functools
import os
import sys
import warnings
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import FuzzResult, Gilcheck
from tests.quality.pairs.declare import Pair, Program, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=3, metavar="N", help="every N-th pair (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with the N-th of them, from 0")
    parser.add_argument("--budget", type=float, default=5.0, metavar="S", help="seconds of each check (default: %(default)s)")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "gilcheck: the program changed", RuntimeWarning)
    said: dict[str, collections.Counter[str]] = {twin: collections.Counter() for twin in ("buggy", "fixed")}
    first_runs, wrong, begun = 0, 0, perf_counter()
    for pair in [pair for pair in load() if pair.kind in ("steps", "judging") and not pair.requires][given.first :: given.every]:
        for twin, program in (("buggy", pair.buggy), ("fixed", pair.fixed)):
            answer, reason = _asked(pair, program, given.budget)
            said[twin][answer] += 1
            first_runs += "only the first run of a process can fail so" in reason
            if answer == ("holds" if twin == "buggy" else "violated"):
                wrong += pair.needs <= 1 or twin == "fixed"
                print(f"{pair.name}, {twin}: {reason}", flush=True)
    for twin, counts in said.items():
        print(f"{twin}: {', '.join(f'{count} {answer}' for answer, count in sorted(counts.items()))}")
    print(f"{first_runs} of the failures are of the first run alone; {perf_counter() - begun:.0f} s, budget {given.budget:g} s")
    sys.exit(wrong > 0)


def _asked(pair: Pair, program: Program, budget: float) -> tuple[str, str]:
    """The verdict over a program whose state is made here, once, and its reason."""
    try:
        state = program.setup()
        threads = [functools.partial(thread, state) for thread in program.threads]
        invariant = None if program.invariant is None else functools.partial(program.invariant, state)
        result: FuzzResult = Gilcheck().fuzz(
            threads=threads, invariant=invariant, budget=budget, seed=1, name=pair.name, judge=False
        )
    except Exception as error:  # it fails when it runs again, and in each order of the first run
        return "fails again", f"{type(error).__name__}: {error}"
    if "without any concurrency" in result.reason and result.verdict == "violated":
        return "fails alone", result.reason
    return str(result.verdict), result.reason


if __name__ == "__main__":
    os.environ.pop("GILCHECK_ISOLATE", None)
    main()
