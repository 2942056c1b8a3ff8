"""After a test that crashes, hangs or exits, the run continues and reports what happened."""

import sys

import pytest

WORST = {
    "segfault": ("import ctypes; ctypes.string_at(0)", "*killed by SIGSEGV*"),
    "exit": ("import os; os._exit(3)", "*exited with status 3*"),
    "abort": ("import os; os.abort()", "*killed by SIGABRT*"),
    "endless loop": ("while True: pass", "*no end after 1 s*"),
    "GIL held in C": ("import ctypes; ctypes.PyDLL(None).sleep(600)", "*did not end within its time limit*"),
    "interrupt": ("raise KeyboardInterrupt", "*KeyboardInterrupt*"),
}
LONG = ("abort", "exit", "GIL held in C", "interrupt")


def body(code):
    return "\n".join(f"    {line}" for line in code.split("\n"))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
@pytest.mark.parametrize(
    ("way", "worst"),
    [pytest.param("marker", worst, marks=pytest.mark.slow if worst in LONG else ()) for worst in WORST]
    + [pytest.param("fixture", worst, marks=() if worst == "segfault" else pytest.mark.slow) for worst in WORST],
)
def test_the_run_continues_after(run, worst, way):
    code, line = WORST[worst]
    if way == "marker":
        test = f"@pytest.mark.gil_scaling(timeout=1)\ndef test_worst():\n{body(code)}"
    else:
        test = f"def work():\n{body(code)}\ndef test_worst(gilcheck):\n    gilcheck.scaling(work, timeout=1)"
    result = run(f"import pytest\n{test}\ndef test_after(): pass")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([line])


SWALLOWER = """
    import time, pytest

    @pytest.mark.gil_scaling(timeout=1)
    def test_swallows():
        while True:
            try:
                time.sleep(10)
            except BaseException:
                pass

    def test_after(): pass
"""


@pytest.mark.slow
def test_a_test_that_swallows_every_interrupt_is_killed_and_its_stack_shown(run):
    result = run(SWALLOWER)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*could not be ended*", "*in test_swallows*"])


@pytest.mark.slow
def test_without_a_fork_a_hang_times_out_and_the_process_can_exit(run):
    result = run(SWALLOWER, "--gilcheck-isolate=none")
    result.assert_outcomes(failed=1, passed=1)


def test_an_interrupt_in_the_body_of_a_test_with_the_fixture_is_its_failure(run):
    result = run("def test_it(gilcheck): raise KeyboardInterrupt\ndef test_after(): pass")
    result.assert_outcomes(failed=1, passed=1)


@pytest.mark.slow
def test_pytest_exit_still_ends_the_run(run):
    result = run("import pytest\ndef test_it(gilcheck): pytest.exit('enough')\ndef test_after(): pass")
    result.assert_outcomes()
    assert "enough" in result.stdout.str()


def test_output_logging_and_tracebacks_of_the_child_are_shown(run):
    result = run(
        """
        import logging, sys

        def test_it(gilcheck):
            print("to stdout")
            print("to stderr", file=sys.stderr)
            logging.warning("to the log")
            value = [1, 2]
            assert value == [1, 3]
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert [[]1, 2] == [[]1, 3]*", "*to stdout*"])
    for text in ("to stderr", "to the log", "At index 1 diff: 2 != 3"):
        assert text in result.stdout.str()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupted_run_leaves_no_child_behind(pytester, monkeypatch):
    import os
    import signal
    import subprocess
    import time

    path = pytester.makepyfile(
        """
        import os, pathlib, time
        def test_it(gilcheck):
            pathlib.Path("pid").write_text(str(os.getpid()))
            time.sleep(60)
        """
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gilcheck", path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    for _ in range(600):
        if (pytester.path / "pid").exists() and (pytester.path / "pid").read_text():
            break
        time.sleep(0.05)
    child = int((pytester.path / "pid").read_text())
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert b"KeyboardInterrupt" in out
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.slow
def test_with_pdb_a_checked_test_stays_where_the_user_can_look_at_it(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    path = pytester.makepyfile(
        """
        import os
        PYTEST = os.getpid()
        def test_fails(gilcheck):
            answer = 40 + (2 if os.getpid() == PYTEST else 0)
            assert answer is None
        def test_after(gilcheck): assert os.getpid() == PYTEST
        """
    )
    command = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "-pgilcheck", "--pdb", path]
    result = pytester.run(*command, stdin=b"p 'looked at', answer\nc\n")
    result.assert_outcomes(failed=1, passed=1)
    assert "('looked at', 42)" in result.stdout.str()
