"""The quickstart's answers are right here, and its tests can fail: turned round, each fails with the right cause named.

A busy machine may leave a check undecided; that is a skip, in the quickstart and here, and never a wrong answer.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gilcheck.core.evidence_files import read
from pytest_gilcheck.core.interpreter import FREE_THREADED, build

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
SCALES = "scales" if build() == FREE_THREADED else "gil"
CAUSES = {
    "test_count": SCALES,
    "test_hash_megabytes": "scales",
    "test_blocking_wait": "scales",
    "test_json_dumps": SCALES,
    "test_serialised_by_its_own_lock": "lock",
    "test_scales_only_without_the_gil": SCALES,
}


def run(tmp_path, *options):
    """Run the quickstart; outcome by test, and evidence by test."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", QUICKSTART, "-v", "-p", "no:cacheprovider", "--gilcheck-budget=5",
         f"--gilcheck-json={tmp_path / 'evidence.json'}", *options],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    outcomes = {
        line.split("::")[1].split()[0]: line.split()[1] for line in done.stdout.splitlines() if "::" in line and "%]" in line
    }
    records = {record["subject"].rpartition("::")[2]: record for record in read(tmp_path / "evidence.json")}
    assert set(outcomes) == set(CAUSES), done.stdout
    return outcomes, records, done.stdout


def test_the_quickstart_passes_here(tmp_path):
    outcomes, records, text = run(tmp_path)
    assert "FAILED" not in outcomes.values(), text
    undecided = [name for name, outcome in outcomes.items() if outcome == "SKIPPED"]
    assert all(records[name]["verdict"] == "inconclusive" for name in undecided)
    for name, record in records.items():
        if record["verdict"] != "inconclusive":
            assert record["figures"]["cause"] == CAUSES[name], text
    if undecided:
        pytest.skip(f"this machine was too busy to decide {', '.join(undecided)}")


def test_turned_round_every_test_of_the_quickstart_fails_and_names_the_right_cause(tmp_path):
    outcomes, records, text = run(tmp_path, "-p", "tests.quality.turned_round")
    assert "PASSED" not in outcomes.values(), text
    for name, outcome in outcomes.items():
        if outcome == "FAILED":
            assert records[name]["figures"]["cause"] == CAUSES[name], text
    undecided = [name for name, outcome in outcomes.items() if outcome == "SKIPPED"]
    if undecided:
        pytest.skip(f"this machine was too busy to decide {', '.join(undecided)}")
