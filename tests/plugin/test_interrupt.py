"""The marker ``gil_interrupt`` in real pytest runs."""

import pytest

from tests.slow import one_in

DEAF = """
    import pytest

    @pytest.mark.gil_interrupt(repeats=2, over=0.1)
    def test_deaf():
        sum(range(10**9))
"""


@pytest.mark.slow
def test_a_test_that_sees_ctrl_c_passes_and_the_summary_says_how_fast(run):
    result = run(
        """
        import time, pytest

        @pytest.fixture
        def seconds(tmp_path):
            yield 60

        @pytest.mark.gil_interrupt(repeats=2, over=0.1)
        def test_sleeps(seconds):
            time.sleep(seconds)
        """,
        "-v",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= gilcheck: 1 holds*=*",
            "holds *interrupt * ms  *::test_sleeps",
            "  2 trials of SIGINT in its first * s: handled within * ms*",
        ]
    )


@pytest.mark.slow
def test_a_deaf_test_fails_with_the_blocking_call_and_its_stack(run):
    result = run(DEAF)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_deaf: violated: deaf: SIGINT was not * for * s*sum(range(10 ?? 9)) at *.py:5 (test_deaf)*",
            "  stacks at that *:",
            "*line 5 in test_deaf",
        ]
    )


@pytest.mark.slow
def test_the_other_tests_run_after_a_test_that_crashes_exits_or_swallows(run):
    result = run(
        """
        import ctypes, os, time, pytest
        pytestmark = pytest.mark.gil_interrupt(repeats=1, over=0.05, exits_within=0.3)

        def test_crashes():
            ctypes.string_at(0)

        def test_exits():
            os._exit(3)

        def test_swallows():
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    continue

        def test_is_fine():
            time.sleep(60)
        """
    )
    result.assert_outcomes(passed=1, skipped=1, failed=2)
    result.stdout.fnmatch_lines(["*crashed: *SIGSEGV*", "*swallowed: *except BaseException:*", "SKIPPED *exited with status 3*"])


@pytest.mark.slow
def test_assertions_skips_and_failures_of_the_test_keep_their_outcome(run):
    result = run(
        """
        import pytest
        pytestmark = pytest.mark.gil_interrupt

        def test_asserts():
            assert [1, 2] == [1, 3]

        def test_skips():
            pytest.skip("not today")

        def test_fails():
            pytest.fail("on purpose")

        @pytest.mark.xfail(raises=LookupError, strict=True)
        def test_known():
            raise LookupError
        """
    )
    result.assert_outcomes(failed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        ["*assert [[]1, 2[]] == [[]1, 3[]]*", "*test_asserts*", "*Failed: on purpose", "SKIPPED * not today"]
    )


@pytest.mark.slow
def test_a_coroutine_test_runs_in_a_new_event_loop(run):
    result = run(
        """
        import asyncio, pytest

        @pytest.mark.gil_interrupt(repeats=2, over=0.1)
        async def test_sleeps():
            await asyncio.sleep(60)
        """
    )
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_every_step_with_an_invariant_over_the_tests_own_fixtures(run):
    result = run(
        """
        import pytest

        class Account:
            left, right = 100, 0

        def audit():
            pass

        @pytest.fixture
        def account():
            return Account()

        def whole(account):
            return account.left + account.right == 100

        @pytest.mark.gil_interrupt(inject="every-step", invariant=whole)
        def test_unsafe(account):
            account.left -= 10
            audit()
            account.right += 10

        @pytest.mark.gil_interrupt(inject="every-step", invariant=whole)
        def test_safe(account):
            audit()
            account.left, account.right = 90, 10

        @pytest.mark.gil_interrupt(inject="every-step", invariant=lambda nothing: True)
        def test_of_no_such_fixture(account):
            pass
        """
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*not safe to interrupt: KeyboardInterrupt at step *, `*` at *: "
            "account.left + account.right == 100 is False (account.left = *",
            "*fixtures of the test; 'nothing' is not*",
        ]
    )


def test_a_lock_of_a_fixture_that_stays_held_is_called_as_the_test_calls_it(run):
    result = run(
        """
        import threading, pytest

        class Account:
            def __init__(self):
                self.lock = threading.Lock()

        @pytest.fixture
        def account():
            return Account()

        def work():
            pass

        @pytest.mark.gil_interrupt(inject="every-step")
        def test_unsafe(account):
            account.lock.acquire()
            work()
            account.lock.release()
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not safe to interrupt: *: lock account.lock held*"])


def test_a_bad_seed_stops_the_run(run):
    result = run(DEAF, "--gilcheck-seed=x")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*seed='x' (from command line --gilcheck-seed): expected a whole number, at least 0, at most *"])


def test_a_fixture_that_cannot_exist_in_a_child_is_named(run):
    result = run(
        """
        import threading, time, pytest

        @pytest.fixture
        def server():
            stop = threading.Event()
            thread = threading.Thread(target=stop.wait, name="serving")
            thread.start()
            yield
            stop.set()
            thread.join()

        @pytest.mark.gil_interrupt
        def test_with_a_server(server):
            time.sleep(60)
        """
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *inconclusive: *a fork would lose: serving (started by fixture 'server')*"])
    result.stdout.fnmatch_lines(["*, and the body of a test cannot be imported by a new interpreter*"])
    result.stdout.no_fnmatch_line("*<locals>*")


def test_too_short_is_a_skip_with_its_reason(run):
    result = run("import pytest\n@pytest.mark.gil_interrupt\ndef test_nothing(): pass")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *inconclusive: the workload is too short*"])


OPTIONS = [("-n", "2"), ("-p", "no:faulthandler"), ("-s",), ("--gilcheck-isolate=none",)]


@pytest.mark.parametrize("options", one_in(len(OPTIONS), OPTIONS))
def test_it_works_under(run, options):
    result = run(DEAF + "\n    def test_other(): pass", *options)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*sum(range(10 ?? 9)) at *"])


@pytest.mark.slow
@pytest.mark.exclusive
def test_two_markers_are_two_checks(run):
    result = run(
        """
        import time, pytest

        @pytest.mark.gil_interrupt(repeats=1, over=0.01)
        @pytest.mark.gil_scaling(threads=2, min_speedup=1.2, budget=10)
        def test_both():
            time.sleep(0.05)
        """
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= gilcheck: 2 holds*=*"])


@pytest.mark.slow
def test_evidence_and_junit_have_the_figures(run, pytester):
    import json

    run(DEAF, "--gilcheck-json=evidence.json", "--junitxml=junit.xml")
    [record] = json.loads((pytester.path / "evidence.json").read_text())["records"]
    assert (record["check"], record["verdict"], record["figures"]["signal_outcome"]) == ("interrupt", "violated", "deaf")
    assert record["claim"]["signals"] == ["SIGINT"]
    assert "sum(range" in record["figures"]["culprit"]
    assert 'name="gilcheck.signal_outcome" value="deaf"' in (pytester.path / "junit.xml").read_text()


@pytest.mark.slow
def test_the_call_inside_a_test_has_the_same_verdicts(run):
    result = run(
        """
        import time

        def test_calls(gilcheck):
            gilcheck.interrupt(lambda: time.sleep(60), repeats=2, over=0.1).assert_holds()
            gilcheck.interrupt(lambda: sum(range(10**9)), repeats=2, over=0.1).assert_violated()
        """
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= gilcheck: 1 violated, 1 holds*=*"])
