"""How many schedules a second, beside two other schedulers and beside nothing but the hand-overs?

The programs are two threads, each of which adds 1 to a counter: three times (44 instructions on CPython 3.13), 25 times in a loop
(about 500) and 250 times (5,000). For each interpreter given, ours and each peer that can be installed for it take turns, round by
round, each in a process of its own, because the speed of a shared machine drifts. Prints a Markdown table: schedules a second
(median of the rounds, and their range), the CPU time of each, how many bare hand-overs from one thread to another would take as
long, and the ratio to the fastest peer on the same interpreter in the same round (median and range); where no peer can be
installed, to the fastest of the first interpreter. On a busy machine look at the CPU time: whoever hands over more often waits more
often for a core.

    python benchmarks/fuzz_throughput.py --python python3.13 --python python3.13t --rounds 5 --core 1

Exits with 1 if on the smallest program our random walk or our schedules of at most one preemption miss their ratio to the fastest
peer: 30 and 60 times on the first interpreter, 20 and 30 on the others. The peers are used as their READMEs have it, whole
explorations one after the other. interleave-test then also steps through the lines that make its model; with ``--lean`` it does
not, and is a third faster.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_sides.sides import REQUIREMENTS, Side, ours, peer, say

OURS = ("random-walk", "one-preemption", "two-preemptions", "sequential")
PEERS = {"frontrun": ("random", "dpor"), "interleave-test": ("random", "pct", "dfs")}
GOALS = ({"random-walk": 30.0, "one-preemption": 60.0}, {"random-walk": 20.0, "one-preemption": 30.0})  # first interpreter, others
PROGRAMS = {"44": "counter", "500": "counter:25", "5000": "counter:250"}  # by their number of instructions
BARE = "bare hand-over"
GRACE = 15.0  # seconds beyond the time asked for, after which a process is ended

Contender = tuple[Side, str, str]  # the tool, its mode, and the number of instructions of the program
Round = dict[Contender, tuple[float, float]]  # schedules a second, and microseconds of CPU time for each


def rate(contender: Contender, seconds: float, lean: bool) -> tuple[float, float] | None:
    """Schedules, or hand-overs, a second, and microseconds of CPU time for each."""
    side, mode, size = contender
    answer = side.ask(seconds + GRACE, do="throughput", program=PROGRAMS[size], mode=mode, seconds=seconds, lean=lean)
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
    parser.add_argument("--instructions", default="44", help=f"of the programs, of {', '.join(PROGRAMS)} (default: 44)")
    parser.add_argument("--core", type=int, help="keep every tool on this core (default: each as it likes)")
    given = parser.parse_args()
    sizes = given.instructions.split(",")
    if unknown := [size for size in sizes if size not in PROGRAMS]:
        parser.error(f"--instructions: {unknown[0]!r} is none of {', '.join(PROGRAMS)}")
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})  # its children inherit it
    with tempfile.TemporaryDirectory() as folder:
        contenders: list[Contender] = []
        for python in given.python or [sys.executable]:
            contenders.append((ours(python), BARE, sizes[0]))
            if not given.peers_only:
                contenders += [(ours(python), mode, size) for size in sizes for mode in OURS]
            for tool in REQUIREMENTS:
                side = peer(tool, python, Path(folder))
                if isinstance(side, str):
                    say(side)
                else:
                    contenders += [(side, mode, size) for size in sizes for mode in PEERS[tool]]
        rounds: list[Round] = []
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds}")
            measured = {contender: rate(contender, given.seconds, given.lean) for contender in contenders}
            rounds.append({contender: figures for contender, figures in measured.items() if figures is not None})
    return report(contenders, rounds, "each on any core" if given.core is None else f"all on core {given.core}")


def report(contenders: list[Contender], rounds: list[Round], where: str) -> int:
    first = contenders[0][0].python
    missed = []
    print(f"{len(rounds)} rounds, {where}\n")
    print("| interpreter | tool | mode | instructions | schedules/s (range) | CPU us | bare hand-overs | x fastest peer (range) |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for contender in contenders:
        side, mode, size = contender
        figures = [one[contender] for one in rounds if contender in one]
        row = f"| {side.python} | {side.tool} | {mode} | {'-' if mode == BARE else size} |"
        if not figures:
            print(f"{row} - | - | - | - |")
            continue
        rates = [figure for figure, _ in figures]
        bare = [
            one[side_bare][0] / one[contender][0]
            for one in rounds
            for side_bare in one
            if is_bare_of(side_bare, side) and contender in one
        ]
        ratios, elsewhere = ([], False) if mode == BARE else against(contender, rounds, first)
        shown = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})" if ratios else "-"
        spread = f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        cost = statistics.median([each for _, each in figures])
        hands = f"{statistics.median(bare):,.0f}" if bare else "-"
        print(f"{row} {spread} | {cost:,.1f} | {hands} | {shown}{f' of {first}' if elsewhere else ''} |")
        goal = GOALS[side.python != first].get(mode, 0.0) if side.tool == "gilcheck" and size == "44" else 0.0
        if ratios and statistics.median(ratios) < goal:
            missed.append(f"{side.python} {mode}: {statistics.median(ratios):.1f}x, wanted {goal:.0f}x")
    print("\n" + ("missed: " + "; ".join(missed) if missed else "no goal missed"))
    return 1 if missed else 0


def is_bare_of(contender: Contender, side: Side) -> bool:
    return contender[1] == BARE and contender[0].python == side.python


def against(contender: Contender, rounds: list[Round], first: str) -> tuple[list[float], bool]:
    """For each round the ratio to the fastest peer in it, and whether that ran on another interpreter."""
    side, _, size = contender
    for python in (side.python, first):
        ratios = []
        for one in rounds:
            peers = [
                rate
                for (other, _, its), (rate, _) in one.items()
                if other.tool != "gilcheck" and (other.python, its) == (python, size)
            ]
            if peers and contender in one:
                ratios.append(one[contender][0] / max(peers))
        if ratios:
            return ratios, python != side.python
    return [], False


if __name__ == "__main__":
    sys.exit(main())
