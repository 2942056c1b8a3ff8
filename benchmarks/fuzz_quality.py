"""How many of the known bugs does each tool find, how soon, and what does it say of the same programs without the bug?

Every program of ``tests/quality/corpus`` is a pair of twins, one with a bug and one without. Each tool is given each twin in a
process of its own with a time limit; it is ended a little later if it does not end by itself. Ours on each interpreter given; on
the first of them also frontrun, interleave-test (as far as they can be installed for it) and real threads behind a barrier. Prints
two Markdown tables: a line for each tool, and a line for each program.

    python benchmarks/fuzz_quality.py --python python3.13 --python python3.13t --limit 10

*Found* is any failure that the tool reports of the buggy twin within the limit. *False alarms* are failures reported of fixed
twins, a hang among them if the tool calls it a fault of the program. *No answer*: the tool hung or broke down itself, on either
twin. The times are from the call to the report, in a process that has searched another program before: ours minimises and replays
before it reports, frontrun replays ten times, and the barrier waits two seconds for threads that wait for each other.
``--out`` keeps every answer as a line of JSON. interleave-test only sees primitives that are looked up in ``threading`` when they
are made, which the corpus is made to do for it; ``--as-it-is`` leaves that out.
Exits with 1 if ours missed more than one on any interpreter, gave a false alarm or no answer, called a bug what it is not, or did
not replay one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_sides.sides import REQUIREMENTS, Side, ours, peer, say, stress

from tests.quality.corpus import CASES

PEERS = {"frontrun": ("dpor", "random"), "interleave-test": ("pct",)}
GRACE = 20.0  # seconds beyond the limit, after which a process is ended
NO_ANSWER = ("hang", "crash")


@dataclass
class Column:
    """One tool on one interpreter, and all that it said."""

    side: Side
    mode: str
    buggy: dict[str, dict[str, Any]] = field(default_factory=dict)
    fixed: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.side.tool} {self.mode}".strip() + f", {self.side.python.removeprefix('CPython ')}"

    @property
    def is_ours(self) -> bool:
        return self.side.tool == "gilcheck"

    def ask(self, case: Any, twin: str, given: argparse.Namespace) -> dict[str, Any]:
        seconds = given.limit if twin == "buggy" else given.fixed_limit
        question = {"do": "find", "program": f"corpus:{case.name}:{twin}", "mode": self.mode, "seconds": seconds}
        replays = given.replays if self.is_ours else 0
        question |= {"seed": given.seed, "replays": replays, "warm": True, "as it is": given.as_it_is}
        answer = self.side.ask(seconds * (1 + replays) + GRACE, **question)
        if given.out:
            with open(given.out, "a") as file:
                file.write(json.dumps({"tool": self.name, "program": case.name, "twin": twin, "answer": answer}) + "\n")
        return answer

    def check(self, case: Any, given: argparse.Namespace) -> None:
        buggy = self.buggy[case.name] = self.ask(case, "buggy", given)
        fixed = self.fixed[case.name] = self.ask(case, "fixed", given)
        if self.is_ours:
            for fault in faults(case, buggy, fixed, given.replays):
                self.wrong.append(f"{self.side.python}, {case.name}: {fault}")
                say(self.wrong[-1])

    def found(self) -> list[dict[str, Any]]:
        return [answer for answer in self.buggy.values() if answer["said"] == "found"]

    def row(self, replays: int) -> str:
        found, fixed = self.found(), self.fixed.values()
        alarms = sum(answer["said"] == "found" or self._blames(answer) for answer in fixed)
        silent = sum(answer["said"] in NO_ANSWER for answer in (*self.buggy.values(), *fixed) if not self._blames(answer))
        seconds = f"{statistics.median(answer['seconds'] for answer in found):.3f}" if found else "-"
        longest = f"{max(answer['seconds'] for answer in found):.2f}" if found else "-"
        missed = ", ".join(name for name, answer in self.buggy.items() if answer["said"] != "found") or "-"
        replayed = sum(answer["replayed"] == replays for answer in found) if self.is_ours else None
        again = "-" if replayed is None else f"{replayed} of {len(found)}"
        decided = sum(answer["said"] == "holds" for answer in fixed)
        cells = [
            self.name, f"{len(found)}/{len(self.buggy)}", seconds, longest, str(alarms), str(silent),
            f"{decided}/{len(self.fixed)}", again, missed,
        ]  # fmt: skip
        return f"| {' | '.join(cells)} |"

    def _blames(self, answer: dict[str, Any]) -> bool:
        """Whether it says that the program hangs, rather than hang itself."""
        return answer["said"] == "hang" and str(answer["why"]).startswith("hang:")


def faults(case: Any, buggy: dict[str, Any], fixed: dict[str, Any], replays: int) -> list[str]:
    """What is wrong with ours, beside that a bug was missed."""
    out = []
    if buggy["said"] == "found":
        symptoms = {str(case.symptom)} if isinstance(case.symptom, str) else {str(symptom) for symptom in case.symptom}
        if buggy["symptom"] not in symptoms:
            out.append(f"symptom {buggy['symptom']}, expected {' or '.join(sorted(symptoms))}")
        if buggy["kind"] != str(case.kind):
            out.append(f"kind {buggy['kind']}, expected {case.kind}")
        if case.preemptions is not None and buggy["preemptions"] != case.preemptions:
            out.append(f"{buggy['preemptions']} preemptions, expected {case.preemptions}")
        if buggy["replayed"] != replays:
            out.append(f"replayed {buggy['replayed']} of {replays} times")
        out = [f"{words}\n{buggy['report']}" for words in out]
    elif buggy["said"] in NO_ANSWER:
        out.append(f"no answer: {buggy['why']}")
    else:
        say(f"{case.name}: missed: {buggy['said']}, {buggy['why']}")
    if fixed["said"] == "found":
        out.append(f"false alarm: {fixed['why']}\n{fixed['report']}")
    elif fixed["said"] in NO_ANSWER:
        out.append(f"no answer for the fixed twin: {fixed['why']}")
    return out


def columns(pythons: list[str], folder: Path, given: argparse.Namespace) -> list[Column]:
    out = [] if given.peers_only else [Column(ours(python), "") for python in pythons]
    if given.ours_only:
        return out
    for tool in REQUIREMENTS:
        side = peer(tool, pythons[0], folder)
        if isinstance(side, str):
            say(side)
        else:
            out += [Column(side, mode) for mode in PEERS[tool]]
    return [*out, Column(stress(pythons[0]), "")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter with pytest-gilcheck; several times (default: this one)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each buggy twin (default: 10)")
    parser.add_argument("--fixed-limit", type=float, default=3.0, help="seconds for each fixed twin (default: 3)")
    parser.add_argument("--replays", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--out", help="a file for every answer, as lines of JSON")
    parser.add_argument("--as-it-is", action="store_true", help="interleave-test without help for names imported from threading")
    parser.add_argument("--ours-only", action="store_true", help="without the other tools")
    parser.add_argument("--peers-only", action="store_true", help="the other tools alone")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only in case.name]
    with tempfile.TemporaryDirectory() as folder:
        tools = columns(given.python or [sys.executable], Path(folder), given)
        for number, case in enumerate(cases):
            say(f"{case.name}, {number + 1} of {len(cases)}")
            for column in tools:
                column.check(case, given)
    print(f"{len(cases)} programs, {given.limit:.0f} s for each buggy twin and {given.fixed_limit:.0f} s for each fixed one\n")
    print("| tool | found | s, median | s, longest | false alarms | no answer | fixed twins held | replayed | missed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for column in tools:
        print(column.row(given.replays))
    print(f"\n| program | {' | '.join(column.name for column in tools)} |\n| --- |{' --- |' * len(tools)}")
    for case in cases:
        print(f"| {case.name} | {' | '.join(_cell(case.name, column) for column in tools)} |")
    mine = [column for column in tools if column.is_ours]
    wrong = [fault for column in mine for fault in column.wrong]
    missed = max((len(cases) - len(column.found()) for column in mine), default=0)
    print(f"\nours: {len(wrong)} wrong, at most {missed} missed on any interpreter")
    return 1 if wrong or missed > 1 else 0


def _cell(name: str, column: Column) -> str:
    """The seconds to the report, or what was said instead; and what of the fixed twin, unless it was left in peace."""
    buggy, fixed = column.buggy[name], column.fixed[name]["said"]
    first = f"{buggy['seconds']:.3f}" if buggy["said"] == "found" else buggy["said"]
    return first if fixed in ("holds", "sampled", "inconclusive") else f"{first}; fixed: {fixed}"


if __name__ == "__main__":
    sys.exit(main())
