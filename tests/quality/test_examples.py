"""The examples are right here, and their tests can fail: turned round, each of their expectations does."""

import pytest

from pytest_gilcheck.core.fork_safety import can_fork
from tests.undecided import undecided

from .examples import run_example

FOLDERS = [
    pytest.param("survive", marks=pytest.mark.slow),
    pytest.param("ctrl_c", marks=pytest.mark.slow),
    pytest.param("responsive", marks=[pytest.mark.exclusive, pytest.mark.slow]),
]
pytestmark = [
    pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}"),
    pytest.mark.xdist_group("examples"),  # one worker makes the fixture
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Each example's run, once."""
    made = {}

    def run(folder):
        if folder not in made:
            made[folder] = run_example(folder, tmp_path_factory.mktemp(folder))
        return made[folder]

    return run


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_example_passes_here(runs, folder):
    run = runs(folder)
    assert "FAILED" not in run.outcomes.values(), run.text
    if run.skipped:
        undecided(f"{', '.join(run.skipped)} of {folder}: this machine was too busy")


@pytest.mark.parametrize("folder", FOLDERS)
def test_turned_round_every_test_of_the_example_fails(runs, folder):
    run = runs(folder)
    for name, outcome in run.outcomes.items():
        assert "passed" not in run.turned_round[name], (name, run.text)
        assert outcome == "SKIPPED" or "failed" in run.turned_round[name], (name, run.text)
