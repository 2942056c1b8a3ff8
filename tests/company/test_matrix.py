"""Plugins by checks: beside every other plugin, a claim that holds passes, and its broken twin fails.

Each row is a pytest run of `cells` with one plugin of `rows`, and one with all that go together. A timing check may be undecided on
a busy machine; nothing else may, and what is violated never passes.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.company.rows import AUTOUSE, ROWS, Row
from tests.undecided import undecided

pytestmark = pytest.mark.slow
TIMED = ("scaling", "latency")
CELLS = {f"test_{check}_{truth}" for check in (*TIMED, "interrupt", "injection", "fuzz", "call") for truth in ("holds", "violated")}
_ENDS = {"failure": "failure", "error": "failure", "skipped": "skipped"}  # a rerun that is refused is an error
PASSED_AND_HOLDS, FAILED_AND_VIOLATED, UNDECIDED = {("passed", "holds")}, {("failure", "violated")}, {("skipped", "inconclusive")}


def all_together():
    rows = [row for row in ROWS.values() if row.together]
    assert len(rows) > 10
    return Row(
        modules=tuple(module for row in rows for module in row.modules),
        load=tuple(name for row in rows for name in row.load),
        options=tuple(option for row in rows for option in row.options),
        fixtures=", ".join(row.fixtures for row in rows if row.fixtures),
        body="; ".join(row.body for row in rows if row.body),
        conftest="\n".join(row.conftest for row in rows),
    )


def environment(folder):
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    return ours | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GILCHECK_LOCK": str(folder / "lock"), "COLUMNS": "200"}


def pytest_run(folder, row, *options, ours=True, more=None):
    loaded = [word for name in (*(("gilcheck",) if ours else ()), *row.load) for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *loaded, "-p", "no:cacheprovider", *row.options, *options]
    settings = environment(folder) | (more or {})
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=240)


def cells(folder, row, more=None, options=()):
    """Outcome and verdict of each cell, and what pytest said."""
    missing = [module for module in row.modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(row.conftest)
    (folder / "test_plain.py").write_text("def test_plain(): pass")
    alone = pytest_run(folder, row, "test_plain.py", ours=False)
    if alone.returncode:
        pytest.skip(f"it does not work with this pytest, without us either: {alone.stdout[-300:]}")
    if row.body:
        (folder / "conftest.py").write_text(row.conftest + AUTOUSE.format(fixtures=row.fixtures, body=row.body))
    shutil.copy(Path(__file__).with_name("cells.py"), folder / "test_cells.py")
    done = pytest_run(folder, row, "test_cells.py", "--gilcheck-json=evidence.json", "--junitxml=junit.xml", *options, more=more)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "INTERNALERROR" not in said, said
    verdicts = {
        record["subject"].partition("::")[2]: record["verdict"]  # of the last run, where a plugin ran it again
        for record in json.loads((folder / "evidence.json").read_text())["records"]
    }
    outcomes = {
        case.get("name"): next((_ENDS[each.tag] for each in case if each.tag in _ENDS), "passed")
        for case in ElementTree.parse(folder / "junit.xml").iter("testcase")
    }
    found = {}
    for name, outcome in outcomes.items():
        found.setdefault(name.partition("[")[0], set()).add((outcome, verdicts[name]))
    assert set(found) == CELLS, said
    return found, said


@pytest.mark.parametrize("name", [*ROWS, "all together"])
def test_beside_this_plugin_every_check_tells_right_from_wrong(name, tmp_path):
    row = all_together() if name == "all together" else ROWS[name]
    found, said = cells(tmp_path, row)
    for cell, ends in found.items():
        expected = PASSED_AND_HOLDS if cell.endswith("_holds") else FAILED_AND_VIOLATED
        assert ends <= (expected | UNDECIDED if cell.split("_")[1] in TIMED else expected), f"{cell}: {ends}\n{said}"
    busy = [cell for cell, ends in found.items() if ends & UNDECIDED]
    if len(busy) > 2:
        undecided(f"{name}: {', '.join(busy)}")


@pytest.mark.parametrize("core", ["ctrace", "sysmon", "pytrace"])
def test_under_coverage_no_time_is_measured_and_everything_else_is_checked(core, tmp_path):
    """pytest-cov, with each way that coverage.py has to trace."""
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("there is no sys.monitoring")
    row = Row(("pytest_cov",), ("pytest_cov",), ("--cov=.",))
    found, said = cells(tmp_path, row, {"COVERAGE_CORE": core, "COVERAGE_FILE": str(tmp_path / "data")})
    for cell, ends in found.items():
        timed = cell.split("_")[1] in TIMED
        assert ends == (UNDECIDED if timed else PASSED_AND_HOLDS if cell.endswith("_holds") else FAILED_AND_VIOLATED), cell
    assert said.count("coverage") >= 4, said
