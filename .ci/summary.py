"""What a test run ran, failed and skipped, as Markdown for the summary of a CI job.

    python .ci/summary.py report.xml [--expect tests/quick.txt]

The report is that of pytest's ``--junitxml``. With ``--expect`` the folders of these tests must have had tests that passed: a
folder without one is named, also as a warning on the page of the run, because nothing there was tested on this system.
Exit status 1: no test passed at all.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Case(NamedTuple):
    """One test: its folder, such as ``tests/fuzz``, its outcome, and why it was skipped."""

    folder: str
    outcome: str
    reason: str = ""


def cases(report: Path) -> Iterator[Case]:
    """Every test of a report."""
    for case in ElementTree.parse(report).iter("testcase"):
        folder = folder_of(case.get("classname", "").replace(".", "/"))
        if case.find("failure") is not None or case.find("error") is not None:
            yield Case(folder, "failed")
        elif (skipped := case.find("skipped")) is not None:
            yield Case(folder, "skipped", " ".join((skipped.get("message") or "").split()))
        else:
            yield Case(folder, "passed")


def folder_of(path: str) -> str:
    """The first two parts of a test's path, or the first one where the second is a file."""
    parts = path.partition("::")[0].split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def lines(found: Iterable[Case], expected: Iterable[str] = ()) -> Iterator[str]:
    """A table of folders, what was not tested at all, and each reason for a skip with its count, most frequent first."""
    found = list(found)
    counts = Counter((case.folder, case.outcome) for case in found)
    yield "| tests | passed | failed | skipped |\n|---|---|---|---|"
    for folder in sorted({case.folder for case in found}):
        yield f"| {folder} | " + " | ".join(str(counts[folder, outcome]) for outcome in ("passed", "failed", "skipped")) + " |"
    if missing := untested(found, expected):
        yield f"\n**Not tested here: {', '.join(missing)}.** No test of these folders passed."
    reasons = Counter(case.reason for case in found if case.outcome == "skipped")
    if reasons:
        yield "\n| skipped | why |\n|---|---|"
        yield from (f"| {count} | {_cell(reason)} |" for reason, count in reasons.most_common())


def untested(found: Iterable[Case], expected: Iterable[str]) -> list[str]:
    """The expected folders of which no test passed."""
    passed = {case.folder for case in found if case.outcome == "passed"}
    return sorted({folder_of(path) for path in expected} - passed)


def _cell(reason: str) -> str:
    text = (reason or "no reason was given").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= 200 else text[:200] + "…"


def main(report: str, *options: str) -> int:
    expected = Path(options[1]).read_text().split("\n") if options else []
    found = list(cases(Path(report)))
    expected = [line for line in expected if line.startswith("tests/")]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(*lines(found, expected), sep="\n")
    for folder in untested(found, expected):
        print(f"::warning::no test of {folder} passed on this system", file=sys.stderr)
    return 0 if any(case.outcome == "passed" for case in found) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
