"""The summary, the evidence file and the other reports of a pytest run."""

import importlib.util
import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from ..slow import one_in

WAITS = """
    import time, pytest
    @pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=10)
    def test_waits(): time.sleep(0.01)
    def test_other(): pass
"""
# these verdicts do not depend on the machine
CERTAIN = """
    import pytest
    @pytest.mark.gil_fuzz(schedules=50)
    def test_reads(request): assert request.node.name
    @pytest.mark.gil_scaling
    def test_nothing(): pass
    def test_other(): pass
"""


@pytest.mark.slow
def test_the_plugin_prints_nothing_in_a_run_without_checks(run):
    result = run("def test_it(): pass", "-v", autoload=True)
    text = result.stdout.str()
    assert "gilcheck:" not in text
    assert "holds" not in text


@pytest.mark.slow
def test_with_quiet_there_is_no_header_and_no_summary(run):
    result = run(CERTAIN, "-q")
    assert "gilcheck: " not in result.stdout.str()
    assert "= gilcheck" not in result.stdout.str()


@pytest.mark.slow
def test_there_is_one_summary_with_every_check(run):
    result = run(CERTAIN)
    result.stdout.fnmatch_lines(
        [
            "*= gilcheck: 1 inconclusive, 1 holds*=*",
            "holds *fuzz * *::test_reads",
            "inconclusive *scaling * - *::test_nothing",
            "  GC901 the workload is too short*",
        ]
    )
    assert result.stdout.str().count("= gilcheck:") == 1


@pytest.mark.exclusive
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_junit_has_the_figures_as_properties_also_under_xdist(run, pytester, workers):
    run(WAITS, "--junitxml=out.xml", f"-n{workers}").assert_outcomes(passed=2)
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "out.xml").iter("testcase")}
    properties = {p.get("name"): p.get("value") for p in cases["test_waits"].iter("property")}
    assert properties["gilcheck.verdict"] == "holds"
    assert properties["gilcheck.cause"] == "scales"
    assert float(properties["gilcheck.speedup"]) > 1.5
    assert not list(cases["test_other"].iter("property"))


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.slow
def test_the_evidence_of_every_check_reaches_one_file_and_one_summary(run, pytester, workers):
    result = run(CERTAIN, "--gilcheck-json=e.json", f"-n{workers}")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*= gilcheck: 1 inconclusive, 1 holds*=*"])
    records = {r["subject"].rpartition("::")[2]: r for r in json.loads((pytester.path / "e.json").read_text())["records"]}
    assert {name: r["verdict"] for name, r in records.items()} == {"test_reads": "holds", "test_nothing": "inconclusive"}
    assert records["test_reads"]["check"] == "fuzz"
    assert records["test_reads"]["figures"]["schedules"] > 0


HOLDS_QUICKLY = """
    import pytest
    @pytest.mark.gil_fuzz(schedules=50)
    def test_reads(request):
        assert request.node.name
    class Counter:
        value = 0
    @pytest.fixture
    def counter():
        return Counter()
    @pytest.mark.gil_fuzz(schedules=50, invariant=lambda counter: counter.value == 2)
    def test_counts(counter):
        counter.value += 1
"""


@pytest.mark.slow
def test_html_and_markdown_are_written_where_they_are_asked_for(run, pytester):
    pytest.importorskip("jinja2")
    result = run(HOLDS_QUICKLY, "--gilcheck-html=r.html", "--gilcheck-markdown=r.md", "--gilcheck-json=r.json")
    result.assert_outcomes(passed=1, failed=1)
    page = (pytester.path / "r.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "test_counts" in page
    assert "✗ **GIL-MASKED**" in (pytester.path / "r.md").read_text()


@pytest.mark.parametrize("name", ["html", "json", "markdown"])
def test_a_report_that_cannot_be_written_is_a_usage_error_before_anything_runs(run, name):
    result = run("def test_it(): pass", f"--gilcheck-{name}=no/such/folder/file")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"*gilcheck: {name}='*no/such/folder/file' (from command line --gilcheck-{name}): expected a file in*"]
    )


@pytest.mark.slow
def test_github_gets_an_annotation_at_the_line_of_the_test_and_a_step_summary(run, pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "step.md"))
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    result = run(HOLDS_QUICKLY)
    result.stdout.fnmatch_lines(["::error file=test_github*.py,line=10,title=gilcheck fuzz%3A violated GC5??::*"])
    assert "| test |" in (pytester.path / "step.md").read_text()
    monkeypatch.setenv("GILCHECK_GITHUB", "false")
    assert "::error" not in run(HOLDS_QUICKLY).stdout.str()


@pytest.mark.slow
def test_two_runs_that_write_one_file_at_the_same_time_lose_nothing(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import os, pathlib, time, pytest
        @pytest.mark.gil_fuzz(schedules=50)
        def test_meets():
            pass
        def test_both_are_running():
            pathlib.Path(f"run-{os.getpid()}").touch()
            until = time.monotonic() + 60
            while len(list(pathlib.Path(".").glob("run-*"))) < 2 and time.monotonic() < until:
                time.sleep(0.01)
        """
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "gilcheck", "--gilcheck-json=e.json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in runs]
    files = sorted(pytester.path.glob("e*.json"))
    assert len(files) == 2
    assert sum(f"ours is in {file.name}" in output for file in files for output in outputs) == 1
    assert all(len(json.loads(file.read_text())["records"]) == 1 for file in files)


UNFINISHED = {
    "raises": "raise RuntimeError('no work today')",
    "crashes": "os.abort()",
    "exits": "os._exit(0)",
    "waits for a fixture that fails": "pass",
}


@pytest.mark.parametrize("what", one_in(2, UNFINISHED))
def test_a_check_whose_test_ended_early_is_recorded_as_inconclusive(run, pytester, what):
    result = run(
        f"""
        import os, pytest
        @pytest.fixture
        def given():
            assert {"fixture" not in what}
        @pytest.mark.gil_scaling(threads=2, min_speedup=1.1)
        def test_marked(given):
            {UNFINISHED[what]}
        def test_calls(given, gilcheck):
            {UNFINISHED[what]}
            gilcheck.scaling(lambda: None)
        def test_other(): pass
        """,
        "--gilcheck-json=e.json",
    )
    assert result.parseoutcomes()["passed"] == 1
    records = {r["subject"].rpartition("::")[2]: r for r in json.loads((pytester.path / "e.json").read_text())["records"]}
    assert {name: (r["check"], r["verdict"], r["outcome"]) for name, r in records.items()} == {
        "test_marked": ("scaling", "inconclusive", "failed"),
        "test_calls": ("test", "inconclusive", "failed"),
    }
    assert "no work today" in records["test_marked"]["reason"] or what != "raises"
    result.stdout.fnmatch_lines(["*= gilcheck: 2 inconclusive*=*"])


def test_a_check_of_a_test_that_fails_as_expected_without_it_is_recorded_as_inconclusive(run, pytester):
    run(
        """
        import pytest
        @pytest.mark.xfail
        @pytest.mark.gil_fuzz(schedules=5)
        def test_known(): assert 0
        """,
        "--gilcheck-json=e.json",
    ).assert_outcomes(xfailed=1)
    (record,) = json.loads((pytester.path / "e.json").read_text())["records"]
    assert (record["check"], record["verdict"], record["outcome"]) == ("fuzz", "inconclusive", "xfailed")


@pytest.mark.slow
def test_a_test_that_skips_itself_leaves_no_record(run, pytester):
    run(
        """
        import pytest
        @pytest.mark.gil_scaling
        def test_skips(): pytest.skip("not here")
        """,
        "--gilcheck-json=e.json",
    ).assert_outcomes(skipped=1)
    assert json.loads((pytester.path / "e.json").read_text())["records"] == []


@pytest.mark.slow
def test_the_recorded_outcome_is_that_of_the_test_and_not_of_the_phase_that_measured(run, pytester):
    run(
        """
        import pytest
        @pytest.fixture
        def measured(gilcheck):
            return gilcheck.scaling(lambda: None, judge=False)
        @pytest.fixture
        def torn():
            yield
            raise RuntimeError
        def test_fails(measured): assert 0
        def test_passes(measured): pass
        def test_is_torn_down(measured, torn): pass
        """,
        "--gilcheck-json=e.json",
    )
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert {r["subject"].rpartition("::")[2]: r["outcome"] for r in records} == {
        "test_fails": "failed",
        "test_passes": "passed",
        "test_is_torn_down": "failed",
    }


@pytest.mark.slow
def test_threads_that_plugins_start_before_the_first_test_do_not_prevent_a_fork(run, pytester):
    pytester.makepyfile(
        pytest_server="""
        import threading, time
        def serve(): time.sleep(3600)
        def pytest_sessionstart(): threading.Thread(target=serve, daemon=True).start()
        """
    )
    pytester.syspathinsert()
    result = run(
        """
        import os, pytest
        @pytest.mark.gil_scaling
        def test_crashes(): os.abort()
        def test_other(): pass
        """,
        "--gilcheck-json=e.json",  # which creates the guard before that thread starts
        "-ppytest_server",
    )
    result.assert_outcomes(failed=1, passed=1)


@pytest.mark.slow
def test_collect_only_keeps_the_old_evidence_file(run, pytester):
    (pytester.path / "e.json").write_text("what was there")
    run("def test_it(gilcheck): pass", "--gilcheck-json=e.json", "--collect-only")
    assert (pytester.path / "e.json").read_text() == "what was there"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--gilcheck-json=same", "--gilcheck-markdown=same"],
            "markdown='*same'*expected a file of its own: json is written to the same file",
        ),
        (["--gilcheck-json=test_victim.py"], "json='*test_victim.py'*expected a file that is no Python source*"),
        ([f"--gilcheck-json={'x' * 300}"], "json='*'*expected a file that can be written*"),
    ],
)
@pytest.mark.slow
def test_a_report_file_that_would_overwrite_something_is_a_usage_error(run, options, message):
    result = run("def test_it(): pass", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*gilcheck: {message}"])


def test_a_path_in_an_ini_file_is_relative_to_its_folder(run, pytester):
    pytester.makeini("[pytest]\ngilcheck_json = e.json")
    pytester.mkdir("below")
    pytester.makepyfile("def test_it(): pass")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", ".."]
    subprocess.run(command, cwd=pytester.path / "below", check=True)
    assert (pytester.path / "e.json").exists()


def test_an_evidence_file_is_written_even_when_no_check_ran(run, pytester):
    run("def test_it(): pass", "--gilcheck-json=e.json")
    assert json.loads((pytester.path / "e.json").read_text())["records"] == []


def test_two_checks_in_one_test_have_separate_properties(run, pytester):
    run(
        """
        def test_two(gilcheck):
            for _ in range(2):
                assert gilcheck.scaling(lambda: None).verdict == "inconclusive"  # too short to time on every machine
        """,
        "--junitxml=out.xml",
    ).assert_outcomes(passed=1)
    names = {p.get("name") for p in ET.parse(pytester.path / "out.xml").iter("property")}
    assert {"gilcheck.verdict", "gilcheck.2.verdict"} <= names


@pytest.mark.slow
def test_timing_checks_of_two_workers_never_overlap(run, pytester):
    result = run(
        """
        import pathlib, time, pytest

        @pytest.mark.parametrize("n", range(4))
        def test_it(gilcheck, n, request):
            laps = []
            def work():
                laps.append(time.monotonic())
                time.sleep(0.01)
            gilcheck.scaling(work, threads=2, min_speedup=1.5, budget=0.5, judge=False)
            pathlib.Path(f"span-{n}").write_text(f"{laps[0]} {laps[-1]}")
        """,
        "-n2",
    )
    result.assert_outcomes(passed=4)
    spans = sorted(tuple(map(float, path.read_text().split())) for path in pytester.path.glob("span-*"))
    assert len(spans) == 4
    assert all(one[1] <= next_[0] for one, next_ in itertools.pairwise(spans))


@pytest.mark.skipif(importlib.util.find_spec("coverage") is None, reason="coverage is not installed")
@pytest.mark.slow
def test_under_coverage_a_check_is_skipped_with_this_reason(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    path = pytester.makepyfile(
        """
        import time, pytest
        @pytest.mark.gil_scaling(threads=2, min_speedup=1.5)
        def test_waits(): time.sleep(0.01)
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-p", "no:cacheprovider", "-p", "gilcheck", "-rs", path],
        capture_output=True,
        text=True,
    )
    assert "1 skipped" in done.stdout
    assert "inconclusive" in done.stdout
    assert "coverage" in done.stdout.partition("inconclusive")[2]
    report = subprocess.run([sys.executable, "-m", "coverage", "report", path], capture_output=True, text=True)
    assert "100%" in report.stdout  # the body ran once, where coverage could see it


def test_a_test_that_is_run_again_has_its_record_under_the_same_number(run, pytester):
    pytester.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runtestprotocol(item, nextitem=nextitem, log=False)
            item._initrequest()
            runtestprotocol(item, nextitem=nextitem)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """
    )
    program = """
        values = []
        def add(): values.append(1)
        def test_it(gilcheck): gilcheck.fuzz(threads=[add, add], schedules=2, judge=False)
    """
    run(program, "--gilcheck-json=again.json", "--gilcheck-isolate=none").assert_outcomes(passed=1)
    records = json.loads((pytester.path / "again.json").read_text())["records"]
    assert [record["number"] for record in records] == [1]


@pytest.mark.slow
def test_a_test_that_replaces_the_standard_library_changes_no_fact_of_the_machine_and_breaks_no_record(run, pytester):
    run(
        """
        import os, platform, pytest
        values = []

        @pytest.fixture
        def broken(monkeypatch):
            def raises(*arguments): raise RuntimeError("replaced by the test")
            for module, name in [(platform, "system"), (platform, "release"), (platform, "processor"), (os, "cpu_count"),
                                 (os, "getloadavg"), (os, "sysconf")]:
                monkeypatch.setattr(module, name, raises)

        def test_broken(gilcheck, broken): gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()
        def test_usual(gilcheck): gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()
        """,
        "--gilcheck-json=e.json",
    ).assert_outcomes(passed=2)
    broken, usual = json.loads((pytester.path / "e.json").read_text())["records"]
    assert broken["machine"] == usual["machine"]
    assert broken["load"] is None
