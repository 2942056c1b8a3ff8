"""Do the visible steps, and the search that turns conflicts round, lead to every outcome that brute force finds?

hypothesis draws small programs (`tests/fuzz/generated.py`). Each is run in all schedules of at most two preemptions, or of one
where two would take too long, once with every instruction as a step and once with ours. The sets of outcomes must be the same: what
the threads return or raise, whether they get stuck, and the state afterwards. Then it is searched by its conflicts. Where that
leaves no conflict, it must have led to every outcome of the brute force; it may have led to more, which need more preemptions.

``--gil`` compares what is settled at the points at which a build with a GIL can switch, with the brute force of three
preemptions there.

    for python in python3.11 python3.13 python3.13t; do $python benchmarks/fuzz_soundness.py --programs 500 --seed 1; done

Prints each difference with a schedule that leads to it, then the figures as a line of a Markdown table. Exits with 1 if there was a
difference. ``--plant NAME`` makes an instruction of the table an exception that it is not, to see that this is noticed.
"""

from __future__ import annotations

import argparse
import collections
import platform
import re
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck.engine.bytecode.instructions import INSTRUCTIONS
from tests.fuzz.generated import TOPICS, Drawn, programs
from tests.fuzz.outcomes import NotComparable, NotExplorable, Outcomes, lost_by_conflicts, missed, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="for the brute force of two preemptions (default: 3)")
    parser.add_argument("--minutes", type=float, default=600.0, help="draw no more programs after so long")
    parser.add_argument("--topics", default=",".join(TOPICS))
    parser.add_argument("--gil", action="store_true", help="compare at the points at which a build with a GIL can switch")
    parser.add_argument("--most", type=int, default=1000, help="schedules of a search by conflicts (default: 1000)")
    parser.add_argument("--without-record", action="store_true", help="run each schedule by conflicts without a record first")
    parser.add_argument(
        "--conflicts-only",
        action="store_true",
        help="compare what is settled with as much brute force of our steps as there is time for",
    )
    parser.add_argument("--plant", help="the name of an instruction")
    given_ = parser.parse_args()
    if given_.plant:
        INSTRUCTIONS[given_.plant] = INSTRUCTIONS[given_.plant]._replace(unless="always", drops=False)
    counts: collections.Counter[str] = collections.Counter()
    doubts: collections.Counter[str] = collections.Counter()
    different: list[str] = []

    def compared(drawn: Drawn) -> tuple[dict[str, dict[Any, Any]], Outcomes]:
        """The outcomes that are missed, too many or lost, and what brute force found."""
        if given_.conflicts_only:
            brute, differing = outcomes(drawn, 2, given_.seconds), {}
        elif given_.gil:
            brute, differing = outcomes(drawn, 3, given_.seconds, gil=True), {}
        else:
            differing, brute, ours = missed(drawn, given_.seconds)
            counts["our runs"] += ours.runs
            counts["ours"] += ours.points
        counts["two preemptions"] += brute.complete >= 2
        lost, why, reduced = lost_by_conflicts(
            drawn, most=given_.most, brute=brute, gil=given_.gil, without_record=given_.without_record
        )
        if why:
            doubts[re.sub(r" at \S+$|\d+", "", why)] += 1
        else:
            counts["settled"] += 1
            counts["settled of several"] += len(reduced.found) > 1
            counts["more"] += bool(reduced.found.keys() - brute.found.keys())
            counts["settling runs"] += reduced.runs
        sides = {"missed": {}, "too many": {}, "lost by conflicts": lost}
        for outcome, schedule in differing.items():
            sides["missed" if outcome in brute.found else "too many"][outcome] = schedule
        return sides, brute

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
        if time.monotonic() > begun_at + 60 * given_.minutes:
            return
        counts["drawn"] += 1
        try:
            sides, brute = compared(drawn)
        except (NotExplorable, NotComparable) as error:
            counts["not explorable"] += 1
            print(f"not compared: {error}", file=sys.stderr, flush=True)
            return
        counts["programs"] += 1
        counts["several outcomes"] += len(brute.found) > 1
        counts["brute runs"] += brute.runs
        counts["brute"] += brute.points
        if counts["programs"] % 50 == 0:
            print(f"{counts['programs']} programs, {len(different)} differences", file=sys.stderr, flush=True)
        for side, found in sides.items():
            for outcome, schedule in found.items():
                different.append(f"{side}: {outcome} by {schedule}\n    {drawn}")
                print(different[-1], flush=True)

    begun, begun_at = time.process_time(), time.monotonic()
    compare()
    build = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    print(
        "| interpreter | seed | programs | of two preemptions | with several outcomes | settled | of several outcomes | more "
        "| differences | schedules: brute, ours, settled | points | not compared | CPU s |\n" + "| --- " * 13 + "|"
    )
    print(
        f"| {platform.python_version()}{build}{' GIL points' * given_.gil} | {given_.seed} | {counts['programs']} | "
        f"{counts['two preemptions']} | {counts['several outcomes']} | {counts['settled']} | {counts['settled of several']} | "
        f"{counts['more']} | {len(different)} | {counts['brute runs']:,}, {counts['our runs']:,}, {counts['settling runs']:,} | "
        f"{counts['brute']:,} and {counts['ours']:,} | {counts['not explorable']} | {time.process_time() - begun:.0f} |"
    )
    print("\nNot settled, because:")
    for why, number in doubts.most_common():
        print(f"{number:5} {why}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
