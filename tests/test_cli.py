"""The command ``gilcheck``: exit statuses and messages."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_gilcheck import cli
from pytest_gilcheck.engine.schedule import Choice, Schedule, Token

from .slow import one_in
from .undecided import undecided

WORK = """
import os, threading, time
LOCK = threading.Lock()
def sleeps(): time.sleep(0.01)
def serial():
    with LOCK: time.sleep(0.01)
def fails(): raise LookupError("its own")
def nothing(): pass
def hangs():
    while True: time.sleep(0.01)
def raises_exit(): raise SystemExit(0)
def exits(): os._exit(0)
number = 3
"""


@pytest.fixture
def gilcheck(tmp_path):
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "exiting.py").write_text("raise SystemExit(0)")

    def run(*arguments):
        command = [sys.executable, "-m", "pytest_gilcheck.cli", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    return run


@pytest.mark.parametrize(
    ("target", "status", "message"),
    [
        pytest.param("work:sleeps", 0, "work:sleeps: holds", marks=pytest.mark.exclusive),
        pytest.param("work:serial", 1, "serialised by the lock 'LOCK'", marks=pytest.mark.exclusive),
        ("work:nothing", 3, "too short to time"),
    ],
)
def test_the_exit_status_is_the_verdict(gilcheck, target, status, message):
    done = gilcheck("probe", target, "--min-speedup=1.5", "--threads=2", "--budget=10")
    if status != 3 and done.returncode == 3:
        undecided(done.stdout.splitlines()[0])
    assert (done.returncode, message in done.stdout) == (status, True), done


@pytest.mark.slow
def test_a_workload_that_fails_exits_or_hangs_does_not_exit_with_0(gilcheck):
    failed = gilcheck("probe", "work:fails")
    assert failed.returncode == 1
    assert "LookupError: its own" in failed.stderr
    for target, message in (("work:raises_exit", "SystemExit"), ("work:exits", "exited with status 0 before its end")):
        ended = gilcheck("probe", target)
        assert (ended.returncode, message in ended.stderr) == (1, True), ended
    hung = gilcheck("probe", "work:hangs", "--timeout=0.5")
    assert hung.returncode == 1
    assert "no end after 0.5 s" in hung.stderr
    assert "in hangs" in hung.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["probe", "work"], "target='work'"),
        (["probe", "work:missing"], "target='work:missing'"),
        (["probe", "nowhere:f"], "No module named 'nowhere'"),
        (["probe", "exiting:f"], "SystemExit: 0"),
        (["probe", "work:sleeps", "--curve", "--min-speedup=1"], "nothing beside --curve"),
        (["probe", "work:sleeps", "--json=."], "a regular file"),
        (["probe", "work:number"], "a function or another callable"),
        (["probe", "work:sleeps", "--threads=1"], "threads=1 (from command line): expected a whole number, at least 2"),
        (["probe", "work:sleeps", "--min-speedup=9", "--threads=2"], "min_speedup=9.0 (from command line)"),
        (["probe", "work:sleeps", "--json=no/such/folder.json"], "json='no/such/folder.json'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(gilcheck, arguments, message):
    done = gilcheck(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_two_claims_or_no_command_are_bad_usage(gilcheck):
    assert gilcheck("probe", "work:sleeps", "--min-speedup=1", "--max-slowdown=1").returncode == 2
    assert gilcheck().returncode == 2


def test_the_evidence_is_written(gilcheck, tmp_path):
    gilcheck("probe", "work:nothing", "--min-speedup=1.5", "--threads=2", "--json=e.json")
    [record] = json.loads((tmp_path / "e.json").read_text())["records"]
    assert (record["subject"], record["verdict"]) == ("work:nothing", "inconclusive")


def test_a_curve_is_printed(gilcheck):
    done = gilcheck("probe", "work:sleeps", "--curve", "--budget=2")
    assert done.returncode == 0
    assert "Amdahl" in done.stdout


@pytest.mark.parametrize(
    ("status", "expected"), [(0, 0), (1, 1), (-11, 1), (4, 2)], ids=["mended", "fails again", "killed", "no such test"]
)
def test_a_replay_exits_with_0_only_if_its_test_passes(monkeypatch, status, expected):
    asked = []

    def run(command, **arguments):
        asked.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", run)
    token = str(Token(1, 2, Schedule((Choice(3, 1),)), (7,), 9))
    parsed = cli._parser().parse_args(["replay", token, "test_it.py::test_it"])
    assert cli._replay(parsed, lambda seconds: None) == expected
    assert f"--gilcheck-replay={token}" in asked[0]


PROBED = pytest.param("probe work:work --min-speedup 1.9 --threads 2 --budget 0.1", marks=pytest.mark.slow)


@pytest.mark.parametrize("command", ["explain GC101", "audit .", PROBED])
@pytest.mark.parametrize("to", one_in(2, ["> /dev/full", ">&-"]))
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_one_line_and_exit_status_2_and_a_closed_output_is_none(tmp_path, command, to):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'demo'\nversion = '1.0'\n")
    (tmp_path / "work.py").write_text("def work(): sum(range(1000))")
    whole = f"{shlex.quote(sys.executable)} -m pytest_gilcheck {command} {to}"
    done = subprocess.run(["bash", "-c", whole], capture_output=True, text=True, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert (done.returncode == 2) is ("full" in to), done.stderr
    assert ("output='standard output'" in done.stderr) is ("full" in to)


@pytest.mark.parametrize("to", one_in(3, ["2> /dev/full", "2>&-", ">&- 2>&-"]))
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_where_an_error_cannot_be_printed_the_exit_status_says_it(tmp_path, to):
    whole = f"{shlex.quote(sys.executable)} -m pytest_gilcheck compare missing.json {to}"
    done = subprocess.run(["bash", "-c", whole], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
