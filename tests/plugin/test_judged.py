"""The test must judge the result of a call: a violated result that is not judged fails the test."""

import json
import os
import sys

import pytest

STRICTLY = "undecided or and_not_judged or holds_and_skipped"  # to run all tests again strictly would tell no more
pytestmark = pytest.mark.xdist_group("judged")  # one worker makes the fixture

CHECKS = """
def add(values): values.append(1)
VIOLATED = dict(threads=[add, add], setup=list, invariant=lambda values: False, schedules=5)
HOLDS = dict(threads=[add, add], setup=list, schedules=5)
UNDECIDED = dict(threads=[add, add], setup=list, schedules=10_000, budget=0.000001)
"""

CALLS = """
    import concurrent.futures, contextlib, multiprocessing, os, pprint, pytest, threading

    def test_violated_and_not_judged(gilcheck):
        gilcheck.fuzz(**VIOLATED)

    def test_violated_and_printed(gilcheck):
        print(gilcheck.fuzz(**VIOLATED))

    def test_violated_and_asserted_so(gilcheck):
        gilcheck.fuzz(**VIOLATED).assert_violated()

    def test_violated_and_asserted_to_hold(gilcheck):
        gilcheck.fuzz(**VIOLATED).assert_holds()

    def test_violated_and_read(gilcheck):
        assert gilcheck.fuzz(**VIOLATED).verdict == "violated"

    def test_violated_and_not_asked(gilcheck):
        gilcheck.fuzz(**VIOLATED, judge=False)

    def test_undecided_and_not_judged(gilcheck):
        gilcheck.fuzz(**UNDECIDED)

    def test_undecided_and_not_asked(gilcheck):
        gilcheck.fuzz(**UNDECIDED, judge=False)

    def test_holds_and_not_judged(gilcheck):
        gilcheck.fuzz(**HOLDS)

    @pytest.fixture
    def checked(gilcheck):
        return gilcheck.fuzz(**VIOLATED)

    def test_violated_in_a_fixture(checked): pass

    def test_violated_in_a_fixture_and_judged_in_the_test(checked): checked.assert_violated()

    def test_that_fails_anyway(gilcheck):
        gilcheck.fuzz(**VIOLATED)
        raise RuntimeError("of its own")

    @pytest.fixture
    def checked_late(gilcheck):
        yield
        gilcheck.fuzz(**VIOLATED)

    def test_violated_in_a_teardown(checked_late): pass

    def in_thread(function):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    def in_process(function):
        process = multiprocessing.get_context("fork").Process(target=function)
        process.start()
        process.join()

    def test_asserted_in_a_thread_that_loses_it(gilcheck):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.submit(lambda: gilcheck.fuzz(**VIOLATED).assert_holds())

    def test_asserted_in_a_thread_that_tells(gilcheck):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.submit(lambda: gilcheck.fuzz(**HOLDS).assert_holds()).result()

    def test_asserted_and_swallowed(gilcheck):
        with contextlib.suppress(Exception): gilcheck.fuzz(**VIOLATED).assert_holds()

    def test_undecided_and_swallowed(gilcheck):
        with contextlib.suppress(Exception): gilcheck.fuzz(**UNDECIDED).assert_holds()

    def test_asserted_and_read_after_all(gilcheck):
        result = gilcheck.fuzz(**VIOLATED)
        with contextlib.suppress(Exception): result.assert_holds()
        assert result.verdict == "violated"

    def test_shown_by_a_library(gilcheck):
        pprint.pprint(gilcheck.fuzz(**VIOLATED))

    @pytest.mark.filterwarnings("ignore")
    def test_refused_in_a_thread(gilcheck):
        in_thread(lambda: gilcheck.fuzz(threads=[]))

    def test_not_over_at_the_end(gilcheck):
        begun, (inlet, _) = threading.Event(), os.pipe()
        threads = [lambda: (begun.set(), os.read(inlet, 1))] * 2
        threading.Thread(target=lambda: gilcheck.fuzz(threads=threads, timeout=60).assert_holds(), daemon=True).start()
        assert begun.wait(60)

    def test_violated_in_a_forked_process(gilcheck):
        in_process(lambda: gilcheck.fuzz(**VIOLATED).assert_holds())

    def test_violated_and_skipped_afterwards(gilcheck):
        gilcheck.fuzz(**VIOLATED)
        pytest.skip("for another reason")

    def test_undecided_and_skipped_afterwards(gilcheck):
        gilcheck.fuzz(**UNDECIDED)
        pytest.skip("for another reason")

    def test_holds_and_skipped_afterwards(gilcheck):
        gilcheck.fuzz(**HOLDS)
        pytest.skip("for another reason")

    @pytest.fixture
    def skipping(checked): pytest.skip("for another reason")

    def test_violated_in_a_fixture_and_skipped_by_another(skipping): pass

    def test_holds_in_a_forked_process(gilcheck):
        in_process(lambda: gilcheck.fuzz(**HOLDS).assert_holds())
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Run all tests once, and some with --gilcheck-strict; returns the outcomes by test, the output and the records."""
    import subprocess
    import textwrap

    folder = tmp_path_factory.mktemp("judged")
    (folder / "test_calls.py").write_text(CHECKS + textwrap.dedent(CALLS))

    def run(*options):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-rA",
            "-p",
            "no:cacheprovider",
            "-p",
            "gilcheck",
            "--gilcheck-json=e.json",
        ]
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, env=environment)
        found = {}
        for line in done.stdout.splitlines():
            if "::" in line and "%]" in line:
                found.setdefault(line.split("::")[1].split()[0], []).append(line.split()[1])
        assert found, done.stdout + done.stderr
        return found, done.stdout, json.loads((folder / "e.json").read_text())["records"]

    return run(), run("--gilcheck-strict", "-k", STRICTLY)


@pytest.mark.parametrize(
    ("name", "outcome", "strict", "judged"),
    [
        ("test_violated_and_not_judged", ["FAILED"], ["FAILED"], "nobody"),
        ("test_violated_and_printed", ["FAILED"], None, "nobody"),
        ("test_violated_and_asserted_so", ["PASSED"], None, "assert_violated"),
        ("test_violated_and_asserted_to_hold", ["FAILED"], None, "assert_holds"),
        ("test_violated_and_read", ["PASSED"], None, "verdict"),
        ("test_violated_and_not_asked", ["PASSED"], None, "not asked"),
        ("test_undecided_and_not_judged", ["SKIPPED"], ["FAILED"], "nobody"),
        ("test_undecided_and_not_asked", ["PASSED"], ["PASSED"], "not asked"),
        ("test_holds_and_not_judged", ["PASSED"], ["PASSED"], "nobody"),
        ("test_violated_in_a_fixture", ["FAILED"], None, "nobody"),
        ("test_violated_in_a_fixture_and_judged_in_the_test", ["PASSED"], None, "assert_violated"),
        ("test_that_fails_anyway", ["FAILED"], None, "nobody"),
        ("test_violated_in_a_teardown", ["PASSED", "ERROR"], None, "nobody"),
        ("test_asserted_in_a_thread_that_loses_it", ["FAILED"], None, "assert_holds"),
        ("test_asserted_in_a_thread_that_tells", ["PASSED"], None, "assert_holds"),
        ("test_asserted_and_swallowed", ["FAILED"], None, "assert_holds"),
        ("test_undecided_and_swallowed", ["SKIPPED"], ["FAILED"], "assert_holds"),
        ("test_asserted_and_read_after_all", ["PASSED"], None, "verdict"),
        ("test_shown_by_a_library", ["FAILED"], None, "nobody"),
        ("test_refused_in_a_thread", ["FAILED"], None, "nothing to judge"),
        ("test_not_over_at_the_end", ["PASSED", "ERROR"], None, "nothing to judge"),
        ("test_violated_in_a_forked_process", ["FAILED"], None, "nobody"),
        ("test_violated_and_skipped_afterwards", ["FAILED"], None, "nobody"),
        ("test_undecided_and_skipped_afterwards", ["SKIPPED"], ["FAILED"], "nobody"),
        ("test_holds_and_skipped_afterwards", ["SKIPPED"], ["SKIPPED"], "nobody"),
        ("test_violated_in_a_fixture_and_skipped_by_another", ["ERROR"], None, "nobody"),
        ("test_holds_in_a_forked_process", ["PASSED"], None, "nobody"),
    ],
)
def test_a_call_that_is_not_judged_does_not_pass(outcomes, name, outcome, strict, judged):
    (found, text, records), (found_strictly, strict_text, _) = outcomes
    assert found[name] == outcome, text
    assert found_strictly.get(name) == strict, strict_text
    assert [record["judged"] for record in records if record["subject"].endswith(f"::{name}")] == [judged]


def test_the_message_names_the_call_the_finding_and_what_to_do(outcomes):
    (_, text, _), _ = outcomes
    assert "(test_calls.py:10)" in text
    assert "nobody judged this result: use .assert_holds(), or judge=False for a measurement without a claim" in text
    assert "of its own" in text


def test_a_hook_that_reads_the_verdict_judges_nothing(run, pytester):
    pytester.makeconftest("def pytest_gilcheck_result(item, result): print(result.verdict)")
    source = """
        values = []
        def add(): values.append(1)
        def test_it(gilcheck): gilcheck.fuzz(threads=[add, add], invariant=lambda: False)
    """
    run(source).assert_outcomes(failed=1)


@pytest.mark.slow
def test_a_marked_test_that_another_plugin_calls_in_our_place_does_not_pass(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        class CallsFirst:
            @pytest.hookimpl(tryfirst=True)
            def pytest_pyfunc_call(self, pyfuncitem):
                if "taken" in pyfuncitem.name:
                    pyfuncitem.obj()
                    return True
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(session): session.config.pluginmanager.register(CallsFirst())
        """
    )
    source = """
        import pytest
        values = []
        @pytest.mark.gil_fuzz(schedules=5)
        def test_taken(): values.append(1)
        @pytest.mark.gil_fuzz(schedules=5)
        def test_left(): values.append(1)
    """
    for isolation in ("auto", "none"):
        result = run(source, f"--gilcheck-isolate={isolation}")
        result.assert_outcomes(failed=1, passed=1)
        result.stdout.fnmatch_lines(["*another plugin's hook called the test*so its checks did not run*"])


@pytest.mark.slow
def test_a_violation_that_a_hook_turned_into_a_pass_fails_a_comparison(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            try:
                return (yield)
            except BaseException:
                return None
        """
    )
    source = """
        import pytest
        values = []
        @pytest.mark.gil_fuzz(schedules=5, invariant=lambda: False)
        def test_it(): values.append(1)

        def test_known(gilcheck):
            gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5, invariant=lambda: False).assert_violated()
    """
    run(source, "--gilcheck-json=e.json").assert_outcomes(passed=2)
    compared = pytester.run(sys.executable, "-m", "pytest_gilcheck", "compare", "e.json", "--fail-on=violated")
    assert compared.ret == 1
    text = compared.stdout.str()
    assert text.count("violated:") == 1, text
    assert "test_known on" not in " ".join(text.split())
