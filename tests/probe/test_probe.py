"""Complete probes of real interpreters and of broken ones."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from importlib import resources
from types import SimpleNamespace

import pytest

from pytest_gilcheck.cli import _parser
from pytest_gilcheck.core import evidence_files
from pytest_gilcheck.probe import command, measuring
from pytest_gilcheck.probe.check import probe
from pytest_gilcheck.probe.measuring import EXPERIMENTS, Effort
from pytest_gilcheck.probe.records import records
from pytest_gilcheck.probe.result import TEXT
from pytest_gilcheck.probe.rows import FACTS, GROUPS
from pytest_gilcheck.probe.session import ExperimentFailed
from pytest_gilcheck.probe.table import table
from tests.slow import one_in

from .interpreters import found, left, patched

LITTLE = Effort(unit=0.03, pairs=2, rounds=1, window=0.1, signals=2, wakeups=20, starts=2, warm=0.2)
ROWS = [row for group in GROUPS for row in group.rows]


def only(monkeypatch, names):
    """Leave out all experiments but these."""

    def left_out(context):
        raise ExperimentFailed("left out")

    for name in EXPERIMENTS:
        if name not in names:
            monkeypatch.setitem(EXPERIMENTS, name, left_out)


@pytest.mark.slow
def test_a_probe_of_this_python_yields_every_row():
    [column], refused, _ = probe([sys.executable], effort=LITTLE)
    assert not refused
    assert column.figures.keys() == {row.name for row in ROWS}
    missing = {name: figure.note for name, figure in column.figures.items() if figure.value is None and figure.unit != TEXT}
    assert all("core" in why for why in missing.values()), missing  # a machine with one core has nothing to compare it with
    assert 1.5 < column.figures["sleep"].value < 2.5
    assert column.figures["interrupt_c"].note.startswith("the operation took")
    text = table([column], 160)
    assert all(row.label in text for row in ROWS)
    assert "0.54x (24.6 s / 45.5 s) CPython 2.x [Beazley 2009]" in " ".join(text.split())


# By default, every Python here compiles the script.
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in ("2.7.18", "3.8.18", "pypy3", "jython")])
def test_an_interpreter_that_has_nothing_of_ours_yields_every_row(name, monkeypatch):
    if name not in found():
        pytest.skip(f"there is no {name} here")
    if name == "jython":  # each of its processes takes five seconds to start
        only(monkeypatch, EXPERIMENTS.keys() - {"json", "sha256", "convoy"})
    [column], refused, _ = probe([found()[name]], effort=replace(LITTLE, signals=1), answer_timeout=120)
    assert not refused
    assert column.figures.keys() == {row.name for row in ROWS}
    missing = {row: figure.note for row, figure in column.figures.items() if figure.value is None and figure.unit != TEXT}
    if name == "jython":
        missing = {row: why for row, why in missing.items() if "left out" not in why}
    uninterruptible = {"interrupt_acquire", "interrupt_join"} if name == "2.7.18" else set()
    assert {row for row, why in missing.items() if "one core" not in why} == uninterruptible, missing
    assert all("not within 3 s (1 of 1)" in missing[row] for row in uninterruptible)
    assert (column.figures["cost_coroutine"].note == "a generator: no asyncio") is (name in ("2.7.18", "jython"))


@pytest.mark.parametrize(
    ("command", "patch", "rows", "words"),
    one_in(
        10,
        [
            pytest.param(
                "pair",
                "lambda order: os._exit(9)",
                {"count", "json", "sleep", "json_unit"},
                "it exited with status 9 during the experiment",
            ),
            pytest.param(
                "prepare", "lambda order: time.sleep(600)", {"count", "sha256"}, "it did not answer in 3 s", marks=pytest.mark.slow
            ),
            pytest.param("prepare", "lambda order: {}", {"count", "sha256"}, "it answered None instead of a number"),
            pytest.param("pair", "lambda order: {'sequence': 1, 'threads': 0}", {"count", "sleep"}, "its clock does not advance"),
            pytest.param(
                "busy_threads",
                "lambda order: os.abort()",
                {"convoy_1", "convoy_0_p50"},
                "it was killed by SIGABRT during the experiment",
            ),
            pytest.param("echo", "lambda order: {}", {"convoy_2_p99"}, "it did not answer in 3 s"),
            pytest.param("interrupt", "lambda order: {'left': 1}", {"interrupt_c", "interrupt_join"}, "instead of 'ready'"),
            pytest.param(
                "wakeups", "lambda order: {'late': ['soon', 'later']}", {"wakeups_alone"}, "it answered 'soon' instead of a number"
            ),
            pytest.param("wakeups", "lambda order: {}", {"wakeups_beside_p99"}, "its answer contains no times"),
            pytest.param("threads", "lambda order: 1 / 0", {"cost_thread", "cost_thread_memory"}, "ZeroDivisionError"),
        ],
    ),
)
def test_a_failed_command_is_the_result_of_its_own_rows_only(tmp_path, monkeypatch, command, patch, rows, words):
    only(monkeypatch, {group.name for group in GROUPS if rows & {row.name for row in group.rows}})
    broken = patched(tmp_path, f"scope['COMMANDS'][{command!r}] = {patch}")
    [column], refused, _ = probe([broken], effort=LITTLE, answer_timeout=3)
    assert not refused
    for row in rows:
        assert column.figures[row].value is None
        assert words in column.figures[row].note
    assert column.figures["build"].text
    if command == "threads":
        assert column.figures["cost_process"].value > 0
    assert not left(str(tmp_path))
    assert "left out" in table([column], 120)


@pytest.mark.slow
def test_a_signal_without_an_answer_is_a_result(tmp_path, monkeypatch):
    deaf = "import signal\nsignal.signal = lambda *_: None\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"
    only(monkeypatch, {"interrupt"})
    monkeypatch.setattr(measuring, "_HANDLER_TIME", 0.5)
    [column], _, _ = probe([patched(tmp_path, deaf)], effort=LITTLE)
    assert column.figures["interrupt_sleep"].note == "not within 0.5 s (2 of 2)"
    assert not left(str(tmp_path))


@pytest.mark.slow
def test_the_evidence_is_of_the_probed_interpreter_and_has_no_verdict(tmp_path, monkeypatch):
    only(monkeypatch, {"sleep"})
    other = patched(
        tmp_path, "scope['platform'].python_implementation = lambda: 'Other'\nscope['platform'].python_version = lambda: '1.0'"
    )
    [column], _, _ = probe([other], effort=LITTLE)
    assert column.label.startswith("Other 1.0")
    [record] = [record for record in records([column]) if record["subject"] == "sleep"]
    assert (record["check"], record["verdict"], record["interpreter"]["implementation"]) == ("probe", None, "Other")
    assert record["figures"]["sleep_low"] <= record["figures"]["sleep"] <= record["figures"]["sleep_high"]
    assert len(records([column])) == len(GROUPS) - 1
    assert record["details"]["units"] == {"sleep": "ratio"}
    [other] = [record for record in records([column]) if record["subject"] == "wakeups"]
    assert (other["figures"]["wakeups_alone"], other["details"]["remarks"]["wakeups_alone"]) == (None, "left out")
    assert FACTS.name not in {record["subject"] for record in records([column])}


def test_the_evidence_is_what_its_schema_says(tmp_path, monkeypatch):
    fastjsonschema = pytest.importorskip("fastjsonschema")
    only(monkeypatch, {"sleep"})
    columns, _, _ = probe([found().get("2.7.18", sys.executable)], effort=LITTLE)
    evidence_files.write(tmp_path / "e.json", records(columns), evidence_files.EvidenceRun(tmp_path), {})
    schema = json.loads(resources.files("pytest_gilcheck.core").joinpath("evidence.schema.json").read_text())
    fastjsonschema.compile(schema)(json.loads((tmp_path / "e.json").read_text()))
    assert [record["subject"] for record in evidence_files.read(tmp_path / "e.json")] == list(EXPERIMENTS)


def gilcheck(*arguments, **options):
    command = [sys.executable, "-m", "pytest_gilcheck.cli", "probe", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_probe_that_is_killed_leaves_no_process(number):
    mark = f"mark{uuid.uuid4().hex}"
    process = gilcheck("--quick", "--python", f"{sys.executable} -X {mark}", start_new_session=True)
    mine = {process.pid}
    until = time.monotonic() + 60
    while not any("experiments.py" in " ".join(one.info["cmdline"]) for one in left(mark)):
        assert time.monotonic() < until, process.communicate()
        time.sleep(0.05)
    assert len(left(mark)) > len(mine)
    os.kill(process.pid, number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    until = time.monotonic() + 10
    while left(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left(mark)


def run(*arguments, **options):
    process = gilcheck(*arguments, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.parametrize(("good", "bad", "status"), [([], ["one"], 2), (["this"], ["one"], 1), (["this"], [], 0)])
def test_the_exit_status_says_whether_each_interpreter_was_probed(monkeypatch, capsys, good, bad, status):
    monkeypatch.setattr(command, "probe", lambda *_, **__: (good, bad, []))  # whose own tests take seconds
    monkeypatch.setattr(command, "table", lambda probed, width: f"{len(probed)} probed")
    given = _parser().parse_args(["probe"])
    assert command.run(given, lambda label: None, {}) == status
    assert capsys.readouterr().err == "".join(f"gilcheck: {each}\n" for each in bad)


@pytest.mark.slow
def test_an_interpreter_that_cannot_be_probed_is_one_line_and_the_others_still_run(tmp_path):
    status, out, err = run(
        "--quick", "--python=/no/python", "--python", sys.executable, f"--json={tmp_path}/e.json", "--timeout=60"
    )
    assert (status, err) == (1, "gilcheck: /no/python: there is no such program\n")
    assert "Convoy effect" in out
    kept = json.loads((tmp_path / "e.json").read_text())["records"]
    assert [record["subject"] for record in kept] == list(EXPERIMENTS)
    status, out, err = run("--python=/no/python", "--python=/no/other")
    assert (status, out, err.count("\n")) == (2, "", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["work:render", "--python=python3"],
            "python=['python3'] (from command line): expected nothing beside MODULE:FUNCTION",
        ),
        (["work:render", "--quick"], "quick=True (from command line): expected nothing beside MODULE:FUNCTION"),
        (["--curve"], "curve=True (from command line): expected nothing without MODULE:FUNCTION"),
        (["--min-speedup=2"], "min_speedup=2.0"),
        (["--timeout=0"], "timeout=0.0"),
        (["--json=/no/folder/e.json"], "json='/no/folder/e.json'"),
    ],
)
@pytest.mark.slow
def test_bad_usage_is_one_line_and_status_2(arguments, words):
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n"), words in err) == (2, "", 1, True), err


@pytest.mark.parametrize(("others", "kept", "doubtful"), [([0.0] * 4, 4, False), ([1.0, 0.0] * 4, 4, False), ([1.0] * 8, 8, True)])
def test_disturbed_laps_are_left_out_or_reported(others, kept, doubtful):
    context = measuring.ExperimentContext([], Effort(pairs=4), 1)
    laps = measuring._mostly_undisturbed(context, lambda at: [measuring._LapPair(1.0, 1.0, others[at])])
    assert len(laps) == kept
    assert measuring._speedup([pair for [pair] in laps]).note.startswith("doubtful: other processes used 1.0 of") is doubtful


def test_a_lap_of_which_one_pair_was_disturbed_is_left_out_if_enough_others_remain():
    quiet, busy = SimpleNamespace(others=0.0), SimpleNamespace(others=1.5)
    laps = [[quiet, busy], [quiet, quiet], [busy, quiet], [quiet, quiet]]
    context = SimpleNamespace(effort=LITTLE)
    assert measuring._mostly_undisturbed(context, lambda number: laps[number]) == [laps[1], laps[3]]
    assert measuring._mostly_undisturbed(context, lambda number: laps[0]) == [laps[0]] * 4
