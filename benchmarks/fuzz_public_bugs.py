"""Are seven bugs that were found in the wild found here, each in less than a second, and are the fixed versions left in peace?

Installs each pinned version (``tests/quality/public_bugs.py``) into a temporary folder of its own, for each interpreter given, and
asks ``gilcheck.fuzz`` in a process of its own. Prints a Markdown table: what was found, the seconds from the call to the minimal
report (imports of the library not counted), and whether the token replays. A bug that is found, but not as what it is, counts as
wrong. Of the standard library, an interpreter in which the bug is fixed serves as the fixed version.

    python benchmarks/fuzz_public_bugs.py --python python3.13 --python python3.13t
    python benchmarks/fuzz_public_bugs.py --peers

``--peers`` asks the other tools too, on the first interpreter, as far as they can be installed for it: frontrun, interleave-test
and real threads behind a barrier. Exits with 1 if a bug was not found, found as something else, took a second or more, or did
not replay, or if a fixed version gave an alarm or no answer.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_sides.sides import REQUIREMENTS, Side, install, ours, peer, say, stress

from tests.quality.public_bugs import BUGS, STANDARD_LIBRARY, PublicBug

PEERS = {"frontrun": ("dpor", "random"), "interleave-test": ("random", "pct")}
SECOND = 1.0
GRACE = 30.0  # seconds beyond the budget, after which a process is ended: a hang
VERSION = "import sys; print(*sys.version_info[:3])"


def version_of(python: str) -> tuple[int, ...]:
    return tuple(map(int, subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True).stdout.split()))


def prepare(bug: PublicBug, requirement: str, python: str, target: Path) -> str | None:
    """The library in this folder; None, or why it could not be installed."""
    target.mkdir()
    if requirement == STANDARD_LIBRARY:
        return None
    stand_ins = dict(bug.stand_ins)
    for name in (requirement, *bug.needs):
        failure = install(python, (name,), target)
        module = name.partition("==")[0]
        if failure is not None and module in stand_ins:
            (target / f"{module}.py").write_text(stand_ins[module])
        elif failure is not None:
            return f"{name}: {failure}"
    return None


def ask_ours(side: Side, bug: PublicBug, target: Path, given: argparse.Namespace) -> dict[str, Any]:
    question = {"do": "find", "program": f"public:{bug.name}", "target": str(target)}
    more = {"seconds": given.budget, "seed": given.seed, "replays": given.replays}
    return side.ask(given.budget * (1 + given.replays) + GRACE, **question, **more)


def fault_of(bug: PublicBug, answer: dict[str, Any], expected: bool, given: argparse.Namespace) -> str | None:
    """What is wrong with the answer, or None."""
    if not expected:
        quiet = answer["said"] in ("holds", "inconclusive")
        return None if quiet else f"false alarm or no answer: {answer['said']}, {answer['why']}"
    if answer["said"] != "found":
        return f"not found: {answer['said']}, {answer['why']}"
    if answer["symptom"] not in bug.symptoms:
        return f"found as {answer['symptom']}, expected {' or '.join(sorted(bug.symptoms))}"
    if answer["kind"] != bug.kind:
        return f"found as {answer['kind']}, expected {bug.kind}"
    if answer["seconds"] >= SECOND:
        return f"took {answer['seconds']:.2f} s"
    return None if answer["replayed"] == given.replays else f"replayed {answer['replayed']} of {given.replays} times"


def row(where: str, version: str, answer: dict[str, Any], given: argparse.Namespace, fault: str | None) -> str:
    found = answer["said"] == "found"
    cells = [
        where, version, answer["said"], answer.get("kind") or "-", answer.get("symptom") or "-", f"{answer['seconds']:.2f}",
        str(answer["schedules"]), str(answer["preemptions"]) if found else "-",
        f"{answer['replayed']}/{given.replays}" if found else "-", "**wrong**" if fault else "right",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def peers_row(side: Side, mode: str, bug: PublicBug, version: str, target: Path, given: argparse.Namespace) -> str:
    question = {"do": "find", "program": f"public:{bug.name}", "target": str(target), "mode": mode}
    answer = side.ask(given.budget + GRACE, **question, seconds=given.budget, seed=given.seed)
    why = " ".join(answer["why"].split()).replace("|", "\\|")[:90]
    return f"| {version} | {side.tool} {mode} | {answer['said']} | {answer['seconds']:.2f} | {answer['schedules']} | {why} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter with pytest-gilcheck; several times (default: this one)")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each search (default: 10)")
    parser.add_argument("--replays", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="bugs with this in their name")
    parser.add_argument("--peers", action="store_true", help="the other tools too, on the first interpreter")
    parser.add_argument("--peers-only", action="store_true", help="the other tools alone")
    given = parser.parse_args()
    pythons = given.python or [sys.executable]
    bugs = [bug for bug in BUGS if given.only in bug.name]
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not given.peers_only:
            faults = check_ours(pythons, bugs, folder, given)
        if given.peers or given.peers_only:
            check_peers(pythons[0], bugs, folder, given)
    return 1 if faults else 0


def check_ours(pythons: list[str], bugs: list[PublicBug], folder: Path, given: argparse.Namespace) -> list[str]:
    print("| interpreter | version | said | kind | symptom | s | schedules | preemptions | replayed | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    faults, found, wanted = [], 0, 0
    for number, python in enumerate(pythons):
        side = ours(python)
        for bug in bugs:
            for requirement in filter(None, (bug.buggy, bug.fixed)):
                target = folder / f"{number}-{requirement}-{bug.name}"
                failure = prepare(bug, requirement, python, target)
                if failure is not None:
                    faults.append(f"{side.python}, {requirement}: could not be installed: {failure}")
                    print(f"| {side.python} | {requirement} | {' | '.join('-' * 7)} | not installed |", flush=True)
                    continue
                turns = stress(python).ask(GRACE, do="in turn", program=f"public:{bug.name}", target=str(target))
                if turns["said"] != "holds":
                    faults.append(f"{side.python}, {requirement}: the trigger fails in turn: {turns['why']}")
                    say(faults[-1])
                answer = ask_ours(side, bug, target, given)
                expected = requirement == bug.buggy and bug.expected(version_of(python))
                fault = fault_of(bug, answer, expected, given)
                found, wanted = found + (expected and answer["said"] == "found"), wanted + expected
                if fault is not None:
                    faults.append(f"{side.python}, {requirement}: {fault}\n{answer.get('report', '')}".rstrip())
                    say(faults[-1])
                version = f"{requirement} {bug.name}" if requirement == STANDARD_LIBRARY else requirement
                print(row(side.python, version + ("" if expected else " (fixed)"), answer, given, fault), flush=True)
    print(f"\n{found} of {wanted} found, {len(faults)} wrong")
    return faults


def check_peers(python: str, bugs: list[PublicBug], folder: Path, given: argparse.Namespace) -> None:
    sides: list[tuple[Side, str]] = [(stress(python), "")]
    for tool in REQUIREMENTS:
        side = peer(tool, python, folder)
        if isinstance(side, str):
            say(side)
        else:
            sides += [(side, mode) for mode in PEERS[tool]]
    print(f"\n{sides[0][0].python}\n\n| version | tool | said | s | schedules | |", flush=True)
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for bug in bugs:
        for requirement in filter(None, (bug.buggy, bug.fixed)):
            target = folder / f"peers-{requirement}-{bug.name}"
            failure = prepare(bug, requirement, python, target)
            if failure is not None:
                say(f"{requirement}: could not be installed: {failure}")
                continue
            if requirement == STANDARD_LIBRARY:  # a copy, for those that cannot step through the standard library
                where = [python, "-c", f"import {bug.name}; print({bug.name}.__file__)"]
                shutil.copy(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip(), target)
            version = f"{requirement} {bug.name}" if requirement == STANDARD_LIBRARY else requirement
            for side, mode in sides:
                print(peers_row(side, mode, bug, version, target, given), flush=True)


if __name__ == "__main__":
    sys.exit(main())
