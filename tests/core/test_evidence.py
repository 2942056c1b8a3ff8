"""The record of a check, and files of records: whole or not at all, and read with mistrust."""

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from importlib import resources

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.checks import UNITS
from pytest_gilcheck.core import evidence, evidence_files
from pytest_gilcheck.core.verdict import ClaimViolated, Inconclusive, Judged, Verdict

RUN = {"id", "began", "ended", "commit", "dirty"}


def entry(subject="t", verdict=Verdict.HOLDS, recorded="2026-01-01T00:00:00Z", **figures):
    made = evidence.record("scaling", subject, Judged(conclusion=verdict, reason="because"), {"text": "at least 1x"}, figures)
    return made | {"recorded": recorded}


def written(path, records, **run):
    return evidence_files.write(path, records, evidence_files.EvidenceRun(path.parent, **run), UNITS)


def test_what_is_written_is_what_is_read_with_the_run_it_is_of(tmp_path):
    records = [entry(speedup=1.5), entry("u", Verdict.INCONCLUSIVE, speedup=None)]
    written(tmp_path / "e.json", records)
    found = evidence_files.read(tmp_path / "e.json")
    assert [{name: value for name, value in record.items() if name != "run"} for record in found] == records
    assert all(set(record["run"]) == RUN for record in found)


def test_what_json_cannot_hold_becomes_a_name_or_nothing():
    made = evidence.record("fuzz", "t", None, {"of": len}, {"n": math.inf, "kind": Verdict.HOLDS}, parameters={"setup": time.sleep})
    assert (made["claim"], made["figures"], made["parameters"]) == (
        {"of": "len"},
        {"n": None, "kind": "holds"},
        {"setup": "sleep"},
    )
    assert made["verdict"] is None


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "e.json"
    written(path, [entry()])
    before = path.read_text()
    with pytest.raises(ValueError, match="JSON"):
        written(path, [entry() | {"load": math.nan}])
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_commit_of_the_code_is_in_the_file_and_that_it_was_changed(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@e"]
    (tmp_path / "code.py").write_text("1")
    for arguments in (["init", "-q"], ["add", "code.py"], ["commit", "-qm", "m"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    written(tmp_path / "a.json", [entry()])
    (tmp_path / "code.py").write_text("2")
    written(tmp_path / "b.json", [entry()])
    found = [evidence_files.read(tmp_path / name)[0]["run"] for name in ("a.json", "b.json")]
    assert [(run["commit"], run["dirty"]) for run in found] == [(head, False), (head, True)]


def test_a_later_run_replaces_the_file_of_an_earlier_one(tmp_path):
    path = tmp_path / "e.json"
    written(path, [entry("old")])
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert written(path, [entry("new")]) == path
    assert [record["subject"] for record in evidence_files.read(path)] == ["new"]


def test_of_two_runs_at_the_same_time_both_are_kept(tmp_path):
    path, count = tmp_path / "e.json", 8
    runs = [evidence_files.EvidenceRun(tmp_path) for _ in range(count)]
    threads = [
        threading.Thread(target=evidence_files.write, args=(path, [entry(f"t{i}")], run, UNITS)) for i, run in enumerate(runs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == count
    assert path in files
    assert {evidence_files.read(file)[0]["subject"] for file in files} == {f"t{i}" for i in range(count)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "not JSON"),
        ('{"schema": 2, "records": [{"che', "cut off"),
        ("[" * 200_000, "not JSON"),
        ("[]", "not an evidence file"),
        (f'{{"schema": {evidence.SCHEMA + 1}, "records": []}}', f"schema {evidence.SCHEMA + 1}, this version reads 1 to"),
        ('{"schema": true, "records": []}', "schema True"),
        ('{"schema": 1}', "not an evidence file"),
        ('{"schema": 2, "records": [7]}', "record 1: a int"),
        ('{"schema": 2, "records": []}', "what became of its run"),
        ('{"schema": 2, "run": null, "records": []}', "what became of its run"),
        ('{"schema": 2, "run": {"id": "1"}, "records": []}', "what became of its run"),
        ("\xff\xfe", "not JSON"),
    ],
)
def test_a_file_that_is_not_evidence_is_refused_by_name_and_reason(tmp_path, text, words):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(evidence_files.BadEvidence, match=rf"other\.json: .*{re.escape(words)}"):
        evidence_files.read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verdict", "green"),
        ("subject", None),
        ("figures", []),
        ("interpreter", {}),
        ("number", "1"),
        ("details", 3),
        ("machine", "x"),
    ],
)
def test_a_record_that_readers_would_stumble_over_is_named(tmp_path, name, value):
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"schema": 2, "run": {}, "records": [entry(), entry() | {name: value}]}))
    with pytest.raises(evidence_files.BadEvidence, match=rf"record 2: its {name}|record 2: its interpreter's"):
        evidence_files.read(path)


def test_numbers_that_are_none_are_read_as_not_measured(tmp_path):
    path = tmp_path / "e.json"
    text = json.dumps({"schema": 2, "run": {"ended": "now"}, "records": [entry()]})
    path.write_text(text.replace('"load": ', '"load": NaN, "was": '))
    assert evidence_files.read(path)[0]["load"] is None


def test_the_first_schema_is_read_and_its_shots_are_details_now(tmp_path):
    python = {"implementation": "CPython", "version": "3.13.0", "build": "gil", "platform": "linux-x86_64"}
    old = {"check": "interrupt", "subject": "t", "verdict": "holds", "reason": "r", "claim": {}, "recorded": "2026-01-01T00:00:00Z"}
    old |= {"figures": {"shots": [{"delivery": 0.1}], "signals": 1}, "interpreter": python}
    (tmp_path / "e.json").write_text(json.dumps({"schema": 1, "records": [old]}))
    [found] = evidence_files.read(tmp_path / "e.json")
    assert found["figures"] == {"signals": 1}
    assert found["details"] == {"shots": [{"delivery": 0.1}]}
    assert (found["number"], found["token"], found["gil"]) == (1, None, {"before": "gil", "after": "gil"})


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path, monkeypatch):
    written(tmp_path / "e.json", [entry()])
    monkeypatch.setattr(evidence_files, "LARGEST", 100)
    with pytest.raises(evidence_files.BadEvidence, match="is not read"):
        evidence_files.read(tmp_path / "e.json")


class Shared:
    value = 0

    def count(self):
        self.value += 1


@pytest.mark.skipif(importlib.util.find_spec("fastjsonschema") is None, reason="fastjsonschema is not installed")
def test_every_kind_of_check_keeps_to_the_written_schema(tmp_path):
    import fastjsonschema

    records = []
    checks = Gilcheck(on_record=records.append)
    checks.scaling(lambda: time.sleep(0.01), threads=2, min_speedup=1.1, budget=2)
    checks.curve(lambda: time.sleep(0.005), threads=[1, 2, 3], budget=0.5)
    checks.interrupt(lambda: time.sleep(30), repeats=1, over=0.1)
    checks.interrupt(lambda: [0].pop(), inject="every-step", invariant=lambda: True)
    checks.latency(lambda: time.sleep(0.01), budget=1)
    broken = {"setup": Shared, "threads": [Shared.count] * 2, "invariant": lambda shared: shared.value == 2}
    assert checks.fuzz(**broken).verdict == "violated"
    checks.linearizable(Shared, examples=3)
    written(tmp_path / "e.json", records)
    document = json.loads((tmp_path / "e.json").read_text())
    schema = json.loads(resources.files("pytest_gilcheck.core").joinpath("evidence.schema.json").read_text())
    valid = fastjsonschema.compile(schema)
    valid(document)
    assert [record["check"] for record in records] == [
        "scaling",
        "curve",
        "interrupt",
        "injection",
        "latency",
        "fuzz",
        "linearizable",
    ]
    assert records[0]["details"]["one_thread"]
    assert {step["switch"][1] for step in records[5]["details"]["lanes"]["steps"] if "switch" in step}
    assert records[5]["token"].startswith("gil1_")
    assert all(record["details"]["text"] for record in records)
    document["records"][0]["verdict"] = "green"
    with pytest.raises(fastjsonschema.JsonSchemaException):
        valid(document)


def test_the_build_before_a_check_and_after_it_are_told_apart():
    made = evidence.record("scaling", "t", None, {}, {}, gil_before="free-threaded")
    assert made["gil"] == {"before": "free-threaded", "after": gilcheck.interpreter.build}


def test_the_machine_does_not_name_its_host():
    import socket

    assert socket.gethostname() not in json.dumps(entry()["machine"])


def test_the_machine_is_described_without_psutil_which_is_slow_to_import():
    program = "import sys; from pytest_gilcheck.core.machine import machine; print(machine()['cores'], 'psutil' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [str(os.cpu_count()), "False"]


def test_only_a_claim_that_holds_passes_assert_holds():
    Judged(conclusion=Verdict.HOLDS, reason="").assert_holds()
    with pytest.raises(ClaimViolated):
        Judged(conclusion=Verdict.VIOLATED, reason="").assert_holds()
    with pytest.raises(Inconclusive):
        Judged(conclusion=Verdict.INCONCLUSIVE, reason="").assert_holds()


def test_only_a_violated_claim_passes_assert_violated():
    Judged(conclusion=Verdict.VIOLATED, reason="").assert_violated()
    with pytest.raises(ClaimViolated):
        Judged(conclusion=Verdict.HOLDS, reason="").assert_violated()
    with pytest.raises(Inconclusive):
        Judged(conclusion=Verdict.INCONCLUSIVE, reason="").assert_violated()


def test_a_file_that_cannot_be_put_in_place_leaves_no_litter(tmp_path, monkeypatch):
    def refused(draft, path):
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(PermissionError):
        written(tmp_path / "e.json", [entry()])
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.skipif(os.name != "posix", reason="no such permissions here")
def test_others_may_read_the_file_as_far_as_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        written(tmp_path / "e.json", [entry()])
    finally:
        os.umask(before)
    assert (tmp_path / "e.json").stat().st_mode & 0o777 == 0o640
