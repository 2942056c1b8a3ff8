"""The examples are right here, and their tests can fail: turned round, each of them does."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gilcheck.core.fork_safety import can_fork

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


def run(folder, *options):
    """Run the example; outcome by test."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", ROOT / "examples" / folder, "-v", "-p", "no:cacheprovider", *options],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "::" in line and "%]" in line]
    outcomes = {line.split("::")[1].split()[0]: line.split()[1] for line in lines}
    assert outcomes, done.stdout + done.stderr
    return outcomes, done.stdout


@pytest.mark.parametrize("folder", ["ctrl_c", "responsive", "survive"])
def test_the_example_passes_here(folder):
    outcomes, text = run(folder)
    assert "FAILED" not in outcomes.values(), text
    if undecided := [name for name, outcome in outcomes.items() if outcome == "SKIPPED"]:
        pytest.skip(f"this machine was too busy to decide {', '.join(undecided)}")


@pytest.mark.parametrize("folder", ["ctrl_c", "responsive", "survive"])
def test_turned_round_every_test_of_the_example_fails(folder):
    outcomes, text = run(folder, "-p", "tests.quality.turned_round")
    assert "PASSED" not in outcomes.values(), text
