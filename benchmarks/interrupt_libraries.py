"""Does the interrupt check judge real libraries rightly? The truth comes from plain signals.

Each workload of ``tests/interrupt/libraries.py`` is first run in a plain Python process, without this package, which gets
``kill -INT`` at a random moment and either is gone in time or not; then the check judges it. Prints a markdown table with the wrong
verdicts, the wrong culprits, the undecided, and the results that contradict themselves; exits with 1 if a verdict was wrong.

    python benchmarks/interrupt_libraries.py --repeats 20
    python benchmarks/interrupt_libraries.py --neighbours 2     # with so many busy processes beside it
    python benchmarks/interrupt_libraries.py --log LOG --minutes 30; python benchmarks/interrupt_libraries.py --table LOG
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from neighbours import neighbours  # noqa: E402

from pytest_gilcheck import gilcheck  # noqa: E402
from tests.interrupt import programs, servers  # noqa: E402, F401 - programs adds workloads
from tests.interrupt.libraries import WORKLOADS, Workload, wrong  # noqa: E402
from tests.interrupt.sentences import contradictions  # noqa: E402

_WITHIN, _EXITS_WITHIN = 0.2, 1.5  # seconds: the claim; a plain process must be gone after their sum
_KINDS = ("right", "verdict", "culprit", "inconclusive")
_PLAIN = """
import importlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # the background job of a shell inherits that it is ignored
sys.path.insert(0, sys.argv[1])
from tests.interrupt import programs
from tests.interrupt.libraries import WORKLOADS
workload = next(each for each in WORKLOADS if each.name == sys.argv[2])
for module in workload.needs:
    importlib.import_module(module)
if workload.data is not None:
    workload.data()
print("ready", flush=True)
workload.work()
"""


def plainly(workload: Workload) -> str:
    """What a plain process does: ``"gone"``, ``"stays"``, ``"crashes"``, ``"leaves processes"`` or ``"ends early"``."""
    command, mark = [sys.executable, "-c", _PLAIN, str(_ROOT), workload.name], f"GILCHECK_TRUTH={os.getpid()}-{random.random()}"
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | dict([mark.split("=")]),
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        time.sleep(random.uniform(0.3, 0.6))
        if process.poll() is not None:
            return "ends early"
        os.killpg(process.pid, signal.SIGINT)
        try:
            status = process.wait(_WITHIN + _EXITS_WITHIN)
        except subprocess.TimeoutExpired:
            return "stays"
        if status in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE):
            return "crashes"
        end = time.monotonic() + _EXITS_WITHIN
        while (alive := _marked(mark)) and time.monotonic() < end:
            time.sleep(0.05)
        return "leaves processes" if alive else "gone"
    finally:
        for pid in [process.pid, *_marked(mark)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def _marked(mark: str) -> list[int]:
    """The running processes that have the mark in their environment; Linux only."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():  # empty for one that has exited
                found.append(int(pid))
    return found


@dataclass
class Counts:
    """What became of the checks of one workload, or of all."""

    right: int = 0
    verdict: int = 0
    culprit: int = 0
    inconclusive: int = 0
    contradictions: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


def examine(workload: Workload, signals: int) -> dict[str, Any]:
    """One check of a workload, as a record for the log."""
    began, before = time.monotonic(), os.getloadavg()[0]
    result = gilcheck.interrupt(
        workload.work, repeats=signals, over=0.3, within=_WITHIN, exits_within=_EXITS_WITHIN, setup=workload.data
    )
    fault, undecided = wrong(workload, result), str(result.verdict) == "inconclusive"
    return {
        "workload": workload.name,
        "kind": fault[0] if fault else "inconclusive" if undecided else "right",
        "text": fault[1] if fault else result.reason if undecided else "",
        "verdict": str(result.verdict),
        "outcome": str(result.outcome or ""),
        "culprit": result.culprit,
        "contradictions": contradictions(result),
        "load": round((before + os.getloadavg()[0]) / 2, 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def table(records: list[dict[str, Any]]) -> Counts:
    """Print a markdown table of records; returns the sum."""
    print("| workload | plain | expected | right | wrong verdict | wrong culprit | inconclusive | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    whole = Counts()
    for workload in WORKLOADS:
        mine = [record for record in records if record["workload"] == workload.name]
        checks = [record for record in mine if "kind" in record]
        if not mine:
            continue
        counts = Counts(*(sum(record["kind"] == kind for record in checks) for kind in _KINDS))
        counts.contradictions = sum(bool(record["contradictions"]) for record in checks)
        whole += counts
        plain = ", ".join(f"{number} {what}" for what, number in Counter(r["plain"] for r in mine if "plain" in r).most_common())
        seconds = statistics.median([record["seconds"] for record in checks]) if checks else 0.0
        row = " | ".join(str(number) for number in astuple(counts)[:4])
        print(f"| {workload.name} | {plain} | {workload.verdict} | {row} | {seconds:.1f} |")
    loads = [record["load"] for record in records if "load" in record]
    if loads:
        print(f"\n{whole}\nload average {min(loads)} to {max(loads)}, median {statistics.median(loads)}")
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="checks of each workload, in rounds over all (default: 20)")
    parser.add_argument("--signals", type=int, default=3, help="signals in each check (default: 3)")
    parser.add_argument("--plainly", type=int, default=1, help="plain processes of each workload, in the first round (default: 1)")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside it (default: 0)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long, with what there is")
    parser.add_argument("--only", default="", help="workloads with this in their name; several, separated by commas")
    parser.add_argument("--core", action="store_true", help="only the workloads that run in the suite")
    parser.add_argument("--log", type=Path, help="append a record of each check to this file")
    parser.add_argument("--table", type=Path, nargs="+", help="run nothing: the table of these logs")
    given = parser.parse_args()
    if given.table:
        return 1 if table([json.loads(line) for path in given.table for line in path.read_text().splitlines()]).verdict else 0
    print(f"{gilcheck.interpreter}; {given.repeats} checks, {given.signals} signals each, {given.neighbours} busy neighbours\n")
    names = given.only.split(",")
    chosen = [each for each in WORKLOADS if any(name in each.name for name in names) and (each.core or not given.core)]
    for workload in chosen:
        if workload.missing:
            print(f"{workload.name}: not installed: {', '.join(workload.missing)}", flush=True)
    records: list[dict[str, Any]] = []

    def note(record: dict[str, Any]) -> None:
        records.append(record)
        if given.log:
            with given.log.open("a") as file:
                file.write(json.dumps(record) + "\n")

    end = time.monotonic() + 60 * given.minutes
    used = sorted({each.server for each in chosen if each.server})
    with neighbours(given.neighbours), servers.running(used):
        for repeat in range(given.repeats):
            for workload in random.sample(chosen, len(chosen)):  # what --minutes leaves out is left out by chance
                if workload.missing or time.monotonic() > end:
                    continue
                for _ in range(given.plainly if repeat == 0 else 0):
                    note({"workload": workload.name, "plain": plainly(workload)})
                note(record := examine(workload, given.signals))
                for text in ([record["text"]] if record["text"] else []) + record["contradictions"]:
                    print(f"{workload.name}: {record['kind']}: {text}", file=sys.stderr, flush=True)
    whole = table(records)
    return 1 if whole.verdict else 0


if __name__ == "__main__":
    sys.exit(main())
