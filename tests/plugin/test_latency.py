"""The marker ``gil_latency`` in real pytest runs."""

import json

import pytest

from pytest_gilcheck.core.interpreter import FREE_THREADED, build

WAITS = """
    import time, pytest

    @pytest.mark.gil_latency(p99=1.0)
    def test_waits():
        time.sleep(0.01)
"""
HOLDS_ON = """
    import pytest

    @pytest.mark.gil_latency(p99=0.03, budget=10)
    def test_holds_on():
        sum(range(12_000_000))
"""
LIBRARY = """
    import time

    def test_calls(gilcheck):
        result = gilcheck.latency(lambda: time.sleep(0.01), p99=1.0)
        result.assert_holds()
        assert result.heartbeat.beside.n > 300
"""


@pytest.mark.parametrize("source", [WAITS, pytest.param(LIBRARY, marks=pytest.mark.slow)], ids=["marker", "call"])
def test_a_workload_that_releases_the_gil_passes_and_the_summary_has_the_delay(run, source):
    result = run(source, "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= gilcheck: 1 holds*=*", "holds *latency * ms  *::test_*", "  heartbeat p99 *"])


@pytest.mark.exclusive
@pytest.mark.skipif(build() == FREE_THREADED, reason="there is no GIL to hold")
def test_a_workload_that_holds_the_gil_fails_with_the_call_and_its_line(run, pytester):
    result = run(HOLDS_ON, "--gilcheck-json=evidence.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*violated: heartbeat p99 * held by sum(range(12_000_000)) at *.py:5 (test_holds_on)*"])
    [record] = json.loads((pytester.path / "evidence.json").read_text())["records"]
    assert record["check"] == "latency"
    assert record["figures"]["heartbeat_beside_p99"] > 0.03
    assert record["claim"]["p99"] == 0.03


@pytest.mark.skipif(build() != FREE_THREADED, reason="with a GIL it is kept")
def test_the_same_workload_passes_without_a_gil(run):
    assert "failed" not in run(HOLDS_ON).parseoutcomes()


@pytest.mark.slow
def test_what_the_body_raises_is_the_tests_failure_and_a_crash_fails_its_test_only(run):
    result = run(
        """
        import ctypes, pytest
        pytestmark = pytest.mark.gil_latency

        def test_fails():
            assert [1] == [2]

        def test_crashes():
            ctypes.string_at(0)

        def test_skips():
            pytest.skip("not today")
        """
    )
    result.assert_outcomes(failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*assert [[]1[]] == [[]2[]]*", "*SIGSEGV*", "SKIPPED * not today"])
