"""One run of an example folder, read by several tests."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_gilcheck.core.evidence_files import read

from .both_ways import FILE

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ExampleRun:
    """What came of it.

    Attributes:
        outcomes: by test: PASSED, FAILED or SKIPPED.
        turned_round: by test: what its expectations gave when they were turned round: passed, failed or undecided.
        records: the evidence by test; the last record of each.
        text: what pytest printed.
    """

    outcomes: dict[str, str]
    turned_round: dict[str, list[str]]
    records: dict[str, dict]
    text: str

    @property
    def skipped(self):
        return [name for name, outcome in self.outcomes.items() if outcome == "SKIPPED"]


def run_example(folder, scratch, *options):
    """Run ``examples/FOLDER`` once, with its expectations tried both ways."""
    evidence, expectations = scratch / "evidence.json", scratch / "expectations.jsonl"
    expectations.touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", ROOT / "examples" / folder, "-v", "-p", "no:cacheprovider",
         "-p", "tests.quality.both_ways", f"--gilcheck-json={evidence}", *options],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {FILE: str(expectations)},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "::" in line and "%]" in line]
    outcomes = {line.split("::")[1].split()[0]: line.split()[1] for line in lines}
    assert outcomes, done.stdout + done.stderr
    turned_round = {name: [] for name in outcomes}
    for line in expectations.read_text().splitlines():
        name, came = json.loads(line)
        turned_round[name].append(came)
    records = {record["subject"].rpartition("::")[2]: record for record in read(evidence)}
    return ExampleRun(outcomes, turned_round, records, done.stdout)
