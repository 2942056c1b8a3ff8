"""What does a check say of calls that are one step with a GIL, and several in C without one?

    python benchmarks/fuzz_torn.py [--every 3] [--rows] [--corpora]

Each row of the table of C operations is a program (`tests/quality/torn_rows`), without a lock and with one around each operation.
Prints a Markdown table of how many rows of each effect hold, are violated or inconclusive; ``--rows`` prints each row. With
``--corpora`` also how many of the fixed twins of ``tests/quality/corpus`` and ``tests/quality/pairs`` hold, are condemned or
inconclusive, and how many for this reason. Runs on the interpreter that is given, beside the package that it imports: with
``PYTHONPATH`` at another version, the figures are of that one. Exits with 1 if a row that is not atomic held without a lock, or one
did not hold with it.
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from pytest_gilcheck import gilcheck
from pytest_gilcheck.engine.bytecode.c_operations import READINGS, Effect
from tests.quality.corpus import CASES
from tests.quality.pairs.declare import load
from tests.quality.torn_rows import row_of
from tests.quality.updatings import UPDATINGS, Updating

SCHEDULES, OF_TWIN = 150, 200  # of a row, and of a fixed twin: no figure depends on the machine
WORDS = ("holds", "violated", "inconclusive")
OWN_STEPS = (
    "obj.s += 'x'",
    "cached_property",
    "dict with two values swapped",
)  # they break with a GIL, or their statements have steps


def verdict(threads: Any, setup: Any, invariant: Any, **limit: Any) -> tuple[str, str]:
    try:
        result = gilcheck.fuzz(setup=setup, threads=threads, invariant=invariant, seed=1, **limit)
    except Exception as error:
        return "inconclusive", f"{type(error).__name__}: {error}"
    return str(result.verdict), result.reason


def rows(every: int, show: bool) -> int:
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    faults = 0
    for operation in (*READINGS[::every], *UPDATINGS):
        row = row_of(operation)
        if row is None:
            continue
        group = f"two threads: {operation.name}" if isinstance(operation, Updating) else f"reads: {operation.effect}"
        if not isinstance(operation, Updating) and not operation.simulated and operation.effect is not Effect.ATOMIC:
            group += ", not simulated"
        said = {}
        for how, threads in (("no lock", row.threads), ("a lock", row.locked)):
            said[how], reason = verdict(threads, row.setup, row.invariant, schedules=SCHEDULES)
            counts[group, how][said[how]] += 1
            if show:
                print(f"{operation.name} | {operation.effect} | {how} | {said[how]} | {reason[:300]}", flush=True)
        own = isinstance(operation, Updating) and operation.name in OWN_STEPS
        wrong = said["a lock"] != "holds" or (operation.effect is not Effect.ATOMIC and said["no lock"] == "holds")
        faults += wrong and not own
        if wrong:
            print(
                f"{'as expected' if own else 'WRONG'}: {operation.name} ({operation.effect}): {said}", file=sys.stderr, flush=True
            )
    print("| operation | rows | no lock: holds | violated | inconclusive | a lock: holds | violated | inconclusive |")
    print("|---|---|---|---|---|---|---|---|")
    for group in dict.fromkeys(name for name, _ in counts):
        cells = [str(counts[group, how][word]) for how in ("no lock", "a lock") for word in WORDS]
        print(f"| {group} | {counts[group, 'no lock'].total()} | {' | '.join(cells)} |")
    return faults


def corpora() -> None:
    print("\n| fixed twins of | programs | hold | condemned | inconclusive | of these: several steps in C |")
    print("|---|---|---|---|---|---|")
    programs: dict[str, list[tuple[str, Any]]] = {
        "tests/quality/corpus": [(case.name, case.fixed) for case in CASES],
        "tests/quality/pairs": [(pair.name, pair.fixed) for pair in load() if pair.kind != "loops"],
    }
    for name, twins in programs.items():
        counts: collections.Counter[str] = collections.Counter()
        for program, twin in twins:
            said, reason = verdict(twin.threads, twin.setup, twin.invariant, schedules=OF_TWIN)
            counts[said] += 1
            if said == "inconclusive" and "several steps in C" in reason:
                counts["torn"] += 1
            if said != "holds":
                print(f"{program}: {said}: {reason[:400]}", file=sys.stderr, flush=True)
        print(f"| {name} | {len(twins)} | {' | '.join(str(counts[each]) for each in (*WORDS, 'torn'))} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take one of so many readings")
    parser.add_argument("--rows", action="store_true", help="print each row")
    parser.add_argument("--corpora", action="store_true", help="the fixed twins too")
    parser.add_argument("--only-corpora", action="store_true", help="the fixed twins alone")
    given = parser.parse_args()
    faults = 0 if given.only_corpora else rows(given.every, given.rows)
    if given.corpora or given.only_corpora:
        corpora()
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
