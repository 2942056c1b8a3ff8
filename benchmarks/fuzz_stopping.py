"""After how many schedules is no conflict of a correct program left, and how many are there without the reduction?

    python benchmarks/fuzz_stopping.py --most 2000 --every 3

The programs are the fixed twins of ``tests/quality/corpus`` and those of ``tests/quality/correct.py``, each in its own process.
*with*: the schedules of the check until it ended, with no conflict left or at ``--most``. *without*: those of the enumeration of
all schedules with at most two preemptions; more than ``--most`` are not counted. The last column says why the search went on.
Prints a Markdown table, and the sums. Counts alone, so it may run on a busy machine. Exits with 1 if one is said to be broken.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import re
import statistics
import sys
from pathlib import Path
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck.engine.outcome import NotExplorable, SequentialFailure
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.search import conflicts
from pytest_gilcheck.search.conflicts import TurnedConflicts
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.ledger import Account
from pytest_gilcheck.search.outcome import SearchOutcome
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.search import Search
from pytest_gilcheck.search.strategy import Steps
from tests.quality import correct
from tests.quality.corpus import CASES, Twin

PREEMPTIONS = 2
SECONDS = 30.0  # for each search
GRACE = 90.0  # seconds for a program
_ALL = {
    **{f"corpus: {case.name}": case.fixed for case in CASES},
    **{f"correct: {each.name}": each.program for each in correct.PROGRAMS},
}
_PLACE = re.compile(r"\S+/(\S+\.py)")


class Remembered(TurnedConflicts):
    """Keeps why the last reduction did not settle."""

    why = ""

    def _search(self) -> Steps[None]:
        Remembered.why = "it did not end"
        yield from super()._search()
        Remembered.why = self.reduction.doubt or ("" if self.reduction.finished else "there are more schedules")


class WithoutReduction(Search):
    """The search by the number of preemptions alone."""

    def _by_conflicts(self) -> bool:
        return False


def searched(kind: type[Search], twin: Twin, most: int, *, sampling: bool) -> SearchOutcome:
    """What a search of a program says after at most so many schedules."""
    program = Program(tuple(twin.threads), twin.setup, twin.invariant, "program", None)
    with explorer_for(program, FuzzPlan(), lambda label: None) as explorer:
        sequential = explorer.sequential()
        limit = Account(monotonic() + SECONDS, most)
        return kind(explorer, PREEMPTIONS, limit, 1, sampling=sampling).run(sequential)


def row(name: str, most: int, connection: Any) -> None:
    """Send (said, schedules with the reduction, schedules without, why the search went on) of a program."""
    conflicts.TurnedConflicts = Remembered  # type: ignore[misc]
    try:
        found = searched(Search, _ALL[name], most, sampling=True)
        why = "" if found.settled else Remembered.why
        said = "broken" if found.failure else "settled" if found.settled else "bounded" if found.all_enumerated else "sampled"
        plain = searched(WithoutReduction, _ALL[name], most, sampling=False)
        connection.send((said, found.explored, plain.explored if plain.all_enumerated else None, why))
    except (NotExplorable, SequentialFailure) as error:
        connection.send(("not explorable", None, None, str(error)))


def asked(name: str, most: int) -> tuple[str, int | None, int | None, str]:
    """The row of a program, from a process of its own."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=row, args=(name, most, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(GRACE) else ("did not end", None, None, "")
    except EOFError:
        return "died", None, None, ""
    finally:
        process.kill()
        process.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=2000, help="schedules of a search")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th program")
    given = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    fewer: list[tuple[int, int]] = []
    print("| program | said | with | without | went on because |\n|---|---|--:|--:|---|")
    for name in list(_ALL)[:: given.every]:
        said, with_it, without, doubt = asked(name, given.most)
        counts[said] += 1
        if said == "settled" and with_it is not None:
            fewer.append((with_it, given.most if without is None else without))
        shown = f"more than {given.most:,}" if without is None and with_it is not None else without or ""
        why = _PLACE.sub(r"\1", doubt)
        print(f"| {name} | {said} | {with_it or ''} | {shown} | {why} |", flush=True)
    print(f"\n{', '.join(f'{number} {said}' for said, number in counts.most_common())} of {sum(counts.values())} programs.")
    if fewer:
        with_it, without = (statistics.median(column) for column in zip(*fewer, strict=True))
        print(f"Of the settled ones, the median is {with_it:g} schedules with the reduction and {without:g} (or more) without.")
    return int(counts["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main())
