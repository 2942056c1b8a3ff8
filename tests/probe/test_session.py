"""A program that is no interpreter, or ends early: one clear reason, and no process left."""

import os
import signal

import pytest

from pytest_gilcheck.probe.session import ExperimentFailed, InterpreterGone, InterpreterSession, NoAnswer, command, environment

from .interpreters import fake, left, patched

CONNECT = "s = socket.create_connection(('127.0.0.1', int(sys.argv[2]))); s.sendall(sys.argv[3].encode())\n"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("time.sleep(600)", NoAnswer, "it did not answer in 1 s"),
        ("subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__]); time.sleep(600)", NoAnswer, "1 s"),
        ("sys.exit(3)", InterpreterGone, "it exited with status 3 before it ran our script"),
        ("os.kill(os.getpid(), 9)", InterpreterGone, "it was killed by SIGKILL before"),
        (
            "print('\\x1b[31mno, \\nthank you\\x07')",
            InterpreterGone,
            "exited with status 0 before it ran our script; its last output: 'thank you'",
        ),
        ("while True: print('garbage' * 1000)", NoAnswer, "it did not answer in 1 s; its last output: '"),
        ("os.write(1, bytes(range(256)))", InterpreterGone, "exited with status 0"),
        (
            CONNECT + "s.sendall(b'garbage\\n'); time.sleep(600)",
            InterpreterGone,
            "it answered 'garbage', which is no answer of the script",
        ),
        (CONNECT + "s.sendall(b'[1]\\n'); time.sleep(600)", InterpreterGone, "no answer of the script"),
        (CONNECT + "while True: s.sendall(b'garbage' * 1000)", InterpreterGone, "its answer is longer than"),
        (CONNECT + "s.close(); time.sleep(600)", InterpreterGone, "it closed the connection, and is still running"),
        (
            CONNECT + "s.recv(1); sys.exit('goodbye')",
            InterpreterGone,
            "it exited with status 1 during the experiment; its last output: 'goodbye'",
        ),
        (CONNECT + "time.sleep(600)", NoAnswer, "it did not answer in 1 s"),
    ],
)
def test_a_program_that_is_no_python_is_refused_with_a_reason_and_leaves_no_process(tmp_path, body, kind, words):
    with pytest.raises(kind) as caught, InterpreterSession([fake(tmp_path, body)], answer_timeout=1) as interpreter:
        interpreter.request("facts")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert not left(str(tmp_path))


@pytest.mark.parametrize("given", ["/no/such/python", "no-such-python-anywhere", "", "'", " "])
def test_a_program_that_does_not_exist_is_refused(given):
    with pytest.raises(ExperimentFailed, match="there is no such program"):
        command(given)


def test_a_file_that_cannot_be_executed_is_refused(tmp_path):
    (tmp_path / "text").write_text("text")
    with pytest.raises(ExperimentFailed, match="not a program that can be run"):
        command(str(tmp_path / "text"))
    (tmp_path / "program").write_text("#!/no/such/interpreter\n")
    (tmp_path / "program").chmod(0o755)
    with pytest.raises(ExperimentFailed, match="it cannot be started"):
        InterpreterSession(command(str(tmp_path / "program")), answer_timeout=1)


def test_a_command_line_is_a_program_or_one_with_arguments(tmp_path):
    path = fake(tmp_path, "")
    assert command(path) == [path]
    assert command(f"{path} -X gil=1") == [path, "-X", "gil=1"]
    os.rename(path, tmp_path / "a fake")
    assert command(str(tmp_path / "a fake")) == [str(tmp_path / "a fake")]


def test_an_error_in_the_script_is_reported_and_the_next_command_works(tmp_path):
    with InterpreterSession(
        [patched(tmp_path, "scope['COMMANDS']['wakeups'] = lambda order: 1 / 0")], answer_timeout=20
    ) as interpreter:
        with pytest.raises(ExperimentFailed, match="ZeroDivisionError"):
            interpreter.request("wakeups")
        assert interpreter.request("facts")["implementation"]
        assert interpreter.memory() > 1e6
    assert not left(str(tmp_path))


def test_variables_that_decide_what_is_imported_are_not_passed_on(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PYTHON_GIL", "1")
    monkeypatch.setenv("OTHER", "1")
    given = environment()
    assert ("PYTHONPATH" in given, given["PYTHON_GIL"], given["OTHER"]) == (False, "1", "1")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_an_interpreter_that_ignores_signals_is_ended(tmp_path):
    patch = "import signal\nfor s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)"
    interpreter = InterpreterSession([patched(tmp_path, patch)], answer_timeout=20)
    os.kill(interpreter.process.pid, signal.SIGTERM)
    interpreter.close()
    assert not left(str(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_an_interpreter_receives_sigint_even_where_we_ignore_it_like_a_background_job(tmp_path):
    patch = (
        "import signal\nscope['COMMANDS']['facts'] = lambda order: {'ignored': signal.getsignal(signal.SIGINT) is signal.SIG_IGN}"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with InterpreterSession([patched(tmp_path, patch)], answer_timeout=20) as interpreter:
            assert interpreter.request("facts") == {"ignored": False}
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
