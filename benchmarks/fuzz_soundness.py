"""Does the search with our visible steps find every outcome that the search with every instruction as a step finds?

hypothesis draws small programs (`tests/fuzz/generated.py`). Each is run in all schedules of at most two preemptions, or of one
where two would take too long, once with every instruction as a step and once with ours. The sets of outcomes must be the same: what
the threads return or raise, whether they get stuck, and the state afterwards.

    for python in python3.11 python3.13 python3.13t; do $python benchmarks/fuzz_soundness.py --programs 500 --seed 1; done

Prints each difference with a schedule that leads to it, then the figures as a line of a Markdown table. Exits with 1 if there was a
difference. ``--plant NAME`` makes an instruction of the table an exception that it is not, to see that this is noticed.
"""

from __future__ import annotations

import argparse
import platform
import sys
import sysconfig
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck.fuzz.steps import opcodes
from tests.fuzz.generated import TOPICS, Drawn, programs
from tests.fuzz.outcomes import missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="for the brute force of two preemptions (default: 3)")
    parser.add_argument("--topics", default=",".join(TOPICS))
    parser.add_argument("--plant", help="the name of an instruction")
    given_ = parser.parse_args()
    if given_.plant:
        opcodes.OPCODES[given_.plant] = opcodes.StepRule("read []", lambda operation: True, "planted")
    counts = dict.fromkeys(
        ("programs", "two preemptions", "several outcomes", "outcomes", "brute runs", "our runs", "brute", "ours"), 0
    )
    different: list[str] = []

    @seed(given_.seed)
    @settings(
        max_examples=given_.programs,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(tuple(given_.topics.split(","))))
    def compare(drawn: Drawn) -> None:
        differing, brute, ours = missed(drawn, given_.seconds)
        counts["programs"] += 1
        counts["two preemptions"] += brute.complete == 2
        counts["several outcomes"] += len(brute.found) > 1
        counts["outcomes"] += len(brute.found)
        counts["brute runs"] += brute.runs
        counts["our runs"] += ours.runs
        counts["brute"] += brute.points
        counts["ours"] += ours.points
        if counts["programs"] % 50 == 0:
            print(f"{counts['programs']} programs, {len(different)} differences", file=sys.stderr, flush=True)
        for outcome, schedule in differing.items():
            side = "missed" if outcome in brute.found else "too many"
            different.append(f"{side}: {outcome} by {schedule}\n    {drawn}")
            print(different[-1], flush=True)

    begun = time.process_time()
    compare()
    build = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    print(
        "| interpreter | seed | programs | of two preemptions | with several outcomes | differences | schedules | points | CPU s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print(
        f"| {platform.python_version()}{build} | {given_.seed} | {counts['programs']} | {counts['two preemptions']} | "
        f"{counts['several outcomes']} | {len(different)} | {counts['brute runs']:,} and {counts['our runs']:,} | "
        f"{counts['brute']:,} and {counts['ours']:,} | {time.process_time() - begun:.0f} |"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
