"""A run can select the tests that use a check, and can run tests without their checks."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_gilcheck
from pytest_gilcheck import plugin
from tests.slow import one_in

SOURCE = """
    import pytest
    calls = []

    @pytest.fixture
    def wrapped(gilcheck): return gilcheck

    @pytest.mark.gil_fuzz
    def test_marked(): calls.append("marked")

    def test_of_the_fixture(gilcheck):
        result = gilcheck.fuzz(threads=[lambda: calls.append("call")] * 2)
        result.assert_holds()

    def test_of_a_fixture_of_the_fixture(wrapped): pass

    def test_of_neither(): pass
"""


@pytest.fixture
def names(run):
    """Run pytest and return the names of the tests that ran."""

    def names(*options):
        result = run(SOURCE, "-v", *options)
        assert result.ret == 0
        return sorted(line.split("::")[1].split(" ")[0] for line in result.outlines if "::" in line and "PASSED" in line)

    return names


CHECKED = ["test_marked", "test_of_a_fixture_of_the_fixture", "test_of_the_fixture"]


@pytest.mark.slow
@pytest.mark.parametrize("options", one_in(2, [["-m", "gilcheck"], ["--gilcheck-only"]]))
def test_tests_that_use_a_check_are_selected_also_by_the_fixture(names, options):
    assert names(*options) == CHECKED


@pytest.mark.parametrize("options", [["-m", "not gilcheck"], ["--gilcheck-skip"]])
def test_the_tests_that_use_no_check_are_selected(names, options):
    assert names(*options) == ["test_of_neither"]


@pytest.mark.slow
def test_a_skipped_test_names_the_option(run):
    run(SOURCE, "--gilcheck-skip", "-rs").stdout.fnmatch_lines(["SKIPPED*--gilcheck-skip: it uses a check"])


@pytest.mark.slow
def test_tests_without_a_check_are_deselected_by_only(run):
    run(SOURCE, "--gilcheck-only").assert_outcomes(passed=3, deselected=1)


@pytest.mark.parametrize("part", ["gilcheck-session", "gilcheck-summary"])
def test_a_part_of_the_plugin_cannot_be_blocked_without_the_rest(run, part):
    result = run(SOURCE, "-p", f"no:{part}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: gilcheck: -p no:{part} takes away a part of pytest-gilcheck, *--gilcheck-skip*"])
    assert "Traceback" not in result.stderr.str()


def test_each_part_of_the_plugin_is_known_by_its_name():
    source = "".join(path.read_text() for path in Path(plugin.__file__).parent.rglob("*.py"))
    assert set(re.findall(r'\.register\([^\n]*"(gilcheck-[a-z-]+)"\)', source)) == plugin.PARTS


def test_two_selections_at_once_are_a_usage_error(run):
    result = run(SOURCE, "--gilcheck-only", "--gilcheck-skip")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: gilcheck: only=*expected no --gilcheck-skip beside it"])


DISABLED = """
    import pytest
    calls = []

    @pytest.mark.gil_interrupt
    @pytest.mark.gil_fuzz(threads=3)
    @pytest.mark.gil_scaling(min_speedup=1.9)
    def test_marked(): calls.append("marked")

    def test_fails_plainly(): assert calls == ["marked"], calls

    def test_of_the_fixture(gilcheck):
        gilcheck.scaling(lambda: calls.append("call"), min_speedup=1.9, judge=False)
        assert calls.count("call") == 1

    def test_that_judges(gilcheck):
        gilcheck.fuzz(threads=[lambda: calls.append("fuzz")] * 2).assert_holds()

    @pytest.mark.gil_scaling
    def test_broken(): assert False
"""


@pytest.mark.slow
def test_disabled_checks_run_the_body_once_and_are_recorded_as_inconclusive(run, pytester):
    result = run(DISABLED, "--gilcheck-disable", "--gilcheck-json=e.json", "-rs")
    result.assert_outcomes(passed=3, skipped=1, failed=1)
    result.stdout.fnmatch_lines(["SKIPPED*inconclusive: not run: --gilcheck-disable"])
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    checks = sorted((record["subject"].partition("::")[2], record["check"]) for record in records)
    assert checks == [
        ("test_broken", "scaling"),
        ("test_marked", "fuzz"),
        ("test_marked", "interrupt"),
        ("test_marked", "scaling"),
        ("test_of_the_fixture", "scaling"),
        ("test_that_judges", "fuzz"),
    ]
    assert {record["verdict"] for record in records} == {"inconclusive"}
    assert {record["reason"] for record in records} == {"not run: --gilcheck-disable"}


@pytest.mark.slow
def test_without_the_option_the_same_checks_run(run, pytester):
    run(DISABLED, "--gilcheck-json=e.json", "-k", "test_broken").assert_outcomes(failed=1, deselected=4)


@pytest.mark.slow
def test_every_marker_of_a_test_runs_although_an_earlier_one_is_inconclusive(run, pytester):
    source = """
        import pytest
        values = []
        @pytest.mark.gil_fuzz(invariant=lambda: False)
        @pytest.mark.gil_interrupt(inject="every-step", budget=1e-9)
        def test_two(): values.append(1)
    """
    result = run(source, "--gilcheck-json=e.json")
    result.assert_outcomes(failed=1)
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    assert {record["check"]: record["verdict"] for record in records} == {"injection": "inconclusive", "fuzz": "violated"}
    result.stdout.fnmatch_lines(["*violated*", "inconclusive: *"])


@pytest.mark.slow
def test_of_two_inconclusive_markers_the_skip_names_both_reasons(run, pytester):
    source = """
        import pytest
        @pytest.mark.gil_fuzz
        @pytest.mark.gil_interrupt(inject="every-step", budget=1e-9)
        def test_two(): pass
    """
    run(source, "-rs").stdout.fnmatch_lines(["SKIPPED*inconclusive: *; *no visible step*"])


@pytest.mark.slow
def test_of_two_markers_that_both_hold_the_test_passes(run, pytester):
    source = """
        import pytest
        values = []
        @pytest.mark.gil_fuzz
        @pytest.mark.gil_latency(p99=10, budget=1)
        def test_two(): values.append(1)
    """
    run(source, "--gilcheck-json=e.json").assert_outcomes(passed=1)
    assert len(json.loads((pytester.path / "e.json").read_text())["records"]) == 2


@pytest.mark.slow
def test_the_hooks_get_results_and_records_and_add_a_section(run, pytester):
    pytester.makeconftest(
        """
        def pytest_gilcheck_result(item, result): print("RESULT", item.name, result.verdict)
        def pytest_gilcheck_record(config, record): record["details"]["seen"] = True
        def pytest_gilcheck_section(config, records):
            return "our section", f"{len(records)} records, all seen: {all(r['details']['seen'] for r in records)}"
        """
    )
    source = """
        import pytest
        values = []
        @pytest.mark.gil_fuzz
        def test_it(): values.append(1)
    """
    result = run(source, "-rA", "--gilcheck-json=e.json")
    result.stdout.fnmatch_lines(["*RESULT test_it holds*", "*our section*", "1 records, all seen: True"])
    assert json.loads((pytester.path / "e.json").read_text())["records"][0]["details"]["seen"]


@pytest.mark.parametrize("command", [[sys.executable, "-m", "pytest_gilcheck"]])
def test_the_package_can_be_run_as_a_command(command):
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert shown == f"pytest-gilcheck {pytest_gilcheck.__version__}\n"
