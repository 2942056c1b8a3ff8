"""A re-enabled GIL is reported with the module and the test; a module that declares support for no GIL is not reported."""

import re

import pytest

from tests.core.extensions import FREE_THREADED_BUILD, built, needs_free_threading
from tests.slow import one_in

REENABLED = "the GIL was re-enabled"
NEEDS = "the GIL was re-enabled: extension module 'ext_needs' does not declare that it runs without the GIL"


@pytest.fixture
def run(run, monkeypatch):
    """``run(source, *options, mode=None, name="test_it")``: a pytest run that can import the extensions."""
    folder = built()
    for name in ("PYTHON_GIL", "GILCHECK_GIL_REENABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def run_with_extensions(source, *options, mode=None, name="test_it"):
        mode_option = [f"--gilcheck-gil-reenabled={mode}"] if mode else []
        return run(source, *mode_option, *options, name=name)

    return run_with_extensions


def reported(result):
    """The lines of the terminal summary about the GIL."""
    return [line for line in result.outlines if line.startswith(f"gilcheck: {REENABLED}")]


def silent(result):
    return REENABLED not in result.stdout.str() + result.stderr.str()


TEST_BODY = """
    def test_before(): pass
    def test_imports():
        import ext_needs
    def test_after(): pass
"""
FIXTURE = """
    import pytest
    @pytest.fixture
    def gives():
        import ext_needs
    def test_imports(gives): pass
    def test_after(): pass
"""
TEARDOWN = """
    import pytest
    @pytest.fixture
    def gives():
        yield
        import ext_needs
    def test_imports(gives): pass
    def test_after(): pass
"""
THREAD = """
    import threading
    def test_imports():
        thread = threading.Thread(target=lambda: __import__("ext_needs"), name="worker")
        thread.start()
        thread.join()
    def test_after(): pass
"""
FORKED = """
    import pytest, sys
    @pytest.mark.gil_latency
    def test_imports():
        import ext_needs
    def test_after(): assert not sys._is_gil_enabled()
"""
IN_A_TEST = {
    "body": (TEST_BODY, r"test_it.py:3 \(test_imports\), in test_it.py::test_imports \(call\)"),
    "fixture": (FIXTURE, r"test_it.py:4 \(gives\), in fixture 'gives' of test_it.py::test_imports \(setup\)"),
    "teardown": (TEARDOWN, r"test_it.py:5 \(gives\), in test_it.py::test_imports \(teardown\)"),
    "thread": (THREAD, r"test_it.py:3 \(.*lambda.*\), in thread 'worker', while test_it.py::test_imports \(call\) ran"),
    "forked": (FORKED, r"test_it.py:4 \(test_imports\), .*in a forked child only"),
    "scaling": (FORKED.replace("latency", "scaling"), r"test_it.py:4 \(test_imports\), .*in a forked child only"),
}
WHERE_AND_WORKERS = pytest.mark.parametrize(
    ("where", "workers"), [*((where, "0") for where in IN_A_TEST), ("fixture", "1"), ("forked", "1")]
)


@needs_free_threading
class TestInATest:
    @WHERE_AND_WORKERS
    def test_a_warning_and_one_line_name_the_module_and_the_test(self, run, where, workers):
        source, place = IN_A_TEST[where]
        result = run(source, f"-n{workers}")
        assert result.ret == 0
        (line,) = reported(result)
        assert re.search(rf"{re.escape(NEEDS)}, imported at \S*{place}", line)
        result.stdout.fnmatch_lines(["*GilReenabledWarning: the GIL was re-enabled*'ext_needs'*"])
        assert "test_imports" in line

    @WHERE_AND_WORKERS
    def test_as_an_error_it_fails_that_test_and_no_other(self, run, where, workers):
        source, place = IN_A_TEST[where]
        result = run(source, f"-n{workers}", mode="error")
        assert result.ret == 1
        counts = result.parseoutcomes()
        assert counts.get("failed", 0) + counts.get("errors", 0) == 1
        line = rf"gilcheck: {re.escape(NEEDS)}.*{place}"
        result.stdout.re_match_lines([line, line, r"(FAILED|ERROR) \S*test_imports"])  # its report, the summary, and the list

    @pytest.mark.parametrize("where", ["body", "fixture", "forked"])
    def test_with_ignore_nothing_is_reported(self, run, where):
        result = run(IN_A_TEST[where][0], mode="ignore")
        assert silent(result)
        assert "failed" not in result.parseoutcomes()

    @pytest.mark.parametrize("where", IN_A_TEST)
    def test_a_module_that_declares_support_is_not_reported(self, run, where):
        result = run(IN_A_TEST[where][0].replace("ext_needs", "ext_free"), mode="error")
        assert result.ret == 0
        assert silent(result)

    @pytest.mark.parametrize("choice", ["environment", "option"])
    @pytest.mark.parametrize("value", ["0", "1"])
    def test_nothing_is_reported_if_the_user_has_chosen_the_gil(self, run, monkeypatch, pytester, choice, value):
        if choice == "environment":
            monkeypatch.setenv("PYTHON_GIL", value)
            assert silent(run(TEST_BODY, mode="error"))
        else:
            import sys

            pytester.makepyfile(test_it=TEST_BODY)
            command = (sys.executable, "-X", f"gil={value}", "-m", "pytest", "--gilcheck-gil-reenabled=error", "-n0")
            result = pytester.run(*command)
            assert result.ret == 0
            assert silent(result)

    def test_an_expected_failure_does_not_cover_the_gil(self, run):
        source = """
            import pytest
            @pytest.mark.xfail
            def test_imports():
                import ext_needs
                assert 0
        """
        run(source, mode="error").assert_outcomes(failed=1)

    def test_a_test_that_fails_itself_keeps_its_failure_and_gets_a_section(self, run):
        result = run("def test_it():\n    import ext_needs\n    assert 0, 'its own'", mode="error")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*its own*", "*- gilcheck -*", f"{NEEDS}*"])

    def test_the_import_is_reported_although_the_child_crashes_afterwards(self, run):
        source = """
            import os, pytest, sys
            @pytest.mark.gil_latency
            def test_imports():
                import ext_needs
                os.abort()
            def test_after(): assert not sys._is_gil_enabled()
        """
        result = run(source)
        result.assert_outcomes(failed=1, passed=1, warnings=1)
        assert len(reported(result)) == 1

    def test_an_import_in_the_children_of_a_check_is_reported(self, run):
        source = """
            import pytest, sys, time
            @pytest.mark.gil_interrupt(repeats=2, over=0.1)
            def test_imports():
                import ext_needs
                time.sleep(60)
            def test_after(): assert not sys._is_gil_enabled()
        """
        result = run(source)
        (line,) = reported(result)
        assert "test_it.py:4" in line
        assert "forked child" in line
        assert run(source, mode="error").ret == 1

    @pytest.mark.parametrize("filters", ["ignore", "error"])
    def test_no_warning_filter_hides_the_event_or_breaks_the_run(self, run, filters):
        result = run(TEST_BODY, "-W", filters)
        assert len(reported(result)) == 1
        assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
        assert result.ret == (1 if filters == "error" else 0)

    def test_a_filter_on_our_warning_alone_fails_the_test(self, run):
        result = run(TEST_BODY, "-W", "ignore", "-W", "error::pytest_gilcheck.core.gil_watch.GilReenabledWarning")
        result.assert_outcomes(failed=1, passed=2)

    def test_an_event_is_reported_although_the_test_catches_the_warning(self, run):
        source = """
            import warnings
            def test_imports():
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        import ext_needs
                except Exception:
                    pass
        """
        assert len(reported(run(source))) == 1

    def test_a_test_that_clears_the_environment_is_still_named(self, run):
        source = """
            import os
            def test_imports():
                os.environ.pop("PYTEST_CURRENT_TEST")
                import ext_needs
        """
        (line,) = reported(run(source))
        assert "in test_it.py::test_imports (call)" in line

    def test_the_run_fails_although_a_rerun_passes(self, run, pytester):
        pytester.makeconftest(
            """
            import pytest
            @pytest.hookimpl(wrapper=True, tryfirst=True)
            def pytest_runtest_makereport(item, call):
                report = yield
                report.outcome = "passed"  # as a plugin does whose rerun passes
                return report
            """
        )
        assert run(TEST_BODY, mode="error").ret != 0

    @pytest.mark.parametrize("before", ["pass", "import ext_free"])  # after the import of this module the GIL was off
    def test_a_module_of_an_unobserved_loader_is_reported_as_probable(self, run, before):
        source = f"""
            import _imp, importlib.util, sys
            def test_imports():
                {before}
                spec = importlib.util.find_spec("ext_needs")
                sys.modules["ext_needs"] = _imp.create_dynamic(spec)
                sys.modules["ext_needs"].__spec__ = spec
        """
        (line,) = reported(run(source, "-W", "ignore", "-p", "no:hypothesispytest"))
        assert "probably by extension module 'ext_needs'" in line
        assert "noticed in test_it.py::test_imports (call)" in line


CONFTEST, PLUGIN = "conftest", "plugin"


def outside(pytester, where):
    """Import the module at this place; returns the run's options, the source of the test file and a pattern of the place."""
    if where == "module":
        return (
            [],
            "import ext_needs\ndef test_it(): pass",
            r"imported at \S*test_it.py:1 \(<module>\), while test_it.py was collected",
        )
    if where == "helper":
        pytester.makepyfile(helper="import ext_needs")
        source = "import helper\ndef test_it(): pass"
        return [], source, r"imported at \S*helper.py:1 \(<module>\), while test_it.py was collected"
    if where == CONFTEST:
        pytester.makeconftest("import ext_needs")
        return [], "def test_it(): pass", r"imported at \S*conftest.py:1 \(<module>\), while \S*conftest.py was imported"
    if where == "hook":
        pytester.makeconftest("def pytest_collection_modifyitems(): import ext_needs")
        place = r"imported at \S*conftest.py:1 \(pytest_collection_modifyitems\), in hook pytest_collection_modifyitems"
        return [], "def test_it(): pass", place
    pytester.makepyfile(early="import ext_needs")
    return ["-p", "early"], "def test_it(): pass", "noticed outside tests"


OUTSIDE = ["module", "helper", CONFTEST, "hook", PLUGIN]


@needs_free_threading
class TestOutsideOfTests:
    @pytest.mark.parametrize("where", OUTSIDE)
    def test_a_warning_and_one_line_name_the_module_and_its_importer(self, run, pytester, where):
        options, source, place = outside(pytester, where)
        result = run(source, *options)
        assert result.ret == 0
        (line,) = reported(result)
        assert re.search(f"{re.escape(NEEDS)}, {place}", line)
        result.stdout.fnmatch_lines(["*GilReenabledWarning: the GIL was re-enabled*"])

    @pytest.mark.parametrize("where", OUTSIDE)
    def test_as_an_error_it_ends_the_run_in_one_line(self, run, pytester, where):
        options, source, place = outside(pytester, where)
        result = run(source, *options, mode="error")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        lines = [line for line in result.errlines if REENABLED in line and "RuntimeWarning" not in line]
        assert len(lines) == 1
        assert re.search(f"ERROR: gilcheck: {re.escape(NEEDS)}, {place}", lines[0])
        assert "Traceback" not in result.stderr.str()
        assert "1 passed" not in result.stdout.str()

    @pytest.mark.parametrize(("where", "mode"), [("module", "warn"), ("module", "error"), (CONFTEST, "warn"), ("hook", "error")])
    def test_xdist_workers_report_to_their_controller(self, run, pytester, where, mode):
        options, source, place = outside(pytester, where)
        result = run(source, *options, "-n1", mode=mode)
        assert (result.ret == 0) == (mode == "warn")
        assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
        assert "crashed" not in result.stdout.str()
        assert re.search(f"{re.escape(NEEDS)}, {place}", result.stdout.str() + result.stderr.str())

    @pytest.mark.parametrize("where", ["module", CONFTEST, PLUGIN])
    def test_with_ignore_nothing_is_reported(self, run, pytester, where):
        options, source, _ = outside(pytester, where)
        result = run(source, *options, mode="ignore")
        assert result.ret == 0
        assert silent(result)

    @pytest.mark.parametrize(("hook", "passed"), [("pytest_runtest_logfinish", 2), ("pytest_sessionfinish", 3)])
    def test_a_hook_between_or_after_tests_fails_the_run_and_no_test(self, run, pytester, hook, passed):
        pytester.makeconftest(f"def {hook}(): import ext_needs")
        result = run("def test_1(): pass\ndef test_2(): pass\ndef test_3(): pass", mode="error")
        assert result.ret != 0
        assert {**result.parseoutcomes(), "warnings": 1} == {"passed": passed, "warnings": 1}  # seen in the next test at the latest
        (line,) = reported(result)
        assert f"in hook {hook}" in line

    def test_our_warning_as_an_error_is_a_usage_error(self, run, pytester):
        options, source, _ = outside(pytester, CONFTEST)
        result = run(source, *options, "-W", "ignore", "-W", "error::pytest_gilcheck.core.gil_watch.GilReenabledWarning")
        assert result.ret == pytest.ExitCode.USAGE_ERROR

    def test_all_candidates_are_named_if_the_import_was_not_observed(self, run, pytester):
        pytester.makepyfile(early="import warnings\nwarnings.simplefilter('always')\nimport ext_free, ext_needs")
        (line,) = reported(run("def test_it(): pass", "-p", "early"))
        assert "one of the extension modules 'ext_free', 'ext_needs' (the import was not observed)" in line

    def test_the_header_names_the_build_and_the_state_of_the_gil(self, run, pytester):
        source = "import {}\nimport pytest\n@pytest.mark.gil_scaling\ndef test_it(): pass"
        result = run(source.format("ext_needs"))
        result.stdout.fnmatch_lines(["gilcheck: * free-threaded build with its GIL on*"])
        result = run(source.format("ext_free"))
        result.stdout.fnmatch_lines(["gilcheck: * free-threaded, *"])

    def test_a_run_without_our_checks_and_without_the_module_prints_nothing(self, run):
        result = run("def test_it(): pass", "-v")
        assert "gilcheck:" not in result.stdout.str()


@pytest.mark.skipif(FREE_THREADED_BUILD, reason="for builds whose GIL is always on")
class TestOnAGilBuild:
    @pytest.mark.slow
    def test_nothing_is_reported_and_nothing_is_loaded(self, run, pytester):
        pytester.makeconftest(
            """
            import sys
            from importlib.machinery import ExtensionFileLoader
            def pytest_unconfigure():
                assert "pytest_gilcheck.core.gil_watch" not in sys.modules
                assert ExtensionFileLoader.create_module.__module__ == "_frozen_importlib_external"
            """
        )
        result = run(TEST_BODY, mode="error")
        assert result.ret == 0
        assert silent(result)


@pytest.mark.parametrize("layer", one_in(3, ["option", "environment", "ini"]))
def test_the_setting_comes_from_the_usual_places_and_a_bad_one_is_named(run, pytester, monkeypatch, layer):
    spelled = {
        "option": "command line --gilcheck-gil-reenabled",
        "environment": "environment GILCHECK_GIL_REENABLED",
        "ini": "ini gilcheck_gil_reenabled",
    }
    for value in ("never", "error"):
        if layer == "environment":
            monkeypatch.setenv("GILCHECK_GIL_REENABLED", value)
        elif layer == "ini":
            pytester.makeini(f"[pytest]\ngilcheck_gil_reenabled = {value}")
        result = run(TEST_BODY, mode=value if layer == "option" else None)
        if value == "never":
            assert result.ret == pytest.ExitCode.USAGE_ERROR
            wanted = f"ERROR: gilcheck: gil_reenabled='never' (from {spelled[layer]}): expected *warn*error*ignore*"
            result.stderr.fnmatch_lines([wanted])
        else:
            assert result.ret == (1 if FREE_THREADED_BUILD else 0)
