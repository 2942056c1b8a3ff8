"""What does each tool say of the pairs of ``tests/quality/pairs``, which were written before the engine was read?

    python benchmarks/fuzz_pairs.py --python python3.13 --python python3.13t --limit 5 --schedules 400

Ours on each interpreter given, by time and (``--schedules``) by a number of schedules; on the first of them also frontrun's random
mode and interleave-test's PCT. Each program in a process of its own. For each class of pairs: *found* (a failure of the buggy
program), *held* (of a buggy program: a false promise, if the failure needs no more than the preemptions searched), *sampled* (a
peer that found nothing), *inconclusive*, *condemned* (a failure of a fixed one), *hung*. ``--out`` keeps every answer as a line of
JSON. Exits with 1 if ours condemned a fixed program or held a buggy one.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_sides.sides import Side, ours, peer, say

from tests.quality.pairs.declare import Pair, load

PEERS = {"frontrun": "random", "interleave-test": "pct"}
GRACE = 15.0  # seconds beyond the limit, after which a process is ended
SAID = ("found", "holds", "sampled", "inconclusive", "hang", "crash")


@dataclass
class Tool:
    """One tool on one interpreter, and what it said: (pair, twin) -> answer."""

    side: Side
    mode: str
    schedules: int | None = None
    said: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        return self.side.tool == "gilcheck"

    @property
    def name(self) -> str:
        how = f"{self.schedules} schedules" if self.schedules else self.mode
        return f"{self.side.tool} {how}".strip() + f", {self.side.python.removeprefix('CPython ')}"

    def ask(self, pair: Pair, twin: str, given: argparse.Namespace) -> None:
        limit = given.limit if twin == "buggy" else given.fixed_limit
        question = {"do": "find", "program": f"pair:{pair.name}:{twin}", "mode": self.mode, "seconds": limit, "seed": given.seed}
        if self.schedules:
            question |= {"schedules": self.schedules, "seconds": 30.0}
        answer = self.side.ask(question["seconds"] * (1 + given.replays) + GRACE, replays=given.replays * self.is_ours, **question)
        self.said[pair.name, twin] = answer
        if given.out:
            line = {"tool": self.name, "pair": pair.name, "kind": pair.kind, "needs": pair.needs, "twin": twin, "answer": answer}
            with open(given.out, "a") as file:
                file.write(json.dumps(line) + "\n")
        if self.is_ours and (answer["said"] == "found") != (twin == "buggy"):
            say(f"{self.name}, {pair.kind}, {pair.name}, {twin}: {answer['said']}, {answer['why']}")

    def condemned(self, name: str) -> bool:
        answer = self.said[name, "fixed"]
        return answer["said"] == "found" or (answer["said"] == "hang" and str(answer["why"]).startswith("hang:"))

    def rows(self, pairs: list[Pair]) -> list[str]:
        out = []
        for kind in (*dict.fromkeys(pair.kind for pair in pairs), None):
            names = [pair.name for pair in pairs if kind in (None, pair.kind)]
            counts = collections.Counter(self.said[name, "buggy"]["said"] for name in names)
            fixed = collections.Counter(self.said[name, "fixed"]["said"] for name in names)
            condemned = sum(map(self.condemned, names))
            cells = [self.name, kind or "all", f"{counts['found']}/{len(names)}", counts["holds"], counts["sampled"]]
            cells += [counts["inconclusive"], counts["hang"] + counts["crash"], condemned, fixed["holds"], fixed["inconclusive"]]
            out.append(f"| {' | '.join(map(str, cells))} |")
        return out


def tools(pythons: list[str], folder: Path, given: argparse.Namespace) -> list[Tool]:
    out = []
    if not given.peers_only:
        for python in pythons:
            if given.limit:
                out.append(Tool(ours(python), ""))
            if given.schedules:
                out.append(Tool(ours(python), "", given.schedules))
    for tool, mode in {} if given.ours_only else PEERS.items():
        side = peer(tool, pythons[0], folder)
        if isinstance(side, str):
            say(side)
        else:
            out.append(Tool(side, mode))
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter with pytest-gilcheck; several times (default: this one)")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each buggy program (default: 5); 0: none by time")
    parser.add_argument("--fixed-limit", type=float, default=2.0, help="seconds for each fixed program (default: 2)")
    parser.add_argument("--schedules", type=int, help="ours also by so many schedules")
    parser.add_argument("--replays", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="pairs with one of these in their name or class, separated by commas")
    parser.add_argument("--twin", choices=("buggy", "fixed"), help="only these")
    parser.add_argument("--out", help="a file for every answer, as lines of JSON")
    parser.add_argument("--ours-only", action="store_true", help="without the other tools")
    parser.add_argument("--peers-only", action="store_true", help="the other tools alone")
    given = parser.parse_args()
    wanted = given.only.split(",")
    pairs = [pair for pair in load() if pair.requires is None and any(one in (pair.kind, "") or one in pair.name for one in wanted)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        asked = tools(given.python or [sys.executable], Path(folder), given)
        twins = [given.twin] if given.twin else ["buggy", "fixed"]
        left = {"said": "-", "why": ""}
        for tool in asked:
            tool.said.update({(pair.name, twin): left for pair in pairs for twin in ("buggy", "fixed")})
        questions = [(tool, pair, twin) for pair in pairs for tool in asked for twin in twins]
        list(pool.map(lambda question: question[0].ask(*question[1:], given), questions))
    print("| tool | class | found | held | sampled | inconclusive | no answer | condemned | fixed held | fixed inconclusive |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for tool in asked:
        print("\n".join(tool.rows(pairs)))
    mine = [tool for tool in asked if tool.is_ours]
    held = {pair.name for tool in mine for pair in pairs if tool.said[pair.name, "buggy"]["said"] == "holds" and pair.needs <= 2}
    condemned = {pair.name for tool in mine for pair in pairs if tool.condemned(pair.name)}
    if given.replays:
        found = [
            answer for tool in mine for (_, twin), answer in tool.said.items() if twin == "buggy" and answer["said"] == "found"
        ]
        again = sum(answer["replayed"] == given.replays for answer in found)
        print(f"\n{again} of {len(found)} failures replayed {given.replays} times of {given.replays}")
    print(f"\nours held: {', '.join(sorted(held)) or 'none'}; condemned: {', '.join(sorted(condemned)) or 'none'}")
    return 1 if held or condemned else 0


if __name__ == "__main__":
    sys.exit(main())
