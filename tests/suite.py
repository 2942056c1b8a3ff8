"""How this suite runs: a pytest plugin that `tests/conftest.py` loads.

- Workers: a run of the whole suite uses pytest-xdist with `WORKERS` processes, unless ``-n`` says otherwise.
- `exclusive`: a test with this mark measures time, so no other test of the session runs beside it. These tests run last, on one
  worker. A lock keeps them apart from the tests that the other workers have not finished.
- `slow`: ``addopts`` deselects tests with this mark; the summary says how many.
- ``--share K/N``: of the selected tests, every one belongs to one of N shares by the hash of its name; the K-th runs. `.ci/run`
  runs one share of the slow tests, which one the commit decides.
- Undecided tests: a session fails if more than `MOST_UNDECIDED` of its tests could not be decided (`tests/undecided.py`).
- A machine lock of its own for each worker: two checks of behaviour may run at once. Exclusive tests use the real one.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from .undecided import PREFIXES

try:
    import fcntl
except ImportError:  # Windows: no locks, so no workers by default
    fcntl = None  # type: ignore[assignment]

WORKERS = 6  # on two cores: half of the time tests wait for processes, signals and pauses
MOST_UNDECIDED = 0.05  # of the tests of a session
FEW_UNDECIDED = 4  # never fail a session
FOLDER = "SUITE_OF_GILCHECK_FOLDER"  # environment: a folder that all workers of this session share
MACHINE_LOCK = "GILCHECK_LOCK"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", help="run the K-th of N shares of the selected tests (of this suite)")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Deselected(config), "suite-deselected")
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Worker(Path(os.environ[FOLDER]), config.workerinput["workerid"]), "suite-worker")
        return
    config.pluginmanager.register(Undecided(), "suite-undecided")
    folder = tempfile.mkdtemp(prefix="gilcheck-suite-")
    os.environ[FOLDER] = folder

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop(FOLDER, None)

    config.add_cleanup(remove)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Choose the workers and how tests are dealt out to them."""
    option = config.option
    if hasattr(config, "workerinput") or not hasattr(option, "numprocesses"):
        return
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    here = option.usepdb or option.trace or option.collectonly or option.capture == "no"
    if option.numprocesses is None and not option.tx and whole and not here and fcntl is not None:
        option.numprocesses = WORKERS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out one by one, in their order, but those of a group together and to one worker.

    pytest-xdist's own ``--dist loadgroup`` (3.8) does not work with pytest 9.2: it adds the group to ``item._nodeid``.
    """
    if config.option.dist != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
        @functools.cached_property
        def _groups(self) -> dict[str, str]:
            [groups, *_] = Path(os.environ[FOLDER]).glob("groups-*.json")  # all workers write the same
            return dict(json.loads(groups.read_text()))

        def _split_scope(self, nodeid: str) -> str:
            return self._groups.get(nodeid, nodeid)

    config.option.loadscopereorder = False  # exclusive tests stay last
    return ByGroup(config, log)


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The chosen share; exclusive tests last, and all on one worker."""
    if config.option.share is not None:
        chosen, shares = _share(config.option.share)
        others = [item for item in items if zlib.crc32(item.nodeid.encode()) % shares != chosen]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % shares == chosen]
    for item in items:
        if is_exclusive(item):
            item.add_marker(pytest.mark.xdist_group("exclusive"))
    items.sort(key=is_exclusive)
    if hasattr(config, "workerinput"):
        groups = {item.nodeid: mark.args[0] for item in items if (mark := item.get_closest_marker("xdist_group"))}
        Path(os.environ[FOLDER], f"groups-{config.workerinput['workerid']}.json").write_text(json.dumps(groups))


def _share(text: str) -> tuple[int, int]:
    """Index from 0, and number of shares.

    Raises:
        pytest.UsageError: the text is not of the form K/N with 1 <= K <= N.
    """
    try:
        chosen, shares = map(int, text.split("/"))
    except ValueError:
        chosen = shares = 0
    if not 1 <= chosen <= shares:
        raise pytest.UsageError(f"--share={text!r}: expected K/N, from 1/N to N/N")
    return chosen - 1, shares


def is_exclusive(item: pytest.Item) -> bool:
    return item.get_closest_marker("exclusive") is not None


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills, once for all workers of this session.

    Args:
        name: of the folder.
        make: called with an empty folder. If it raises, the next caller tries again.
    """
    folder = Path(os.environ[FOLDER]) / name
    with open(folder.with_suffix(".lock"), "wb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


class Worker:
    """One process of pytest-xdist: its environment, and its place among the others.

    An ordinary test holds the lock file ``tests`` shared; exclusive tests hold it alone, from the first of a row to its last. All
    of them pass through the lock file ``gate`` first, so that a stream of ordinary tests cannot keep an exclusive one waiting.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._gate, self._tests = (open(folder / file, "ab") for file in ("gate", "tests"))  # noqa: SIM115 - held for the session
        self._own_machine_lock = str(folder / f"machine-{name}")
        self._real_machine_lock = os.environ.get(MACHINE_LOCK)
        self._alone = False
        for variable in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
            os.environ.pop(variable, None)  # pytest runs that tests start are no workers of this one
        os.environ[MACHINE_LOCK] = self._own_machine_lock

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        alone = is_exclusive(item)
        if not self._alone:
            _lock(self._gate, fcntl.LOCK_EX)
            _lock(self._tests, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            if not alone:
                _lock(self._gate, fcntl.LOCK_UN)
            self._alone = alone
        if alone and self._real_machine_lock is None:
            os.environ.pop(MACHINE_LOCK, None)
        elif alone:
            os.environ[MACHINE_LOCK] = self._real_machine_lock
        try:
            return (yield)
        finally:
            os.environ[MACHINE_LOCK] = self._own_machine_lock
            if not (alone and nextitem is not None and is_exclusive(nextitem)):
                _lock(self._tests, fcntl.LOCK_UN)
                _lock(self._gate, fcntl.LOCK_UN)
                self._alone = False


def _lock(file: IO[bytes], how: int) -> None:
    fcntl.flock(file, how)


class Deselected:
    """Says in the summary how many slow tests were not run; xdist's controller would not."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._slow = config, 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._slow += sum(item.get_closest_marker("slow") is not None for item in items)

    def pytest_sessionfinish(self) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["slow"] = self._slow

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._slow = max(self._slow, getattr(node, "workeroutput", {}).get("slow", 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._slow:
            terminalreporter.write_line(f"{self._slow} slow tests were deselected: -m slow runs them, .ci/run a third of them")


class Undecided:
    """Fails a session in which too many tests were skipped as undecided. It counts reports, so it works in xdist's controller."""

    def __init__(self) -> None:
        self._tests, self._undecided = set[str](), set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests.add(report.nodeid)
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        if reason.removeprefix("Skipped: ").startswith(PREFIXES):
            self._undecided.add(report.nodeid)

    @property
    def _too_many(self) -> bool:
        return len(self._undecided) > max(FEW_UNDECIDED, MOST_UNDECIDED * len(self._tests))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._too_many and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._undecided:
            share = len(self._undecided) / len(self._tests)
            line = f"undecided: {len(self._undecided)} of {len(self._tests)} tests ({share:.1%})"
            limit = f"the session fails above {MOST_UNDECIDED:.0%}"
            terminalreporter.write_line(f"{line}; {limit}", red=self._too_many)
