"""``gilcheck compare`` as a user runs it: a process, its output and its exit status."""

import json
import os
import shlex
import subprocess
import sys
import time

import pytest

from pytest_gilcheck.checks import UNITS
from pytest_gilcheck.core import evidence_files

from .report.records import NO_GIL, entry
from .slow import one_in

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, *records):
        return evidence_files.write(
            tmp_path / name, list(records), evidence_files.EvidenceRun(tmp_path, began=time.time() + 60), UNITS
        )

    return write


def compare(*arguments):
    return subprocess.run([sys.executable, "-m", "pytest_gilcheck.cli", "compare", *arguments], capture_output=True, text=True)


def test_files_of_two_interpreters_are_one_table(written):
    written("a.json", entry("t::one", "violated", speedup=0.97, one_thread=SECOND))
    written("b.json", entry("t::one", speedup=1.9, one_thread=[1.5 * s for s in SECOND], python=NO_GIL))
    done = compare("a.json", "b.json")
    assert done.returncode == 0, done.stderr
    assert "3.13.0t" in done.stdout
    assert "1.50x slower" in done.stdout
    assert "changes: t::one: violated on 3.13.0; holds on 3.13.0t" in done.stdout.replace("\n  ", " ")


def test_a_folder_means_its_files_and_an_empty_one_is_refused(written, tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "none").mkdir()
    written("all/a.json", entry("t::one"))
    written("all/b.json", entry("t::two"))
    assert {"t::one", "t::two"} <= set(compare("all").stdout.split())
    done = compare("none")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("how", ["text", "markdown", "json", "csv", "html"])
@pytest.mark.slow
def test_every_format_is_printed_or_written_whole(written, tmp_path, how):
    if how == "html":
        pytest.importorskip("jinja2")
    written("a.json", entry("t::one", speedup=0.97))
    printed = compare("a.json", "--format", how)
    assert "t::one" in printed.stdout.replace("<wbr>", "")
    compare("a.json", "--format", how, "--output", "out")
    assert (tmp_path / "out").read_text() == printed.stdout


def test_the_exit_status_says_found_undecided_or_nothing(written):
    written("base.json", entry(one_thread=SECOND))
    written("slow.json", entry(one_thread=[1.5 * s for s in SECOND]))
    written("unclear.json", entry(one_thread=[1.12 * s for s in SECOND]))
    against = ("--baseline", "base.json", "--fail-on", "slower:10%")
    assert compare("slow.json", *against).returncode == 1
    assert compare("unclear.json", *against).returncode == 3
    written("same.json", entry(one_thread=SECOND))
    assert compare("same.json", *against).returncode == 0
    done = compare("slow.json", *against, "--format", "csv")
    assert "slower:10%: test_it.py::test_it on 3.13.0: one call in one thread is 1.50x slower" in done.stderr


def test_conditions_add_up(written):
    written("a.json", entry(verdict="violated"))
    assert compare("a.json", "--fail-on", "violated", "--fail-on", "inconclusive").returncode == 1
    assert compare("a.json", "--fail-on", "inconclusive").returncode == 0


def test_no_evidence_is_no_pass(written):
    written("none.json")
    written("base.json", entry())
    done = compare("none.json", "--fail-on", "violated")
    assert (done.returncode, "no check with a verdict" in " ".join(done.stdout.split())) == (3, True)
    done = compare("none.json", "--baseline", "base.json", "--fail-on", "missing")
    assert (done.returncode, "did not run" in done.stdout) == (1, True)


def test_what_did_not_run_meets_no_requirement(written):
    written("a.json", entry("t::one", "inconclusive", reason="not run: --gilcheck-disable"))
    for option in ("--require-interpreter=3.13", "--require-checks=1"):
        done = compare("a.json", option)
        assert done.returncode == 1
        assert "t::one (not run: --gilcheck-disable)" in " ".join(done.stdout.split())
    written("a.json", entry("t::one", "violated"))
    assert compare("a.json", "--require-interpreter=3.13", "--require-checks=1").returncode == 0


def test_folders_are_read_to_the_bottom_without_the_baseline_that_lies_in_them(written, tmp_path):
    (tmp_path / "all/deep").mkdir(parents=True)
    written("all/base.json", entry("t::one"), entry("t::gone"))
    written("all/deep/now.JSON", entry("t::one"))
    os.mkfifo(tmp_path / "all/pipe.json")  # which nobody writes
    done = compare("all", "--baseline", "all/base.json", "--fail-on", "missing")
    assert (done.returncode, "missing: t::gone" in done.stdout) == (1, True)


def test_the_reference_is_the_same_in_every_format(written):
    pytest.importorskip("jinja2")
    written("a.json", entry(one_thread=SECOND))
    written("b.json", entry(one_thread=[2 * s for s in SECOND], python=NO_GIL))
    for how in ("text", "markdown", "html"):
        assert "2.00x faster" in compare("a.json", "b.json", "--reference", "3.13.0t", "--format", how).stdout, how


@pytest.mark.parametrize("to", one_in(3, ["| head -c1", ">&-", "> /dev/full"]))
def test_output_that_cannot_be_written_is_no_traceback(written, to):
    written("a.json", *[entry(f"t::{n}", "violated") for n in range(1000)])  # more than a pipe holds
    command = f"set -o pipefail; {shlex.quote(sys.executable)} -m pytest_gilcheck.cli compare a.json --fail-on violated {to}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if "full" in to else 1)


STRANGE = {
    "verdict of a list": {"verdict": ["holds"]},
    "build of a list": {"interpreter": {"free_threaded_build": []}},
    "huge figure": {"figures": {"speedup": 10**400, "low": 10**400}},
    "huge time": {"details": {"one_thread": [10**400] * 8}},
    "tiny time": {"details": {"one_thread": [5e-324] * 8}},
}


@pytest.mark.parametrize("what", one_in(3, STRANGE))
def test_a_record_that_no_check_writes_is_a_line_or_a_gap_and_no_traceback(written, tmp_path, what):
    written("good.json", entry("t::one", one_thread=SECOND))
    made = entry("t::one", one_thread=SECOND)
    for name, value in STRANGE[what].items():
        made[name] = made[name] | value if isinstance(value, dict) else value
    document = json.loads((tmp_path / "good.json").read_text()) | {"records": [made]}
    (tmp_path / "bad.json").write_text(json.dumps(document))
    for how in ("text", "json", "csv", "markdown"):
        done = compare("good.json", "bad.json", "--format", how)
        assert "t::one" in done.stdout
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == (done.returncode == 2)


def test_a_verdict_that_is_missing_or_given_twice_is_damage(written, tmp_path):
    written("a.json", entry(verdict="violated"))
    text = (tmp_path / "a.json").read_text()
    for spoilt in (
        text.replace('"verdict": "violated"', '"verdict": "violated", "verdict": "holds"'),
        text.replace('"verdict": "violated",', ""),
    ):
        (tmp_path / "b.json").write_text(spoilt)
        done = compare("b.json")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "verdict" in done.stderr


def test_a_file_that_is_read_is_never_overwritten(written, tmp_path):
    written("a.json", entry())
    before = (tmp_path / "a.json").read_bytes()
    assert compare("a.json", "--output", "./a.json").returncode == 2
    assert (tmp_path / "a.json").read_bytes() == before


def test_a_damaged_file_is_named_and_the_others_are_compared(written, tmp_path):
    written("a.json", entry("t::one", speedup=0.97))
    (tmp_path / "bad.json").write_text('{"schema": 2, "rec')
    (tmp_path / "newer.json").write_text('{"schema": 3, "records": []}')
    done = compare("bad.json", "a.json", "newer.json", "none.json")
    assert done.returncode == 2
    assert "t::one" in done.stdout
    assert [line.partition(":")[2].partition(":")[0].strip() for line in done.stderr.splitlines()] == [
        "bad.json",
        "newer.json",
        "none.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "pdf"], "format='pdf' (from command line --format): expected one of text"),
        (["--fail-on", "slow"], "fail-on='slow'"),
        (["--fail-on", "slower:5%"], "expected --baseline beside it"),
        (["--reference", "9.9"], "reference='9.9' (from command line --reference): expected one of 3.13.0"),
        (["--output", "no/folder/x"], "output='no/folder/x'"),
        (["--output", "x" * 300], "output='xxx"),
        (["--baseline", "", "--fail-on", "regressed"], "--baseline='' (from command line): expected a file or a folder"),
        (["--baseline", "a.json", "--fail-on", "regressed"], "expected a file that is not compared with itself"),
        (["--baseline", "a.json"], "expected --fail-on beside it"),
        ([""], "FILE=''"),
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(written, arguments, words):
    written("a.json", entry())
    done = compare("a.json", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_link_to_itself_is_no_traceback(written):
    written("a.json", entry())
    os.symlink("loop", "loop")
    done = compare("a.json", "--output", "loop")  # from 3.13 on a link like any other, and replaced
    assert done.returncode in (0, 2)
    assert len(done.stderr.splitlines()) == done.returncode // 2
    assert compare("loop.json", "a.json").returncode == 2


def test_hostile_names_reach_no_terminal(written):
    written("a.json", entry("t[\x1b]0;owned\x07\x1b[2J\u202e]", "violated", reason="\x1b[31m"))
    done = compare("a.json", "--fail-on", "violated")
    assert done.returncode == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout + done.stderr)


@pytest.mark.slow
def test_evidence_of_a_hundred_megabytes_is_read(written, tmp_path):
    written("a.json", entry("t::one", speedup=0.97))
    document = json.loads((tmp_path / "a.json").read_text())
    document["records"][0]["details"]["text"] = "x" * 100_000_000
    (tmp_path / "a.json").write_text(json.dumps(document))
    done = compare("a.json")
    assert done.returncode == 0, done.stderr
    assert "0.97x" in done.stdout


@pytest.mark.slow
def test_a_hundred_megabytes_of_brackets_are_one_line(written, tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000_000)
    done = compare("a.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_an_interpreter_without_a_name_and_a_reference_without_records_are_bad_usage_that_says_so(written):
    written("empty.json")
    written("a.json", entry("t::one"))
    for arguments, message in (
        (("a.json", "--require-interpreter="), "require-interpreter='' (from command line --require-interpreter): expected an"),
        (
            ("empty.json", "--reference=3.13"),
            "reference='3.13' (from command line --reference): expected an interpreter on record, and",
        ),
        (("a.json", "--reference=2.7"), "reference='2.7' (from command line --reference): expected one of 3.13"),
    ):
        done = compare(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr
    assert compare("a.json", "--require-interpreter=3.13").returncode == 0
