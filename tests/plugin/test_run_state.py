"""The evidence file records how its run ended, and a comparison refuses a run that did not finish."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

HOLDS = """
    import os, pytest, time
    values = []
    @pytest.mark.gil_fuzz(schedules=50)
    def test_holds(): values.append(1)
"""


def pytest_command(*options):
    """The command line of a run with this plugin, and with xdist where an option is its own; no others."""
    xdist = ["-p", "xdist"] if "-n" in options else []
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gilcheck", *xdist, "--gilcheck-json=e.json", *options]


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def run_in(pytester):
    """Run pytest on these files with evidence; returns its exit status, the record of the run and the comparison's process."""

    def run_in(files, *options):
        for name, source in files.items():
            (pytester.path / f"{name}.py").write_text(textwrap.dedent(source))
        status = subprocess.run(pytest_command(*options), cwd=pytester.path, capture_output=True).returncode
        return status, json.loads((pytester.path / "e.json").read_text()), compared(pytester.path)

    return run_in


def compared(folder, *options):
    command = [sys.executable, "-m", "pytest_gilcheck.cli", "compare", "e.json", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
def test_a_run_that_finished_says_so_and_is_compared(run_in):
    status, written, comparison = run_in({"test_it": HOLDS + "    def test_other(): pass\n"}, "-k", "holds")
    assert status == 0
    run = written["run"]
    assert run["ended"] is not None
    assert {name: run[name] for name in ("exit_status", "collected", "ran", "deselected", "failed_to_collect")} == {
        "exit_status": 0,
        "collected": 1,
        "ran": 1,
        "deselected": 1,
        "failed_to_collect": 0,
    }
    assert comparison.returncode == 0, comparison.stderr


@pytest.mark.slow
def test_a_failing_test_is_no_unfinished_run(run_in):
    status, _, comparison = run_in({"test_it": HOLDS + "    def test_other(): assert 0\n"})
    assert (status, comparison.returncode) == (1, 0)


@pytest.mark.parametrize(
    ("files", "options", "status", "message"),
    [
        ({"test_it": HOLDS, "test_broken": "import no_such_module"}, [], 2, "1 test module could not be collected"),
        pytest.param(
            {"test_it": HOLDS, "test_broken": "import no_such_module"},
            ["--continue-on-collection-errors"],
            1,
            "1 test module could not be collected",
            marks=pytest.mark.slow,
        ),
        ({"test_it": "def test_fails(): assert 0\n" + textwrap.dedent(HOLDS)}, ["-x"], 1, "1 of 2 collected tests did not run"),
        pytest.param(
            {"test_it": HOLDS + "    def test_other(): raise KeyboardInterrupt\n"},
            [],
            2,
            "exit status 2 (interrupted)",
            marks=pytest.mark.slow,
        ),
        pytest.param({"test_it": HOLDS}, ["-k", "nothing"], 5, "exit status 5 (no tests were collected)", marks=pytest.mark.slow),
    ],
)
def test_an_incomplete_run_cannot_be_compared(run_in, files, options, status, message):
    ended_with, _, comparison = run_in(files, *options)
    assert ended_with == status
    assert comparison.returncode == 3
    assert message in " ".join(comparison.stdout.split())


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.slow)])
@pytest.mark.slow
def test_an_exit_in_the_middle_leaves_a_run_that_has_not_ended_and_no_older_records(run_in, pytester, workers):
    run_in({"test_it": HOLDS})
    exits = "import os, pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(): os._exit(9)\n"
    status, written, comparison = run_in({"test_it": HOLDS, "conftest": exits}, *workers)
    assert status == 9
    assert (written["run"]["ended"], written["records"]) == (None, [])
    assert comparison.returncode == 3
    assert "has not ended" in " ".join(comparison.stdout.split())


@pytest.mark.parametrize(
    ("files", "options", "status"),
    [
        ({"conftest": "import no_such_module"}, [], 4),
        pytest.param({}, ["--no-such-option"], 4, marks=pytest.mark.slow),
        pytest.param({"conftest": "import os; os._exit(9)"}, [], 9, marks=pytest.mark.slow),
        pytest.param({}, ["--gilcheck-budget=much"], 4, marks=pytest.mark.slow),
        pytest.param({}, ["no_such_file.py"], 4, marks=pytest.mark.slow),
        pytest.param(
            {"conftest": "def pytest_configure(): pytest.exit('enough', returncode=7)\nimport pytest"},
            [],
            7,
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.slow
def test_a_run_that_does_not_come_to_its_tests_leaves_no_older_records(run_in, files, options, status):
    run_in({"test_it": HOLDS})
    ended_with, written, comparison = run_in({"test_it": HOLDS} | files, *options)
    assert ended_with == status
    assert written["records"] == []
    assert comparison.returncode == 3


@pytest.mark.slow
def test_a_killed_pytest_leaves_a_run_that_has_not_ended(pytester):
    pytester.makepyfile(test_it=HOLDS + "    def test_long(): open('here', 'w').close(); time.sleep(60)\n")
    process = subprocess.Popen(pytest_command(), cwd=pytester.path, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (pytester.path / "here").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert compared(pytester.path).returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "option",
    [
        "--collect-only",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("--setup-only", "--help", "--version", "--markers", "--fixtures")
        ),
    ],
)
def test_a_run_that_calls_no_test_leaves_older_evidence(run_in, option):
    _, before, _ = run_in({"test_it": HOLDS})
    _, after, _ = run_in({"test_it": HOLDS}, option)
    assert after == before


@pytest.mark.slow
def test_a_worker_that_dies_in_a_test_leaves_an_undecided_record(run_in, pytester):
    source = (
        HOLDS
        + """
    def test_dies(gilcheck):
        os._exit(3)
    """
    )
    _, written, _ = run_in({"test_it": source}, "-n", "1", "--gilcheck-isolate=none", "--max-worker-restart=2")
    found = {record["subject"].partition("::")[2]: record for record in written["records"]}
    assert found["test_holds"]["verdict"] == "holds"
    assert found["test_dies"]["verdict"] == "inconclusive"
    assert "the worker process died in this test" in found["test_dies"]["reason"]
    assert compared(pytester.path, "--fail-on", "violated,inconclusive").returncode == 1


@pytest.mark.slow
def test_what_is_required_and_absent_fails_a_comparison(run_in, pytester):
    run_in({"test_it": HOLDS})
    here = f"{sys.version_info[0]}.{sys.version_info[1]}" + ("t" if "free-threading" in sys.version else "")
    assert compared(pytester.path, "--require-interpreter", here, "--require-checks", "1").returncode == 0
    absent = compared(pytester.path, "--require-interpreter", "2.7")
    assert absent.returncode == 1
    assert "require-interpreter: 2.7 on 2.7: no check holds or is violated there" in " ".join(absent.stdout.split())
    few = compared(pytester.path, "--require-checks", "2")
    assert few.returncode == 1
    assert "1 hold or are violated, and 2 are required" in " ".join(few.stdout.split())
    assert compared(pytester.path, "--require-checks", "0").returncode == 2
