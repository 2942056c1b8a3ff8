"""The scripts of .ci say what they could not run: a stage, an interpreter, a test on another system."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
HERE = f"{sys.version_info.major}.{sys.version_info.minor}" + ("t" if FREE_THREADED else "")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@pytest.fixture
def scripts(tmp_path):
    """Run a script of a copy of .ci, in a folder with nothing beside it: ``scripts(name, *arguments, **environment)``."""
    shutil.copytree(ROOT / ".ci", tmp_path / "clone" / ".ci")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CI_") and name != "FREE_THREADED_PYTHON"}

    def run(name, *arguments, **environment):
        return subprocess.run(
            [tmp_path / "clone" / ".ci" / name, *arguments], env=inherited | environment, capture_output=True, text=True
        )

    run.folder = tmp_path / "clone"
    return run


@pytest.fixture
def bin_with_this_python(tmp_path):
    """A folder for PATH with this interpreter under its usual name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / f"python{HERE}"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return program


def test_an_interpreter_on_the_path_is_found(scripts, bin_with_this_python):
    found = scripts("find-python", "2.6", HERE, PATH=f"{bin_with_this_python.parent}:{os.environ['PATH']}")
    assert found.stdout.split() == [str(bin_with_this_python)], found.stderr


def test_where_there_is_none_nothing_is_printed(scripts):
    found = scripts("find-python", "2.6", "3.99t")
    assert (found.returncode, found.stdout, found.stderr) == (1, "", "no Python 2.6 3.99t on this machine\n")


def test_the_variable_names_a_free_threaded_interpreter_or_is_refused(scripts):
    found = scripts("find-python", "3.13t", FREE_THREADED_PYTHON=sys.executable)
    if FREE_THREADED:
        assert found.stdout.strip() == sys.executable
    else:
        assert found.returncode == 2
        assert found.stderr == f"FREE_THREADED_PYTHON={sys.executable} is no free-threaded Python that can make environments\n"


def test_a_stage_that_does_not_exist_is_refused_with_those_that_do(scripts):
    refused = scripts("run", CI_STAGES="lint lnt")
    assert refused.returncode == 2
    assert "no stage is called lnt" in refused.stderr
    assert "documentation" in refused.stderr


@pytest.fixture
def without_interpreters(scripts):
    """A folder whose ``.ci/run`` finds no interpreter, and has an example that needs none."""
    (scripts.folder / ".ci" / "find-python").write_text('#!/bin/sh\necho "no Python $1 here" >&2\nexit 1\n')
    (scripts.folder / "README.md").write_text("<!-- examples command -->\n```\npython3 -c 'print(1 + 1)'\n")
    subprocess.run(["git", "init", "-q", scripts.folder], check=True)
    return scripts


@pytest.mark.parametrize(("complete", "status"), [("", 0), ("1", 1)])
def test_a_stage_without_its_interpreter_is_named_and_fails_a_complete_run(without_interpreters, complete, status):
    run = without_interpreters("run", CI_STAGES="gil-on examples", CI_COMPLETE=complete, SLOW_SHARE="1/1")
    assert "out          gil-on: no Python 3.13t" in run.stdout
    assert "\n2\n" in run.stdout  # the example ran
    assert run.returncode == status


def test_a_run_of_which_nothing_could_be_run_fails(without_interpreters):
    run = without_interpreters("run", CI_STAGES="gil-on", SLOW_SHARE="1/1")
    assert "no stage could be run here" in run.stdout
    assert run.returncode == 1


REPORT = """<testsuites><testsuite>
<testcase classname="tests.fuzz.test_check" name="a"/>
<testcase classname="tests.fuzz.test_check" name="b"><failure message="no"/></testcase>
<testcase classname="tests.interrupt.test_check" name="c"><skipped message="there is no | fork"/></testcase>
<testcase classname="tests.interrupt.test_check" name="d"><skipped message="there is no | fork"/></testcase>
</testsuite></testsuites>"""


def summary(tmp_path, report, *expected):
    (tmp_path / "report.xml").write_text(report)
    (tmp_path / "expected").write_text("\n".join(expected))
    command = [sys.executable, ROOT / ".ci" / "summary.py", tmp_path / "report.xml", "--expect", tmp_path / "expected"]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_the_summary_of_a_job_counts_tests_and_says_why_some_were_skipped(tmp_path):
    shown = summary(tmp_path, REPORT, "tests/fuzz/test_check.py", "tests/interrupt/test_check.py::test_c")
    assert "| tests/fuzz | 1 | 1 | 0 |" in shown.stdout
    assert "| tests/interrupt | 0 | 0 | 2 |" in shown.stdout
    assert "| 2 | there is no \\| fork |" in shown.stdout
    assert "**Not tested here: tests/interrupt.**" in shown.stdout
    assert shown.stderr == "::warning::no test of tests/interrupt passed on this system\n"
    assert shown.returncode == 0


def test_a_job_in_which_every_part_was_tested_has_no_warning_and_one_without_a_test_fails(tmp_path):
    assert summary(tmp_path, REPORT, "tests/fuzz/test_check.py").stderr == ""
    assert summary(tmp_path, "<testsuites/>").returncode == 1
