"""The marker ``gil_scaling`` in every kind of test, with workloads whose verdict does not depend on the load of the machine."""

import importlib.util

import pytest

from tests.slow import one_in

WAITS = """
    import time, pytest

    @pytest.mark.gil_scaling(threads=4, min_speedup=2, budget=10)
    def test_waits():
        time.sleep(0.01)
"""
# waits under one lock: serial on every machine and build
SERIAL = """
    import threading, time, pytest
    LOCK = threading.Lock()

    @pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=10)
    def test_serial():
        with LOCK:
            time.sleep(0.01)
"""


@pytest.mark.exclusive
def test_a_test_that_scales_passes_and_the_summary_has_the_speedup(run):
    result = run(WAITS, "-v", autoload=True)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["gilcheck: CPython *", "*= gilcheck: 1 holds*=*", "holds *scaling * *x  *::test_waits", "  at least *cause: scales: *"]
    )


@pytest.mark.exclusive
def test_a_test_that_does_not_scale_fails_with_the_table_and_the_line_of_its_lock(run):
    result = run(SERIAL)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_serial: violated: at most *x with 2 threads; asked for at least 1.5x",
            "  cause: serialised by the lock 'LOCK' at *.py:6 (test_serial)*",
            "  speedup *x with 2 threads (interval *",
            "  ceiling *",
            "  cores used *",
        ]
    )


def test_an_undecided_test_is_skipped_with_its_reason(run):
    result = run(
        """
        import pytest
        @pytest.mark.gil_scaling
        def test_nothing():
            pass
        """
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * *test_*.py:*: inconclusive: the workload is too short to time*"])


@pytest.mark.parametrize("layer", one_in(3, ["option", "ini", "environment"]))
def test_strict_makes_an_undecided_test_fail(run, pytester, monkeypatch, layer):
    options = ["--gilcheck-strict"] if layer == "option" else []
    if layer == "ini":
        pytester.makeini("[pytest]\ngilcheck_strict = true")
    if layer == "environment":
        monkeypatch.setenv("GILCHECK_STRICT", "1")
    result = run("import pytest\n@pytest.mark.gil_scaling\ndef test_nothing(): pass", *options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*inconclusive, and strict: the workload is too short to time*"])


@pytest.mark.exclusive
def test_methods_parameters_fixtures_and_xunit_setup_work(run):
    result = run(
        """
        import time, pytest

        @pytest.fixture
        def pause(): return 0.01

        @pytest.fixture
        def used(): used.yes = True

        class TestWaits:
            def setup_method(self):
                self.ready = True

            @pytest.mark.usefixtures("used")
            @pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=10)
            @pytest.mark.parametrize("times", [1, 2])
            def test_waits(self, pause, times, tmp_path):
                assert self.ready and tmp_path.is_dir()
                time.sleep(pause * times)
        """
    )
    result.assert_outcomes(passed=2)


@pytest.mark.exclusive
@pytest.mark.slow
def test_a_coroutine_test_without_a_plugin_is_measured_in_new_event_loops(run):
    result = run(
        """
        import asyncio, pytest
        @pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=10)
        async def test_waits():
            await asyncio.sleep(0.01)
        """
    )
    result.assert_outcomes(passed=1)


@pytest.mark.exclusive
@pytest.mark.slow
@pytest.mark.parametrize("plugin", ["pytest_asyncio", "anyio"])
def test_a_coroutine_test_works_where_an_async_plugin_is_installed(run, plugin):
    if importlib.util.find_spec(plugin) is None:
        pytest.skip(f"{plugin} is not installed")
    mark = "asyncio" if plugin == "pytest_asyncio" else "anyio"
    backend = "" if mark == "asyncio" else "@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n"
    result = run(
        "import asyncio, pytest\n"
        f"{backend}"
        f"@pytest.mark.{mark}\n"
        "@pytest.mark.gil_scaling(threads=2, min_speedup=1.5, budget=10)\n"
        "async def test_waits():\n"
        "    await asyncio.sleep(0.01)\n"
        f"@pytest.mark.{mark}\n"
        "async def test_unmarked():\n"
        "    await asyncio.sleep(0)\n",
        plugins=["asyncio" if plugin == "pytest_asyncio" else plugin],
    )
    result.assert_outcomes(passed=2)


def test_an_async_fixture_in_a_measured_test_is_refused(run):
    pytest.importorskip("pytest_asyncio")
    result = run(
        """
        import pytest, pytest_asyncio

        @pytest_asyncio.fixture
        async def connection(): return 1

        @pytest.mark.asyncio
        @pytest.mark.gil_scaling
        async def test_it(connection): pass
        """,
        plugins=["asyncio"],
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["gilcheck: gil_scaling: fixture 'connection' is async and belongs to another event loop*"])


def test_a_unittest_method_is_refused_with_what_to_do_instead(run):
    result = run(
        """
        import unittest, pytest
        class TestOld(unittest.TestCase):
            @pytest.mark.gil_scaling
            def test_it(self): pass
        """
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["gilcheck: gil_scaling marks a unittest.TestCase method*"])


def test_of_two_markers_the_closest_wins_and_the_other_gives_what_it_does_not_say(run):
    result = run(
        """
        import pytest
        values = []
        pytestmark = pytest.mark.gil_fuzz(schedules=3, seed=4711)

        @pytest.mark.gil_fuzz(schedules=5)
        def test_adds(): values.append(1)
        """,
        "-rA",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*(schedules=5)*"])
    result.stdout.fnmatch_lines(["*seed 4711*"])


@pytest.mark.slow
def test_what_the_test_raises_is_its_failure(run):
    result = run(
        """
        import pytest, sys, warnings

        @pytest.mark.gil_scaling
        def test_asserts():
            value = 1
            assert value == 2

        @pytest.mark.gil_scaling
        def test_leaves(): sys.exit(4)

        @pytest.mark.gil_scaling
        def test_skips(): pytest.skip("not today")

        @pytest.mark.gil_scaling
        @pytest.mark.xfail(raises=ZeroDivisionError, strict=True)
        def test_expected(): 1 / 0
        """
    )
    result.assert_outcomes(failed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "*SystemExit: 4*", "SKIPPED*not today*"])


@pytest.mark.slow
def test_a_skip_in_one_thread_does_not_mask_the_failure_in_another(run):
    result = run(
        """
        import itertools, time, pytest
        calls = itertools.count()

        @pytest.mark.gil_scaling(threads=2, max_slowdown=1.1)
        def test_mixed():
            time.sleep(0.02)
            n = next(calls)
            if n > 8 and n % 2: pytest.skip("odd")
            if n > 8: raise SystemExit(n)
        """
    )
    result.assert_outcomes(failed=1)


@pytest.mark.slow
def test_a_skip_in_a_later_call_is_a_failure_and_not_a_skip(run):
    result = run(
        """
        import itertools, time, pytest
        calls = itertools.count()

        @pytest.mark.gil_scaling(threads=2, max_slowdown=1.1)
        def test_moody():
            time.sleep(0.02)
            if next(calls) > 8: pytest.skip("had enough")
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["gilcheck: the test skipped itself in some of its calls*had enough (raised in thread *"])


@pytest.mark.slow
@pytest.mark.exclusive
def test_results_of_the_fixture_can_be_asserted_to_hold_or_to_be_violated(run):
    result = run(
        """
        import threading, time
        LOCK = threading.Lock()
        def waits(): time.sleep(0.01)
        def serial():
            with LOCK: time.sleep(0.01)

        def test_both(gilcheck):
            gilcheck.scaling(waits, threads=2, min_speedup=1.5, budget=10).assert_holds()
            serial_one = gilcheck.scaling(serial, threads=2, min_speedup=1.5, budget=10)
            serial_one.assert_violated()
            assert serial_one.cause == "lock"

        def test_wrong(gilcheck):
            gilcheck.scaling(serial, threads=2, min_speedup=1.5, budget=10).assert_holds()

        def test_curve(gilcheck):
            print(gilcheck.curve(waits, threads=[1, 2], modes=["threads"]))

        def test_interpreter(gilcheck):
            assert gilcheck.interpreter.build in ("gil", "free-threaded")
        """
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*ClaimViolated: serial: violated: *"])
