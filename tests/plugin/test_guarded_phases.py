"""Set-up, call, teardown and finalizers of a checked test run in one guarded process: a crash in any of them is a result.

One run holds many tests, because a pytest process costs more than they do.
"""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.slow import one_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork")

WORST = """
import ctypes, os, time, pytest

def segfault(): ctypes.string_at(0)
def exit(): os._exit(3)
def interrupt(): raise KeyboardInterrupt
def hang():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

WORST = [segfault, exit, interrupt, hang]

def doing(wanted, phase):
    return lambda now: wanted() if now == phase else None

@pytest.fixture(params=["set-up", "call", "teardown", "finalizer"])
def phase(request): return request.param

@pytest.fixture(params=WORST, ids=lambda worst: worst.__name__)
def worst(request): return request.param

@pytest.fixture
def broken(request, phase, worst):
    do = doing(worst, phase)
    request.addfinalizer(lambda: do("finalizer"))
    do("set-up")
    yield do
    do("teardown")

values = []
def add(): values.append(1)

def test_worst(gilcheck, broken):
    gilcheck.fuzz(threads=[add, add], schedules=2).assert_holds()
    broken("call")

def test_after(gilcheck):
    gilcheck.fuzz(threads=[add, add], schedules=2).assert_holds()
"""


@pytest.mark.slow
def test_whatever_ends_a_phase_the_test_is_no_pass_the_run_goes_on_and_the_evidence_is_complete(run, pytester):
    result = run(WORST, "--gilcheck-timeout=0.3", "--gilcheck-json=e.json")
    result.assert_outcomes(passed=1 + 8, failed=4, errors=12)  # a broken teardown is an error beside the pass of the call
    result.stdout.fnmatch_lines(["*in the set-up, the process was killed by SIGSEGV*"])
    text = result.stdout.str()
    for phase in ("set-up", "teardown"):
        assert f"in the {phase}, the process exited with status 3" in text
        assert f"in the {phase}, the process did not end within its time limit" in text
    assert "outside of checks, the limit is ten times --gilcheck-timeout" in text
    assert text.count("KeyboardInterrupt") >= 4
    written = json.loads((pytester.path / "e.json").read_text())
    assert written["run"]["exit_status"] == 1
    assert written["run"]["ran"] == written["run"]["collected"] == 17
    outcomes = {record["subject"].partition("::")[2]: record["outcome"] for record in written["records"]}
    assert len(outcomes) == 17
    assert {name for name, outcome in outcomes.items() if outcome != "failed"} == {"test_after"}


@pytest.mark.slow
def test_a_crash_in_any_phase_of_a_marked_test_is_a_result(run, pytester):
    result = run(
        """
        import os, ctypes, pytest
        made = []

        @pytest.fixture
        def crashes_at_first(): os._exit(1)
        @pytest.fixture
        def crashes_at_last():
            yield
            ctypes.string_at(0)

        @pytest.mark.gil_fuzz(schedules=5)
        def test_set_up(crashes_at_first): made.append(1)
        @pytest.mark.gil_interrupt(repeats=1, over=0.1)
        def test_interrupt(crashes_at_first): pass
        @pytest.mark.gil_fuzz(schedules=5)
        def test_call(): os._exit(1)
        def test_teardown(gilcheck, crashes_at_last):
            gilcheck.fuzz(threads=[lambda: made.append(1)] * 2, schedules=5).assert_holds()
        def test_after(): pass
        """,
        "--gilcheck-json=e.json",
    )
    result.assert_outcomes(passed=2, failed=1, errors=3)
    records = json.loads((pytester.path / "e.json").read_text())["records"]
    found = {record["subject"].partition("::")[2]: (record["check"], record["verdict"], record["outcome"]) for record in records}
    assert found == {
        "test_set_up": ("fuzz", "inconclusive", "failed"),
        "test_interrupt": ("interrupt", "inconclusive", "failed"),
        "test_call": ("fuzz", "violated", "failed"),
        "test_teardown": ("fuzz", "holds", "failed"),
    }


@pytest.mark.slow
def test_a_check_that_was_made_before_the_crash_is_on_record(run, pytester):
    run(
        """
        import os
        state = []
        def test_it(gilcheck):
            assert gilcheck.fuzz(threads=[lambda: state.append(1)] * 2, schedules=5).verdict == "holds"
            os._exit(1)
        """,
        "--gilcheck-json=e.json",
    ).assert_outcomes(failed=1)
    [record] = json.loads((pytester.path / "e.json").read_text())["records"]
    assert (record["check"], record["verdict"], record["outcome"]) == ("fuzz", "holds", "failed")


TEARDOWNS = """
import os, pytest
PYTEST = os.getpid()

@pytest.fixture
def generator():
    found = []
    yield found
    assert not found

@pytest.fixture
def finalizer(request):
    found = []
    def check(): assert not found
    request.addfinalizer(check)
    return found

@pytest.fixture
def process():
    before = os.getpid()
    yield [before]
    assert os.getpid() == before != PYTEST

found = []
def teardown_function(): assert not found

def test_generator(gilcheck, generator, broken): generator += broken
def test_finalizer(gilcheck, finalizer, broken): finalizer += broken
def test_function(gilcheck, broken): found.extend(broken)
def test_added_late(gilcheck, request, broken):
    def check(): assert not broken
    request.addfinalizer(check)
def test_in_one_process(gilcheck, process): assert process == [os.getpid()]

class TestMethods:
    def setup_method(self): self.found = []
    def teardown_method(self): assert not self.found
    def test_method(self, gilcheck, broken): self.found += broken
"""


@pytest.mark.parametrize(("broken", "errors"), [("[1]", 5), ("[]", 0)], ids=["broken", "fixed"])
@pytest.mark.slow
def test_teardowns_and_finalizers_see_what_the_test_did(run, broken, errors):
    result = run(f"{TEARDOWNS}\n@pytest.fixture\ndef broken(): return {broken}\n")
    result.assert_outcomes(passed=6, errors=errors)


@pytest.mark.slow
def test_the_reports_of_all_phases_come_home(run, pytester):
    result = run(
        """
        import logging, warnings, pytest

        @pytest.fixture(scope="module")
        def wide():
            print("wide set-up")
            yield
            print("wide teardown")

        @pytest.fixture
        def narrow(wide, record_property):
            print("narrow set-up")
            logging.warning("logged in set-up")
            warnings.warn("warned in set-up")
            record_property("set", "up")
            yield
            print("narrow teardown")
            warnings.warn("warned in teardown")
            record_property("torn", "down")
            assert 0, "as wanted"

        def test_it(gilcheck, narrow, caplog, record_property):
            print("in the call")
            logging.warning("logged in the call")
            record_property("called", 1)
            assert [record.message for record in caplog.get_records("setup")] == ["logged in set-up"]
            assert "logged in the call" in caplog.text
        """,
        "--junitxml=junit.xml",
        "-ojunit_family=xunit1",
        "--durations=0",
        "-vv",
    )
    result.assert_outcomes(passed=1, errors=1, warnings=2)
    text = result.stdout.str()
    for line in ("wide set-up", "narrow set-up", "in the call", "narrow teardown", "wide teardown"):
        assert len(re.findall(f"^{line}$", text, re.MULTILINE)) == 1, line
    result.stdout.fnmatch_lines(["*as wanted*", "*logged in set-up*", "*logged in the call*", "* call *test_it*"])
    junit = (pytester.path / "junit.xml").read_text()
    for name in ("set", "called", "torn"):
        assert junit.count(f'<property name="{name}"') == 1


@pytest.mark.slow
def test_expected_failures_of_every_phase_stay_what_they_are(run):
    run(
        """
        import pytest
        @pytest.fixture
        def skips(): pytest.skip("not here")
        @pytest.fixture
        def fails(): raise ZeroDivisionError
        @pytest.fixture
        def expects(): pytest.xfail("known")
        @pytest.fixture
        def fails_later():
            yield
            raise ZeroDivisionError

        def test_skipped(gilcheck, skips): pass
        def test_expected(gilcheck, expects): pass
        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_set_up(gilcheck, fails): pass
        @pytest.mark.xfail(raises=KeyError)
        def test_other(gilcheck, fails): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(gilcheck): pass
        @pytest.mark.xfail(raises=ZeroDivisionError)
        def test_teardown(gilcheck, fails_later): assert 1 / 0
        """
    ).assert_outcomes(skipped=1, xfailed=4, errors=1, failed=1)


@pytest.mark.slow
def test_the_lines_of_setup_show_are_those_of_one_process(run):
    source = """
        import pytest
        @pytest.fixture(scope="module")
        def wide(): yield
        @pytest.fixture
        def narrow(wide, gilcheck): yield
        def test_it(narrow): pass
        def test_other(): pass
    """
    isolated, plain = [run(source, "--setup-show", *options, name="test_show") for options in ((), ("--gilcheck-isolate=none",))]
    isolated.assert_outcomes(passed=2)
    assert sum(line.startswith("  ") for line in isolated.outlines) == 8
    assert isolated.outlines[:-1] == plain.outlines[:-1]  # the last one has the time


@pytest.mark.slow
def test_temporary_folders_are_kept_and_removed_as_the_policy_says(run, pytester):
    result = run(
        """
        import pathlib, pytest
        def note(name, path): pathlib.Path(name).write_text(str(path))
        def test_passes(gilcheck, tmp_path): note("passes", tmp_path)
        def test_fails(gilcheck, tmp_path):
            note("fails", tmp_path)
            assert 0
        def test_late(gilcheck, request):
            note("late", request.getfixturevalue("tmp_path"))
            assert 0
        """,
        "-o",
        "tmp_path_retention_policy=failed",
    )
    result.assert_outcomes(passed=1, failed=2)
    import pathlib

    folders = {name: pathlib.Path((pytester.path / name).read_text()) for name in ("passes", "fails", "late")}
    assert {name: folder.exists() for name, folder in folders.items()} == {"passes": False, "fails": True, "late": True}
    assert len({folder.parent for folder in folders.values()}) == 1


def test_reports_of_subtests_come_home_and_a_failed_one_fails_the_test(run):
    pytest.importorskip("_pytest.subtests")
    result = run(
        """
        def test_it(gilcheck, subtests):
            for number in range(3):
                with subtests.test(number=number): assert number != 1
        def test_fine(gilcheck, subtests):
            with subtests.test("fine"): pass
        """,
        "-v",
    )
    result.stdout.fnmatch_lines(["*SUBFAILED(number='1')*", "*contains 1 failed subtest*"])
    assert result.parseoutcomes() == {"passed": 1, "failed": 2, "subtests": 3}


def test_a_wider_fixture_is_shared_if_pytest_set_it_up_and_the_tests_own_if_the_test_asked_for_it_first(run):
    run(
        """
        import os, pathlib, pytest
        PYTEST = os.getpid()
        log = pathlib.Path("log")

        @pytest.fixture(scope="module")
        def shared():
            assert os.getpid() == PYTEST
            yield []
            assert os.getpid() == PYTEST

        @pytest.fixture(scope="session")
        def late():
            before = os.getpid()
            with log.open("a") as file: file.write(f"set up {before == PYTEST}\\n")
            yield before
            assert os.getpid() == before
            with log.open("a") as file: file.write(f"torn down {before == PYTEST}\\n")

        def test_first(gilcheck, shared, request):
            assert request.getfixturevalue("late") == os.getpid()
            shared.append(1)
        def test_second(gilcheck, shared, request):
            assert request.getfixturevalue("late") == os.getpid()
            assert shared == []
            assert log.read_text() == "set up False\\ntorn down False\\nset up False\\n"
        def test_plain(late): assert late == PYTEST
        def test_third(gilcheck, late): assert late == PYTEST != os.getpid()
        """
    ).assert_outcomes(passed=4)


def test_failures_of_both_teardowns_are_shown(run):
    result = run(
        """
        import pytest
        @pytest.fixture(scope="module")
        def wide():
            yield
            assert 0, "the wide one"
        @pytest.fixture
        def narrow(wide):
            yield
            assert 0, "the narrow one"
        def test_it(gilcheck, narrow): pass
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the wide one*"])
    result.stdout.fnmatch_lines(["*the narrow one*"])


@pytest.mark.slow
def test_the_cache_and_pytest_exit_work_from_every_phase(run, pytester):
    source = """
        import pytest
        @pytest.fixture
        def leaves(request):
            if request.config.getoption("-k") == "first": pytest.exit("enough", returncode=9)
            yield
            pytest.exit("later", returncode=8)
        def test_first(gilcheck, leaves): pass
        def test_last(gilcheck, leaves, cache): cache.set("our/key", 5)
        def test_after(): assert 0
    """
    assert run(source, "-k", "first").ret == 9
    result = pytester.runpytest_subprocess("-pgilcheck", "-k", "last or after")
    assert result.ret == 8
    assert (pytester.path / ".pytest_cache/v/our/key").read_text() == "5"


SYSMON = pytest.param("sysmon", marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring"))


CTRACE = pytest.param(
    "ctrace", marks=pytest.mark.skipif(find_spec("coverage.tracer") is None, reason="coverage has no tracer in C")
)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["", pytest.param("fork", marks=pytest.mark.slow)], ids=["fork", "a process of its own"])
@pytest.mark.parametrize("core", one_in(3, [CTRACE, "pytrace", SYSMON]))
def test_coverage_of_every_phase_comes_home(pytester, monkeypatch, core, hidden):
    monkeypatch.setenv("COVERAGE_CORE", core)
    monkeypatch.setenv("GILCHECK_HIDE", hidden)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        measured="\n".join(f"def {name}():\n    return 1" for name in "abcde"),
        test_measured="""
            import measured, os, pytest
            PYTEST = int(os.environ.setdefault("PYTEST_OF_THE_RUN", str(os.getpid())))
            @pytest.fixture
            def narrow():
                measured.a()
                measured.b()
                yield
                measured.d()
            def test_it(gilcheck, narrow):
                assert os.getpid() != PYTEST
                measured.c()
        """,
    )
    options = ["--branch"] if core == "ctrace" else []
    measured = [sys.executable, "-m", "coverage", "run", *options, "--include=measured.py"]
    command = [*measured, "-m", "pytest", "-pgilcheck", "-q", "-Werror"]
    subprocess.run(command, cwd=pytester.path, check=True, capture_output=True)
    shown = subprocess.run(
        [sys.executable, "-m", "coverage", "json", "-o", "-"], cwd=pytester.path, check=True, capture_output=True
    )
    assert json.loads(shown.stdout)["files"]["measured.py"]["missing_lines"] == [10]


@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["", pytest.param("fork", marks=pytest.mark.slow)], ids=["fork", "a process of its own"])
def test_a_check_in_a_teardown_is_on_record_and_a_fork_that_returns_reports_nothing(run, pytester, monkeypatch, hidden):
    monkeypatch.setenv("GILCHECK_HIDE", hidden)
    result = run(
        """
        import os, pytest
        values = []

        @pytest.fixture
        def checks_last(gilcheck):
            yield
            gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()

        def test_it(checks_last): pass

        @pytest.fixture
        def forks():
            os.fork()
            yield
        @pytest.mark.parametrize("here", ["set-up", "call"])
        def test_forks(gilcheck, here, request):
            if here == "call": assert os.fork() or 0, "the fork fails, and nobody hears of it"
            else: request.getfixturevalue("forks")
        def test_forks_and_fails(gilcheck):
            if os.fork() == 0: return
            os.wait()
            assert 0, "the fork passed before"
        def test_after(gilcheck): pass
        """,
        "--gilcheck-json=e.json",
    )
    result.assert_outcomes(passed=4, failed=1)
    record, _ = json.loads((pytester.path / "e.json").read_text())["records"]
    assert (record["check"], record["verdict"], record["outcome"]) == ("fuzz", "holds", "passed")


@pytest.mark.slow
def test_a_change_of_a_wider_fixture_that_its_teardown_cannot_see_is_told_once(run):
    result = run(
        """
        import pytest

        class Recorder:
            def __init__(self): self.errors, self.cached = [], 1

        @pytest.fixture(scope="module")
        def errors():
            found = []
            yield found
            assert not found
        @pytest.fixture(scope="session")
        def recorder():
            yield Recorder()
        @pytest.fixture(scope="module")
        def untouched():
            yield {"a": [1, 2]}
        @pytest.fixture(scope="module")
        def without_teardown(): return []

        def test_list(gilcheck, errors, untouched, without_teardown):
            errors.append(1)
            without_teardown.append(1)
        def test_again(gilcheck, errors): errors.append(1)
        def test_attribute(gilcheck, recorder): recorder.errors.append("x")
        def test_nothing(gilcheck, errors, recorder, untouched): assert not errors and recorder.errors == []
        """,
        "-W",
        "error",
    )
    result.assert_outcomes(passed=4, warnings=2)
    text = " ".join(result.stdout.str().split())
    for words in ("'errors' is module-scoped, and test_list", "'recorder' is session-scoped, and test_attribute"):
        assert f"gilcheck: {words} changed it in its own process: neither its teardown nor a later test sees that" in text
    assert "'untouched'" not in text


@pytest.mark.parametrize("hidden", ["", "fork"])
@pytest.mark.slow
def test_properties_of_the_suite_come_home_and_no_file_that_the_run_writes_is_damaged(run, pytester, monkeypatch, hidden):
    monkeypatch.setenv("GILCHECK_HIDE", hidden)
    source = """
        import logging
        def test_first(): logging.warning("from the first")
        def test_it(gilcheck, record_testsuite_property): record_testsuite_property("of the suite", "<here>")
        def test_last(): logging.warning("from the last")
    """
    run(source, "--junitxml=junit.xml", "--log-file=log.txt").assert_outcomes(passed=3)
    junit = (pytester.path / "junit.xml").read_text()
    assert junit.count('<property name="of the suite" value="&lt;here&gt;"') == 1
    assert junit.count("<testcase ") == 3
    log = (pytester.path / "log.txt").read_text()
    assert "from the first" in log
    assert "from the last" in log
    assert "\0" not in log
