"""A guarded process hides no failure of the test, its teardown or other hooks."""

import re

import pytest

from tests.slow import one_in


@pytest.mark.slow
def test_a_teardown_that_asserts_what_the_test_changed_can_fail(run):
    result = run(
        """
        import pytest

        @pytest.fixture
        def errors():
            found = []
            yield found
            assert not found

        def test_it(errors, gilcheck):
            errors.append("boom")

        class TestXunit:
            def setup_method(self): self.found = []
            def teardown_method(self): assert not self.found
            def test_it(self, gilcheck): self.found.append("boom")
        """
    )
    result.assert_outcomes(passed=2, errors=2)


def test_subtests_do_not_end_the_test_at_the_first(run):
    pytest.importorskip("_pytest.subtests")
    result = run(
        """
        import pytest, time

        def test_rest(subtests, gilcheck):
            with subtests.test("first"): pass
            assert 0

        @pytest.mark.gil_scaling
        def test_marked(subtests):
            with subtests.test("first"): pass
        """
    )
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["gilcheck: gil_scaling cannot be used with subtests*"])


@pytest.mark.slow
def test_the_failure_stays_if_a_hook_runs_the_body_again(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            try:
                return (yield)
            except Exception:
                return item.runtest()
        """
    )
    run("def test_it(gilcheck): assert 0").assert_outcomes(failed=1)


@pytest.mark.slow
def test_a_body_run_twice_that_fails_first_is_a_failure(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(item):
            item.runtest()
        """
    )
    run(
        """
        import pathlib
        def test_it(gilcheck):
            seen = pathlib.Path("seen")
            if not seen.exists():
                seen.touch()
                assert 0
        """
    ).assert_outcomes(failed=1)


@pytest.mark.slow
def test_other_hooks_see_the_failure_and_their_own_failures_stay(run, pytester):
    pytester.makeconftest(
        """
        import os, pytest
        PARENT = os.getpid()

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if call.when == "call": item.outcome = report.outcome
            return report

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            result = yield
            if item.name == "test_leaks" and os.getpid() == PARENT: raise RuntimeError("a leak, seen in the parent")
            return result

        @pytest.hookimpl(trylast=True)
        def pytest_runtest_teardown(item): print(item.name, "outcome", item.outcome)
        """
    )
    result = run("def test_fails(gilcheck): assert 0\ndef test_leaks(gilcheck): pass", "-s")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*test_fails outcome failed*", "*a leak, seen in the parent*"])


@pytest.mark.slow
def test_expected_failures_stay_what_they_are(run):
    result = run(
        """
        import pytest
        @pytest.mark.xfail(strict=True)
        def test_passes(gilcheck): pass
        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_other_error(gilcheck): assert 0
        @pytest.mark.xfail
        def test_fails(gilcheck): assert 0
        """
    )
    result.assert_outcomes(failed=2, xfailed=1)


@pytest.mark.parametrize("way", ["trylast hook", "fixture"])
@pytest.mark.slow
def test_a_marker_that_is_added_late_is_applied(run, pytester, way):
    if way == "trylast hook":
        pytester.makeconftest(
            """
            import pytest
            @pytest.hookimpl(trylast=True)
            def pytest_collection_modifyitems(items):
                for item in items: item.add_marker(pytest.mark.gil_scaling(threads=0))
            """
        )
        source = "def test_it(): pass"
    else:
        source = """
            import pytest
            @pytest.fixture(autouse=True)
            def marked(request): request.applymarker(pytest.mark.gil_scaling(threads=0))
            def test_it(): pass
        """
    result = run(source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*threads=0 (from marker gil_scaling)*"])


@pytest.mark.slow
def test_a_test_to_which_a_fixture_applies_a_marker_may_crash_and_its_fixtures_are_torn_down(run):
    result = run(
        """
        import os, pytest
        @pytest.fixture
        def marked(request):
            request.applymarker(pytest.mark.gil_fuzz(schedules=5))
            yield
            print("torn down in", os.getpid())
        def test_exits(marked): os._exit(3)
        def test_after(): pass
        """,
        "-rA",
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*exited with status 3*", "*torn down in*"])


@pytest.mark.slow
def test_a_workload_that_returns_a_coroutine_or_generator_is_an_error(run):
    result = run(
        """
        import time, pytest

        async def coroutine(): assert 0
        def returns_it():
            time.sleep(0.02)
            return coroutine()
        def generator():
            yield
            assert 0

        def test_returned(gilcheck): gilcheck.scaling(returns_it, max_slowdown=2)
        def test_generator(gilcheck): gilcheck.scaling(generator)
        """
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*nothing awaits or runs*", "*no generator*"])


@pytest.mark.slow
def test_a_decorator_of_a_coroutine_test_is_not_stripped(run):
    result = run(
        """
        import asyncio, functools, pytest

        def checked(function):
            @functools.wraps(function)
            async def wrapper():
                await function()
                assert 0, "the decorator's own"
            return wrapper

        @pytest.mark.gil_scaling
        @checked
        async def test_it(): await asyncio.sleep(0.01)
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the decorator's own*"])


@pytest.mark.parametrize("strict", one_in(2, [False, True]))
def test_inconclusive_is_a_skip_wherever_it_is_raised(run, strict):
    result = run(
        """
        import pytest
        from pytest_gilcheck import gilcheck as namespace

        def test_imported(): namespace.scaling(lambda: None).assert_holds()
        def test_asked_for_late(request): request.getfixturevalue("gilcheck").scaling(lambda: None).assert_holds()

        @pytest.fixture
        def checked(gilcheck): gilcheck.scaling(lambda: None).assert_holds()
        def test_in_setup(checked): pass
        """,
        *(["--gilcheck-strict"] if strict else []),
    )
    result.assert_outcomes(**({"failed": 2, "errors": 1} if strict else {"skipped": 3}))


def test_warnings_of_the_child_are_shown_by_the_parent(run):
    result = run("import warnings\ndef test_it(gilcheck): warnings.warn('from the child')")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*UserWarning: from the child*"])


def test_a_report_that_cannot_be_pickled_keeps_its_outcome(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            report.item = item
            return report
        """
    )
    result = run(
        """
        import dataclasses

        class Unreadable:
            def __reduce__(self): return (int, ("x",))

        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            code: int

        def raises(): raise Frozen(3)

        def test_property(gilcheck, record_property): record_property("p", Unreadable())
        def test_frozen(gilcheck): gilcheck.scaling(raises)
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Frozen*"])


@pytest.mark.slow
def test_a_test_that_closes_files_it_did_not_open_neither_fails_for_it_nor_gets_our_messages_into_its_own(run, pytester):
    result = run(
        """
        import os, pytest
        values = []
        @pytest.fixture
        def reused():
            os.closerange(3, 256)
            files = [open(f"reused-{number}", "wb") for number in range(40)]
            yield
            [file.close() for file in files]
        def test_usual(gilcheck, reused): gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()
        def test_all(gilcheck):
            os.closerange(3, 5000)
            files = [os.open(f"all-{number}", os.O_CREAT | os.O_WRONLY) for number in range(5000)[:os.sysconf("SC_OPEN_MAX") - 10]]
            gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()
        def test_after(): pass
        """,
        "--capture=sys",  # pytest's own capture of descriptors fails without its files, in any process
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*the process could not report: it closed descriptors that it did not open*"])
    written = [path.name for path in pytester.path.iterdir() if re.match("(reused|all)-", path.name) and path.stat().st_size]
    assert not written


def test_the_return_code_of_pytest_exit_survives(run):
    assert run("import pytest\ndef test_it(gilcheck): pytest.exit('bye', returncode=7)").ret == 7


def test_the_report_is_printed_although_the_evidence_file_cannot_be_written(run, pytester):
    (pytester.path / "folder").mkdir()
    assert run("def test_it(): assert 0", "--gilcheck-json=folder").ret == pytest.ExitCode.USAGE_ERROR
    source = "import os\ndef test_it(): os.remove('late'); os.mkdir('late')\ndef test_fails(): assert 0, 'still shown'"
    result = run(source, "--gilcheck-json=late")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*still shown*", "gilcheck: json=*a file that can be written*"])


def test_hooks_of_other_plugins_see_that_a_test_failed_in_its_child(run, pytester):
    pytester.makeconftest(
        """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            try:
                return (yield)
            except BaseException as error:
                print(f"seen: {item.name} {type(error).__name__}")
                raise
        """
    )
    result = run("def test_fails(gilcheck): assert 0\ndef test_passes(gilcheck): pass", "-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*seen: test_fails ChildFailed"])


def test_a_test_whose_process_ends_between_its_phases_ends_no_pytest_that_sigpipe_would_end(run, pytester):
    pytester.makeconftest(
        """
        import os, pathlib, time
        def pytest_runtest_logreport(report):
            if report.when == "call" and "leaves" in report.nodeid:
                pathlib.Path("reported").touch()
                child = int(pathlib.Path("child").read_text())
                while pathlib.Path(f"/proc/{child}/stat").read_text().split()[2] != "Z": time.sleep(0.01)
        """
    )
    result = run(
        """
        import os, pathlib, signal, threading, time
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

        def leave():
            while not pathlib.Path("reported").exists(): time.sleep(0.01)
            os._exit(3)

        def test_leaves(gilcheck):
            pathlib.Path("child").write_text(str(os.getpid()))
            threading.Thread(target=leave).start()

        def test_after(): pass
        """
    )
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*in the teardown, the process exited with status 3*"])


@pytest.mark.slow
def test_the_limit_of_a_phase_is_back_after_a_check_that_raised(run):
    result = run(
        """
        import pytest, threading
        def fails(): raise ValueError
        def test_hangs(gilcheck):
            with pytest.raises(ValueError): gilcheck.scaling(fails)
            threading.Event().wait()
        """,
        "--gilcheck-timeout=0.4",
        timeout=60,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*did not end within its time limit*"])
