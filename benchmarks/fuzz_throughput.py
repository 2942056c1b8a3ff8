"""How many schedules a second, beside two other schedulers?

The program is the smallest there is: two threads, each of which adds 1 to a counter three times (44 instructions on CPython
3.13). For each interpreter given, ours and each peer that can be installed for it take turns, round by round, each in a process
of its own, because the speed of a shared machine drifts. Prints a Markdown table: schedules a second (median of the rounds, and
their range), the CPU time of each, and the ratio to the fastest peer on the same interpreter in the same round (median); where no
peer can be installed, to the fastest of the first interpreter. On a busy machine look at the CPU time: whoever hands over more
often waits more often for a core.

    python benchmarks/fuzz_throughput.py --python python3.13 --python python3.13t --rounds 5

Exits with 1 if on the first interpreter our random walk is less than 20 times as fast as the fastest peer, or our schedules of at
most one preemption less than 60 times. The peers are used as their READMEs have it, whole explorations one after the other.
interleave-test then also steps through the lines that make its model; with ``--lean`` it does not, and is a third faster.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_sides.sides import REQUIREMENTS, Side, ours, peer, say

OURS = ("random-walk", "one-preemption", "two-preemptions", "sequential")
PEERS = {"frontrun": ("random", "dpor"), "interleave-test": ("random", "pct", "dfs")}
GOALS = {"random-walk": 20.0, "one-preemption": 60.0}
GRACE = 60.0  # seconds beyond the time asked for, after which a process is ended

Contender = tuple[Side, str]


def rate(contender: Contender, seconds: float, lean: bool) -> tuple[float, float] | None:
    """Schedules a second, and microseconds of CPU time for each."""
    side, mode = contender
    answer = side.ask(seconds + GRACE, do="throughput", program="counter", mode=mode, seconds=seconds, lean=lean)
    if "why" in answer:
        say(f"{side.tool} {mode} on {side.python}: {answer['said']}, {answer['why']}")
        return None
    return answer["schedules"] / answer["seconds"], 1e6 * answer["cpu"] / answer["schedules"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter with pytest-gilcheck; several times (default: this one)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contender in each round (default: 2)")
    parser.add_argument("--lean", action="store_true", help="spare interleave-test the lines of the model")
    parser.add_argument("--peers-only", action="store_true", help="without ours")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        contenders: list[Contender] = []
        for python in given.python or [sys.executable]:
            if not given.peers_only:
                contenders += [(ours(python), mode) for mode in OURS]
            for tool in REQUIREMENTS:
                side = peer(tool, python, Path(folder))
                if isinstance(side, str):
                    say(side)
                else:
                    contenders += [(side, mode) for mode in PEERS[tool]]
        rounds: list[dict[Contender, float]] = []
        costs: dict[Contender, list[float]] = {contender: [] for contender in contenders}
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds}")
            measured = {contender: rate(contender, given.seconds, given.lean) for contender in contenders}
            rounds.append({contender: figures[0] for contender, figures in measured.items() if figures is not None})
            for contender, figures in measured.items():
                if figures is not None:
                    costs[contender].append(figures[1])
    return report(contenders, rounds, costs)


def report(contenders: list[Contender], rounds: list[dict[Contender, float]], costs: dict[Contender, list[float]]) -> int:
    first = contenders[0][0].python
    missed = []
    print("| interpreter | tool | mode | schedules/s, median (range) | CPU us | x fastest peer |")
    print("| --- | --- | --- | --- | --- | --- |")
    for side, mode in contenders:
        figures = [one[side, mode] for one in rounds if (side, mode) in one]
        if not figures:
            print(f"| {side.python} | {side.tool} | {mode} | - | - | - |")
            continue
        ratio, elsewhere = against(side, mode, rounds, first)
        shown = "-" if ratio is None else f"{ratio:.1f}" + (f" (of {first})" if elsewhere else "")
        spread = f"{statistics.median(figures):,.0f} ({min(figures):,.0f} to {max(figures):,.0f})"
        cost = f"{statistics.median(costs[side, mode]):,.0f}"
        print(f"| {side.python} | {side.tool} | {mode} | {spread} | {cost} | {shown} |")
        if side.tool == "gilcheck" and side.python == first and ratio is not None and ratio < GOALS.get(mode, 0.0):
            missed.append(f"{mode}: {ratio:.1f}x, wanted {GOALS[mode]:.0f}x")
    print("\n" + ("missed: " + "; ".join(missed) if missed else "no goal missed"))
    return 1 if missed else 0


def against(side: Side, mode: str, rounds: list[dict[Contender, float]], first: str) -> tuple[float | None, bool]:
    """The median over the rounds of the ratio to the fastest peer in the round, and whether that ran on another interpreter."""
    for python in (side.python, first):
        ratios = []
        for one in rounds:
            peers = [figure for (other, _), figure in one.items() if other.tool != "gilcheck" and other.python == python]
            if peers and (side, mode) in one:
                ratios.append(one[side, mode] / max(peers))
        if ratios:
            return statistics.median(ratios), python != side.python
    return None, False


if __name__ == "__main__":
    sys.exit(main())
