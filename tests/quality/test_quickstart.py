"""The quickstart's answers are right here, with the right cause named, and its tests can fail: turned round, each of them does.

A busy machine may leave a check undecided; that is a skip, in the quickstart and here, and never a wrong answer.
"""

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED, build
from tests.undecided import undecided

from .examples import run_example

SCALES = "scales" if build() == FREE_THREADED else "gil"
CAUSES = {
    "test_count": SCALES,
    "test_hash_megabytes": "scales",
    "test_blocking_wait": "scales",
    "test_json_dumps": SCALES,
    "test_serialised_by_its_own_lock": "lock",
    "test_scales_only_without_the_gil": SCALES,
}
pytestmark = [pytest.mark.exclusive, pytest.mark.slow]  # README's first command shows it by default


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = run_example("quickstart", tmp_path_factory.mktemp("quickstart"), "--gilcheck-budget=5")
    assert set(run.outcomes) == set(CAUSES), run.text
    return run


@pytest.mark.parametrize("name", CAUSES)
def test_the_quickstart_passes_here_and_names_the_right_cause(run, name):
    assert run.outcomes[name] != "FAILED", run.text
    if run.outcomes[name] == "SKIPPED":
        assert run.records[name]["verdict"] == "inconclusive"
        undecided(f"{name}: {run.records[name]['reason']}")
    assert run.records[name]["figures"]["cause"] == CAUSES[name], run.text


@pytest.mark.parametrize("name", CAUSES)
def test_turned_round_every_test_of_the_quickstart_fails(run, name):
    assert "passed" not in run.turned_round[name], run.text
    if run.outcomes[name] == "SKIPPED":
        undecided(f"{name}: {run.records[name]['reason']}")
    assert "failed" in run.turned_round[name], run.text
