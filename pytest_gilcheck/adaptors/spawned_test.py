"""Run one test in a pytest process of its own, where this process cannot be forked: threads run, or the system has no ``fork``.

The new process gets this one's options and ``sys.path``, collects the same tests, runs one of them and appends its messages to a
file. A file works on every system, and no test can close it, because it is opened anew for each message. Wider fixtures are set up
again there.

What does not work: to give it the node id alone (rootdir, conftests and ``--pyargs`` may depend on the arguments).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..core.child_protocol import ANSWER, DEADLINE, NOTE, Inbox, encode, encode_seconds
from ..core.clocks import monotonic
from ..core.errors import BadValue
from ..core.lifecycle import Lifecycle, start_program
from ..core.parent_side import Ending, Outcome
from ..core.stack_dumps import StackDumps, write_stacks_to
from ..core.system import exit_at_once, getpid
from ..settings import SPAWNED_TEST
from .coverage_data import ChildCoverage, settings_for_a_process
from .messages import packed_warnings, pickled
from .suite_properties import suite_properties

_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
_POLL = 0.02  # seconds
_EXIT_GRACE = 10.0  # seconds that the process gets to exit after its last message
_CRASH = "Fatal Python error"
_WRITING = {  # by the attribute of their value: options that have a run write what a second run would damage
    "log_file": "--log-file=",
    "report_log": "--report-log=",
    "htmlpath": "--html=",
    "allure_report_dir": "--alluredir=",
    "json_report_file": "--json-report-file=none",
    "pastebin": "--pastebin=",
}
FAILURE = pytest.StashKey[str]()  # of an item: the last line of the failure of an earlier run of it
_LAST_LINES = 5  # of its errors, for a message
_SELECTING = ("lfplugin", "nfplugin", "stepwiseplugin")  # plugins of pytest's cache, which would select other tests


class NotSpawned(Exception):
    """No process of its own can run the test; the message says why."""


class SpawnedSide:
    """The parent's side of a test that runs in a pytest process of its own; used as `core.parent_side.ParentSide` is.

    Args:
        limit: seconds until the process is ended, unless it sets another deadline.
        why: what forbids a fork.

    Raises:
        NotSpawned: this run cannot be repeated by a command line.
    """

    interrupted = False  # Ctrl-C ends the process at once

    def __init__(self, item: pytest.Item, limit: float, why: str) -> None:
        arguments = [*_arguments(item.config), *_without_side_effects(item.config)]
        self._folder = tempfile.TemporaryDirectory(prefix="gilcheck-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        if getattr(item.config.option, "xmlpath", None):  # where properties of the suite are gathered
            arguments.append(f"--junitxml={folder / 'junit.xml'}")
        self._messages, self._errors = folder / "messages", folder / "errors"
        self._messages.touch()
        (folder / "stacks").touch()
        self._stacks = StackDumps((folder / "stacks").open("rb"))
        job = {
            "folder": str(folder),
            "test": item.nodeid,
            "limit": limit,
            "why": why,
            "failure": item.stash.get(FAILURE, ""),
            "coverage": settings_for_a_process(),
        }
        shows = item.config.getoption("capture", "fd") == "no"
        with self._errors.open("wb") as errors:
            self._life: Lifecycle = start_program(
                [sys.executable, *_flags(), "-c", _PROGRAM, json.dumps(sys.path), *arguments],
                group=True,
                stdin=subprocess.DEVNULL,
                stdout=None if shows else subprocess.DEVNULL,
                stderr=errors,
                cwd=item.config.invocation_params.dir,
                env=os.environ | {SPAWNED_TEST: json.dumps(job)},
                start_new_session=True,
            )
        self._start = monotonic()
        self._inbox = Inbox(limit)
        self._read = 0

    def wait_for_note(self) -> bytes | Outcome:
        """Wait for the next note; the outcome if the process answers or ends first."""
        try:
            while True:
                gone = self._life.gone()  # looked at before the file is read, so that the last messages are not missed
                self._receive()
                if self._inbox.notes:
                    return self._inbox.notes.pop(0)
                if self._inbox.answer is not None:
                    self._life.wait(_EXIT_GRACE)
                    return self._outcome(Ending.ANSWERED)
                if gone:
                    status = self._life.status
                    return self._outcome(Ending.UNKNOWN if status is None else Ending.KILLED if status < 0 else Ending.EXITED)
                if self._life.stopped:
                    return self._outcome(Ending.STOPPED)
                if self._inbox.late:
                    self._stacks.request(self._life.pid, lambda: self._life.gone_at)
                    return self._outcome(Ending.HUNG)
                self._life.wait(_POLL)
        except BaseException:
            self.end()
            raise

    def end(self) -> str:
        """Kill the process and its group; returns the stacks that it wrote."""
        self._life.end()
        trace = self._stacks.text() or self._last_errors()
        self._stacks.close()
        self._folder.cleanup()
        return trace

    def _last_errors(self) -> str:
        """What a crash has written, which pytest's ``faulthandler`` does; otherwise the last lines."""
        text = self._errors.read_text(errors="replace")
        _, found, crash = text.partition(_CRASH)
        return f"{found}{crash}".strip() or "\n".join(text.splitlines()[-_LAST_LINES:])

    def _outcome(self, ending: Ending) -> Outcome:
        status, stopped = self._life.status, self._life.stopped
        trace = self.end()
        number = stopped if ending is Ending.STOPPED else 0 if ending is Ending.HUNG else abs(status or 0)
        return Outcome(ending, self._inbox.answer or b"", number, trace, monotonic() - self._start)

    def _receive(self) -> None:
        with FileIO(self._messages) as file:
            file.seek(self._read)
            data = file.readall()
        self._read += len(data)
        self._inbox.take(data)


class SpawnedTest:
    """The plugin of the process that runs one test: selects it, and sends its reports home.

    Attributes:
        why: what forbade a fork of the run's own process.
    """

    def __init__(self, config: pytest.Config, job: dict[str, Any]) -> None:
        self._config, self._test, self._limit = config, job["test"], float(job["limit"])
        self._messages = str(Path(job["folder"]) / "messages")
        self._stacks = (Path(job["folder"]) / "stacks").open("ab", buffering=0)
        write_stacks_to(self._stacks)
        self._hook: Any = config.hook
        self._own: Any = None  # the report that pytest logs next
        self._warnings: list[Any] = []
        self._call_over = False
        self._pid, self._failure, self.why = getpid(), job["failure"], str(job["why"])
        self._coverage = ChildCoverage.begin_anew(job["coverage"])

    def set_deadline(self, seconds: float | None) -> None:
        """Have the parent end this process in ``seconds`` from now; None suspends the deadline."""
        self._append(DEADLINE, encode_seconds(seconds))

    def is_mine(self) -> bool:
        """Whether this is the process of the test, and not one that the test has forked."""
        return getpid() == self._pid

    def check_over(self) -> None:
        """The deadline of a check ends; that of the phase begins anew."""
        self.set_deadline(self._limit)

    def send(self, kind: str, **content: Any) -> None:
        """Send a message home."""
        self._append(NOTE, pickled({"kind": kind, **content}))

    def fail(self, text: str) -> NoReturn:
        """Tell the parent that this process cannot go on, and exit."""
        self._end_another()
        self._append(ANSWER, pickled({"kind": "failed", "text": text}))
        exit_at_once(1)

    def exit(self, error: BaseException) -> NoReturn:
        """Tell the parent that the test called ``pytest.exit``, and exit."""
        self._end_another()
        returncode = getattr(error, "returncode", None)
        self._append(ANSWER, pickled({"kind": "exit", "text": str(error), "returncode": returncode}))
        exit_at_once(1)

    def report_made(self, item: pytest.Item, report: pytest.TestReport, when: str) -> None:
        """Send the report of a phase; a report that the test makes itself is sent when it is logged."""
        self._end_another()
        if when == "call" and not self._call_over:
            return
        if when == "call":
            self._hook.pytest_report_teststatus(report=report, config=self._config)
        self.check_over()
        self._own = report
        self.send("phase", when=when, report=self._serialised(report), sections=item._report_sections, warnings=[])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid == self._test][:1]
        for item in items:
            item.stash[FAILURE] = self._failure

    def pytest_runtest_logstart(self) -> None:
        self._call_over = False
        self.send("began")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Any:
        try:
            return (yield)
        finally:
            self._end_another()
            self._call_over = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report is not self._own:
            self.send("log", report=self._serialised(report))

    def pytest_warning_recorded(self, warning_message: Any, when: str) -> None:
        if when == "runtest":
            self._warnings += packed_warnings([warning_message])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._end_another()
        content = {"coverage": self._coverage.end(), "warnings": self._warnings, "suite": suite_properties(self._config)}
        self._append(ANSWER, pickled({"kind": "end"} | content))

    def _end_another(self) -> None:
        """End a process that the test has forked, and that came back from the test as well: it must not report."""
        if not self.is_mine():
            exit_at_once(1)

    def _serialised(self, report: pytest.TestReport) -> Any:
        return self._hook.pytest_report_to_serializable(config=self._config, report=report)

    def _append(self, kind: bytes, payload: bytes) -> None:
        data = memoryview(encode(kind, payload))
        with FileIO(self._messages, "a") as file:
            while data:
                data = data[file.write(data) or 0 :]


def in_this_process(config: pytest.Config) -> SpawnedTest | None:
    """The plugin of this process, if another pytest started it for one test; the processes that it starts are no such ones.

    Raises:
        pytest.UsageError: no pytest has set the variable.
    """
    if (text := os.environ.pop(SPAWNED_TEST, None)) is None:
        return None
    try:
        job = json.loads(text)
        is_ours = isinstance(job, dict) and Path(job["folder"], "messages").is_file()
    except (ValueError, KeyError, TypeError, OSError):
        is_ours = False
    if not is_ours:
        error = BadValue(
            SPAWNED_TEST, text, "to be set only by a pytest that starts another one for one test: unset it", "environment"
        )
        raise pytest.UsageError(f"gilcheck: {error}")
    return SpawnedTest(config, job)


def _arguments(config: pytest.Config) -> list[str]:
    """The command line of this run, without the program.

    Raises:
        NotSpawned: it has none.
    """
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        program, *arguments = [str(argument) for argument in worker.get("mainargv", [""])]
        if Path(program).stem not in ("pytest", "py.test", "__main__"):
            raise NotSpawned(f"the run of pytest-xdist was not started by pytest's command line, but by {program!r}")
        return arguments
    if any(not isinstance(plugin, str) for plugin in config.invocation_params.plugins or ()):
        raise NotSpawned("pytest.main was given plugins, which another process does not have")
    return [str(argument) for argument in config.invocation_params.args]


def _without_side_effects(config: pytest.Config) -> list[str]:
    """Options that keep the new process from writing what this one writes, and from selecting other tests."""
    options = [f"-pno:{name}" for name in _SELECTING]
    options += [option for name, option in _WRITING.items() if getattr(config.option, name, None)]
    plugins = config.pluginmanager
    if plugins.has_plugin("xdist"):
        options += ["-n0", "--dist=no"]
    if plugins.has_plugin("pytest_cov"):
        options.append("--no-cov")
    if (seed := config.getoption("randomly_seed", None)) is not None:
        options.append(f"--randomly-seed={seed}")
    if (factory := getattr(config, "_tmp_path_factory", None)) is not None:
        options.append(f"--basetemp={factory.mktemp('gilcheck')}")  # pytest would remove the folder of this run
    return options


def _flags() -> list[str]:
    """The options of this interpreter, such as ``-W error`` and ``-X dev``."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined] # as multiprocessing does
    return flags
