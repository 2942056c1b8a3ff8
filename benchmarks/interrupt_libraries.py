"""Does the interrupt check judge real libraries rightly? The truth comes from plain signals.

Each workload of ``tests/interrupt/libraries.py`` is first run in a plain Python process, without this package, which gets
``kill -INT`` at a random moment and either is gone in time or not; then the check judges it. Prints a markdown table with the wrong
verdicts, the wrong culprits, the undecided, and the results that contradict themselves; exits with 1 if a verdict was wrong.

    python benchmarks/interrupt_libraries.py --repeats 20
    python benchmarks/interrupt_libraries.py --neighbours 2     # with so many busy processes beside it
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from pytest_gilcheck import gilcheck  # noqa: E402
from tests.interrupt.libraries import WORKLOADS, Workload, wrong  # noqa: E402
from tests.interrupt.sentences import contradictions  # noqa: E402

_WITHIN, _EXITS_WITHIN = 0.2, 1.5  # seconds: the claim; a plain process must be gone after their sum
_PLAIN = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
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
    """What a plain process does: ``"gone"``, ``"stays"``, ``"crashes"``, ``"leaves PID behind"`` or ``"ends early"``."""
    command = [sys.executable, "-c", _PLAIN, str(_ROOT), workload.name]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True
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
        with contextlib.suppress(ProcessLookupError):
            time.sleep(0.5)
            os.killpg(process.pid, 0)
            return "leaves processes"
        return "gone"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def neighbours(number: int) -> Iterator[None]:
    """So many busy processes for the time of the block."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="checks of each workload (default: 20)")
    parser.add_argument("--signals", type=int, default=3, help="signals in each check (default: 3)")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside it (default: 0)")
    parser.add_argument("--only", default="", help="workloads with this in their name")
    parser.add_argument("--core", action="store_true", help="only the workloads that run in the suite")
    given = parser.parse_args()
    print(f"{gilcheck.interpreter}; {given.repeats} checks, {given.signals} signals each, {given.neighbours} busy neighbours\n")
    print("| workload | plain | expected | right | wrong verdict | wrong culprit | inconclusive | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    kinds = ("right", "verdict", "culprit", "inconclusive")
    total = dict.fromkeys((*kinds, "contradictions"), 0)
    for workload in WORKLOADS:
        if given.only not in workload.name or (given.core and not workload.core):
            continue
        if workload.missing:
            print(f"| {workload.name} | not installed: {', '.join(workload.missing)} | | | | | | |")
            continue
        with neighbours(given.neighbours):
            plain = plainly(workload)
            counts, began = dict.fromkeys(kinds, 0), time.monotonic()
            for _ in range(given.repeats):
                result = gilcheck.interrupt(
                    workload.work,
                    repeats=given.signals,
                    over=0.3,
                    within=_WITHIN,
                    exits_within=_EXITS_WITHIN,
                    setup=workload.data,
                )
                fault = wrong(workload, result)
                kind = fault[0] if fault else "inconclusive" if str(result.verdict) == "inconclusive" else "right"
                counts[kind] += 1
                words = contradictions(result)
                total["contradictions"] += bool(words)
                for entry in words:
                    print(f"{workload.name}: {entry}", file=sys.stderr, flush=True)
                if fault or kind == "inconclusive":
                    print(f"{workload.name}: {fault[1] if fault else result.reason}", file=sys.stderr, flush=True)
        for kind, number in counts.items():
            total[kind] += number
        seconds = (time.monotonic() - began) / max(1, given.repeats)
        row = " | ".join(str(number) for number in counts.values())
        print(f"| {workload.name} | {plain} | {workload.verdict} | {row} | {seconds:.1f} |", flush=True)
    print("\n" + ", ".join(f"{number} {kind}" for kind, number in total.items()))
    return 1 if total["verdict"] else 0


if __name__ == "__main__":
    sys.exit(main())
