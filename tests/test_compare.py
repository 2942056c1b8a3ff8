"""``gilcheck compare`` as a user meets it: a process, its output and its exit status."""

import json
import subprocess
import sys
import time

import pytest

from pytest_gilcheck.core import evidence_files

from .report.records import NO_GIL, entry

SECOND = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, *records):
        return evidence_files.write(tmp_path / name, list(records), evidence_files.Run(tmp_path, began=time.time() + 60))

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


def test_a_folder_stands_for_its_files_and_an_empty_one_is_refused(written, tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "none").mkdir()
    written("all/a.json", entry("t::one"))
    written("all/b.json", entry("t::two"))
    assert {"t::one", "t::two"} <= set(compare("all").stdout.split())
    done = compare("none")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("how", ["text", "markdown", "json", "csv", "html"])
def test_every_format_is_printed_or_written_whole(written, tmp_path, how):
    if how == "html":
        pytest.importorskip("jinja2")
    written("a.json", entry("t::one", speedup=0.97))
    printed = compare("a.json", "--format", how)
    assert "t::one" in printed.stdout
    compare("a.json", "--format", how, "--output", "out")
    assert (tmp_path / "out").read_text() == printed.stdout


def test_the_exit_status_says_found_undecided_or_nothing(written):
    written("base.json", entry(one_thread=SECOND))
    written("slow.json", entry(one_thread=[1.5 * s for s in SECOND]))
    written("unclear.json", entry(one_thread=[1.12 * s for s in SECOND]))
    against = ("--baseline", "base.json", "--fail-on", "slower:10%")
    assert compare("slow.json", *against).returncode == 1
    assert compare("unclear.json", *against).returncode == 3
    assert compare("base.json", *against).returncode == 0
    done = compare("slow.json", *against, "--format", "csv")
    assert "slower:10%: test_it.py::test_it on 3.13.0: one call in one thread is 1.50x slower" in done.stderr


def test_a_damaged_file_is_named_and_harms_no_other(written, tmp_path):
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
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(written, arguments, words):
    written("a.json", entry())
    done = compare("a.json", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_hostile_names_reach_no_terminal(written):
    written("a.json", entry("t[\x1b]0;owned\x07\x1b[2J\u202e]", "violated", reason="\x1b[31m"))
    done = compare("a.json", "--fail-on", "violated")
    assert done.returncode == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout + done.stderr)


def test_evidence_of_a_hundred_megabytes_is_read(written, tmp_path):
    written("a.json", entry("t::one", speedup=0.97))
    document = json.loads((tmp_path / "a.json").read_text())
    document["records"][0]["details"]["text"] = "x" * 100_000_000
    (tmp_path / "a.json").write_text(json.dumps(document))
    done = compare("a.json")
    assert done.returncode == 0, done.stderr
    assert "0.97x" in done.stdout


def test_a_hundred_megabytes_of_brackets_are_one_line(written, tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000_000)
    done = compare("a.json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
