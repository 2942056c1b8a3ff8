"""Where a fork is not safe, or there is none, a pytest of its own runs the test; where that cannot be, nothing is claimed."""

import json
import re
import sys

import pytest

from tests.slow import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests use signals and descriptors of POSIX")

IN_ANOTHER_PROCESS = """
import os, pathlib, threading, pytest
values = []
first = pathlib.Path("first")  # the process that imported this module first: the run's own
if not first.exists(): first.write_text(str(os.getpid()))
PYTEST = int(first.read_text())
"""
SERVER = """
@pytest.fixture(scope="module")
def server():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="a server", daemon=True)
    thread.start()
    yield thread
    stop.set()
    thread.join()
"""


@pytest.mark.slow
def test_a_test_beside_a_thread_of_a_wider_fixture_runs_in_a_process_of_its_own_and_may_crash(run, pytester):
    result = run(
        f"""
{IN_ANOTHER_PROCESS}{SERVER}
import ctypes, warnings

@pytest.fixture
def checked(server):
    found = []
    yield found
    assert not found, "seen by the teardown"

def test_fails_later(gilcheck, server, checked, record_property):
    assert server.is_alive() and os.getpid() != PYTEST
    print("printed there")
    warnings.warn("warned there")
    record_property("from", "there")
    checked.append(1)

def test_crashes(gilcheck, server):
    gilcheck.fuzz(threads=[lambda: values.append(1)] * 2, schedules=5).assert_holds()
    ctypes.string_at(0)

def test_after(server): assert os.getpid() == PYTEST
""",
        "--gilcheck-json=e.json",
        "--junitxml=junit.xml",
        "--basetemp=mine",
    )
    result.assert_outcomes(passed=2, failed=1, errors=1, warnings=2)  # the other one is pytest's, of record_property and xunit2
    result.stdout.fnmatch_lines(["*record_property is incompatible with junit_family*"])
    why = "threads are running that a fork would lose: a server (started by fixture 'server')"
    for line in (
        "*seen by the teardown*",
        f"1 test ran in a pytest of its own: {why}",
        "printed there",
        "*warned there*",
        "*killed by SIGSEGV*",
        "*in test_crashes",
    ):
        result.stdout.fnmatch_lines([line])
    [record] = json.loads((pytester.path / "e.json").read_text())["records"]
    assert (record["check"], record["verdict"], record["outcome"]) == ("fuzz", "holds", "failed")
    assert record["details"]["spawned"] == why
    junit = (pytester.path / "junit.xml").read_text()
    assert junit.count("<testcase ") == 4 - 1
    assert '<property name="from" value="there"' in junit


NATIVE = """
import ctypes
libc = ctypes.CDLL(None)
libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the threads of a process")
@pytest.mark.parametrize(("native", "mode", "how"), one_in(4, [pytest.param(*row) for row in [
    (NATIVE, "auto", "other"), (NATIVE, "fork", "fork"), ("", "auto", "fork"), (NATIVE, "none", "same")]]))  # fmt: skip
def test_threads_that_a_library_started_when_it_was_imported_prevent_a_fork_unless_it_is_asked_for(run, native, mode, how):
    expected = {"other": "os.getpid() != PYTEST and os.getppid() == PYTEST and process_began_anew()",
                "fork": "os.getpid() != PYTEST and os.getppid() == PYTEST and not process_began_anew()",
                "same": "os.getpid() == PYTEST"}[how]  # fmt: skip
    run(
        f"""
{IN_ANOTHER_PROCESS}
MINE = os.getpid()
def process_began_anew(): return os.getpid() == MINE
{native}
def test_it(gilcheck): assert {expected}
""",
        f"--gilcheck-isolate={mode}",
    ).assert_outcomes(passed=1)


@pytest.mark.slow
def test_what_cannot_be_repeated_by_a_command_line_is_inconclusive_and_on_record(pytester, monkeypatch):
    monkeypatch.setenv("GILCHECK_HIDE", "fork")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.gil_fuzz
        def test_it(): assert 0, "never run"
        def test_plain(): pass
        """
    )
    program = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:], plugins=[object()]))"
    options = ["-pgilcheck", "-pno:cacheprovider", "-rs", "--gilcheck-json=e.json"]
    result = pytester.run(sys.executable, "-c", program, *options)
    result.assert_outcomes(skipped=1, passed=1)
    text = " ".join(result.stdout.str().split())
    assert "inconclusive: not isolated: this platform has no fork; pytest.main was given plugins" in text
    [record] = json.loads((pytester.path / "e.json").read_text())["records"]
    assert (record["check"], record["verdict"]) == ("fuzz", "inconclusive")
    assert "not isolated" in record["reason"]
    pytester.run(sys.executable, "-c", program, *options, "--gilcheck-strict").assert_outcomes(errors=1, passed=1)
    pytester.run(sys.executable, "-c", program, *options, "--gilcheck-isolate=none").assert_outcomes(failed=1, passed=1)


@pytest.mark.slow
def test_a_wider_fixture_that_is_not_possible_twice_is_inconclusive_and_one_that_fails_is_an_error(run):
    result = run(
        f"""
{IN_ANOTHER_PROCESS}
import socket

@pytest.fixture(scope="module")
def port():
    with socket.create_server(("127.0.0.1", 0 if os.getpid() == PYTEST else int(pathlib.Path("port").read_text()))) as server:
        pathlib.Path("port").write_text(str(server.getsockname()[1]))
        threading.Thread(target=threading.Event().wait, name="serves", daemon=True).start()
        yield server

def test_first(gilcheck, port): pass

@pytest.fixture
def broken(): raise LookupError("broken itself")
def test_other(gilcheck, broken): pass
""",
        "-rs",
    )
    result.assert_outcomes(skipped=1, errors=1)
    text = " ".join(result.stdout.str().split())
    assert "a pytest of its own cannot set up its wider fixtures a second time: OSError" in text
    result.stdout.fnmatch_lines(["*broken itself*"])


@pytest.mark.slow
def test_a_worker_of_xdist_and_a_system_without_fork_isolate_too(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_HIDE", "fork")
    result = run(
        f"""
{IN_ANOTHER_PROCESS}
@pytest.fixture
def leaves():
    yield
    os._exit(3)

def test_exit(gilcheck): os._exit(4)
def test_teardown(gilcheck, leaves): pass
def test_interrupt(gilcheck): raise KeyboardInterrupt
@pytest.mark.xfail(strict=True)
def test_expected(gilcheck): assert 0
def test_subtests(gilcheck, subtests):
    for number in range(2):
        with subtests.test(number=number): assert number
def test_after(gilcheck): assert os.environ["PYTEST_XDIST_WORKER"] == "gw0"
""",
        "-n1",
    )
    outcomes = result.parseoutcomes()
    assert {name: outcomes.get(name) for name in ("errors", "xfailed", "passed")} == {"errors": 1, "xfailed": 1, "passed": 2}
    assert outcomes["failed"] == 2 + 2  # the test with a failed subtest counts twice
    for line in ("*exited with status 4*", "*in the teardown, the process exited with status 3*", "*KeyboardInterrupt*"):
        result.stdout.fnmatch_lines([line])


@pytest.mark.slow
def test_pytest_exit_in_a_process_of_its_own_ends_the_run(run, monkeypatch):
    monkeypatch.setenv("GILCHECK_HIDE", "fork")
    result = run("import pytest\ndef test_it(gilcheck): pytest.exit('enough', returncode=7)\ndef test_after(): assert 0")
    assert result.ret == 7
    assert re.search("enough", result.stdout.str())


@pytest.mark.parametrize("text", one_in(3, ["x", "1", "{}", '{"folder": "/nowhere"}']))
def test_a_variable_that_no_pytest_has_set_for_another_is_a_usage_error_in_one_line(run, monkeypatch, text):
    monkeypatch.setenv("GILCHECK_SPAWNED_TEST", text)
    result = run("def test_it(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: gilcheck: GILCHECK_SPAWNED_TEST='{text}' (from environment): expected *: unset it"])
