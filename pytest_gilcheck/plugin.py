"""The pytest plugin: options, ini settings, markers, the fixture and the selection of tests.

A run without a check must cost next to nothing. So this module imports only the standard library, pytest and the tables of checks
and settings, and looks at each item twice, during and after collection. It imports everything else when a test needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from .core.own_builtins import give_own_names

give_own_names(__package__)  # before the imports that follow, if pytest's finder has come before ours

# ruff: noqa: E402
from . import running_test
from .checks import FIXTURE, MARKERS, SELECTOR, marker_line
from .core import clocks  # noqa: F401 - before any test can travel in time
from .core import early_threads as early_threads  # counts them now
from .settings import FILES, SETTINGS, SPAWNED_TEST, ini_name, option, variable

if TYPE_CHECKING:
    from .adaptors.checked_tests import CheckedTests
    from .calls import Gilcheck
    from .runner import Runner

_RUNNING = pytest.StashKey[pytest.Item | None]()
_RAN_PLAINLY = pytest.StashKey[dict[Any, pytest.Item]]()  # by node: the first test that ran in it unmarked
PARTS = frozenset(  # names of plugins that the checks need, each registered when it is needed
    f"gilcheck-{name}"
    for name in (
        "audited",
        "child-report",
        "gil-summary",
        "gil-watch",
        "guard",
        "session",
        "shown-reports",
        "spawned-test",
        "summary",
        "sweep",
        "sweep-summary",
        "turn",
    )
)
FREE_THREADED_BUILD = "free-threading" in sys.version  # only this build can re-enable its GIL; sysconfig would cost an import


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gilcheck", "concurrency regression testing (pytest-gilcheck)")
    for setting in SETTINGS.values():
        text = f"{setting.help}; also environment {variable(setting.name)} and ini {ini_name(setting.name)}"
        if setting.metavar is None:
            group.addoption(option(setting.name), action="store_const", const="true", dest=ini_name(setting.name), help=text)
        else:
            group.addoption(option(setting.name), metavar=setting.metavar, dest=ini_name(setting.name), help=text)
        for word, what in setting.words.items():  # an option of its own: with `nargs="?"` a flag would take the next path
            exact = f"{option(setting.name)}={word}"
            group.addoption(exact, action="store_const", const=word, dest=ini_name(setting.name), help=what)
        parser.addini(ini_name(setting.name), setting.help, default=None)
    parser.addini("gilcheck_sweep_leave_out", "node ids of tests that no sweep takes, or patterns of them", type="linelist")
    group.addoption(
        "--gilcheck-audit",
        metavar="TARGET",
        action="append",
        dest="gilcheck_audit",
        help="audit a release in the same run as the tests: a wheel, a folder of wheels, or a project's folder; may be repeated",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    give_own_names(__package__)  # a later session of this process has put a finder of its own before ours
    from . import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before conftests are imported, watch the GIL, which they may re-enable, and say in the evidence file that a run begins, which
    they may end."""
    if FREE_THREADED_BUILD:
        from .adaptors.gil_watch import watch_early

        watch_early(early_config)
    from .adaptors.options import early_target

    if (path := early_target(early_config)) is not None:
        from .adaptors.reporting import begin_early

        begin_early(early_config, path)


def pytest_configure(config: pytest.Config) -> None:
    _refuse_blocked_parts(config)
    config.add_cleanup(running_test.begins(lambda: _runner_of_running_test(config)))
    for name in MARKERS:
        config.addinivalue_line("markers", marker_line(name))
    config.addinivalue_line("markers", f"{SELECTOR}: set on every test that uses a check, for -m {SELECTOR}.")
    from .adaptors.options import settings_of, warn_of_unknown_variables

    settings = settings_of(config)  # reads all values, so that a bad one stops the run here
    warn_of_unknown_variables(config)
    if any(settings.value(name)[0] is not None for name in FILES) or _distributes(config):
        from .adaptors import reporting

        reporting.start(config)
    if settings.value("strict")[0]:
        _start(config)
    if SPAWNED_TEST in os.environ:
        _start(config)
    elif settings.value("sweep")[0]:
        from .adaptors import sweep_session

        sweep_session.start(config, sweeps=not _distributes(config))
    if targets := config.getoption("gilcheck_audit", None):
        from .adaptors import audited

        audited.start(config, targets)
    if FREE_THREADED_BUILD or _distributes(config):
        from .adaptors import gil_watch

        gil_watch.start(config, _distributes(config))


@pytest.hookimpl(tryfirst=True)  # before the terminal reporter prints the header, to which checked tests add a line
def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the checks if a test uses one; this hook runs after all those that may have marked items."""
    if _users(session.items) or f"{__package__}.calls" in sys.modules:  # which a test module has imported
        _start(session.config)


@pytest.hookimpl(tryfirst=True)  # before -m selects by markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use a check, and skip or select them as the settings ``skip`` and ``only`` say."""
    users = _users(items)
    for item in users:
        item.add_marker(SELECTOR)
    if users and config.pluginmanager.has_plugin("run-parallel"):
        from .adaptors.other_plugins import keep_out_of_other_threads

        keep_out_of_other_threads(users)
    from .adaptors.options import settings_of

    settings = settings_of(config)
    if settings.value("skip")[0]:
        for item in users:
            item.add_marker(pytest.mark.skip(reason=f"{option('skip')}: it uses a check"))
    elif settings.value("only")[0]:
        chosen = set(users)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = users


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: Sequence[Any]) -> None:
    """Refuse interpreters that do not exist, before xdist starts a worker."""
    from .adaptors.xdist_nodes import refuse_missing

    refuse_missing(specs)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let a worker that is another interpreter keep its path; divide the schedules of fuzz checks among equal workers.

    The schedules are divided only with ``--dist each`` and several workers of the same interpreter and host.
    """
    from .adaptors.xdist_nodes import keep_own_path

    keep_own_path(node)
    specs = node.nodemanager.specs
    same_interpreter = len({(spec.python, spec.ssh) for spec in specs}) == 1
    node.workerinput["gilcheck_share"] = node.config.getoption("dist") == "each" and same_interpreter and len(specs) > 1


@pytest.hookimpl(trylast=True)  # before the terminal's wrapper of this hook prints the summary
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Spare a run that used no hypothesis its import.

    We require hypothesis, and its pytest plugin (6.170) imports all of it in ``pytest_terminal_summary``: 0.7 s of CPU. Where it
    was not imported by then, that plugin has seen no test and no option of its own, and has nothing to say unless a worker of
    xdist sent it something. So its work is done, and it is unregistered.
    """
    manager = session.config.pluginmanager
    plugin = manager.get_plugin("hypothesispytest")
    if plugin is None or "hypothesis" in sys.modules:
        return
    reporter = manager.get_plugin("terminalreporter") if _distributes(session.config) else None
    reports = [report for each in getattr(reporter, "stats", {}).values() for report in each]
    if not any(name.startswith("_hypothesis") for report in reports for name in getattr(report, "__dict__", ())):
        manager.unregister(plugin)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remember which test runs. pytest says so in ``os.environ`` too, but a test, or a pytest that it runs, may remove it there."""
    item.config.stash[_RUNNING] = item
    try:
        return (yield)
    finally:
        item.config.stash[_RUNNING] = None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check a test whose marker was applied at run time, in a run without any other test that uses a check; refuse what came later.

    A fixture may mark the test, or its class, module, package or session. Tests that have run there before are not checked.
    """
    __tracebackhide__ = True
    plain = item.config.stash.setdefault(_RAN_PLAINLY, {})
    result: Any = None
    started = item.config.pluginmanager.has_plugin("gilcheck-session")
    marked = _marked_within(item)
    if marked:
        _start(item.config).refuse_after_others(item, plain)
    if marked and not started:
        yield from _start(item.config).pytest_runtest_call(item)
    else:
        result = yield
    if marked or _marked_within(item):
        _start(item.config).refuse_late(item)
        _start(item.config).refuse_after_others(item, plain)
    else:
        for node in item.listchain():
            plain.setdefault(node, item)
    return result


@pytest.fixture(name=FIXTURE)
def gilcheck_fixture(request: pytest.FixtureRequest) -> Gilcheck:
    """All checks as functions that are called with a workload: ``gilcheck.scaling(work, ...)``, ``gilcheck.curve``,
    ``gilcheck.interrupt``, ``gilcheck.latency``, ``gilcheck.fuzz``; and ``gilcheck.interpreter``."""
    from .adaptors.checked_tests import namespace

    return namespace(request.node)


def _runner_of_running_test(config: pytest.Config) -> Runner | None:
    """The runner of the test that runs, for one that has imported the object and does not ask for the fixture."""
    item = config.stash.get(_RUNNING, None)
    if item is None:
        return None
    from .adaptors.checked_tests import namespace

    return namespace(item).runner


def _refuse_blocked_parts(config: pytest.Config) -> None:
    """Refuse ``-p no:gilcheck-session`` and the like: without a part, checks would be lost and their tests pass.

    Raises:
        pytest.UsageError: a part is blocked.
    """
    for name in sorted(PARTS):
        if config.pluginmanager.is_blocked(name):
            raise pytest.UsageError(
                f"gilcheck: -p no:{name} takes away a part of pytest-gilcheck, without which results of checks are lost: "
                f"leave it out; {option('skip')} skips the tests that use a check, and {option('disable')} runs them without it"
            )


def _start(config: pytest.Config) -> CheckedTests:
    known: CheckedTests | None = config.pluginmanager.get_plugin("gilcheck-session")
    if known is not None:  # asked for by its name: a test may have emptied `sys.modules`, and an import would make a second one
        return known
    from .adaptors.checked_tests import start

    return start(config)


def _users(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The items that use a check. What contains many tests is asked for its markers once: runs without a check pay for this."""
    containers: dict[int, bool] = {}  # by id

    def contained(node: pytest.Item | pytest.Collector | None) -> bool:
        if node is None:
            return False
        known = containers.get(id(node))
        if known is None:
            known = containers[id(node)] = _marked(node.own_markers) or contained(node.parent)
        return known

    return [
        item
        for item in items
        if FIXTURE in getattr(item, "fixturenames", ()) or _marked(item.own_markers) or contained(item.parent)
    ]


def _marked_within(item: pytest.Item) -> bool:
    """Whether the item, or something that contains it, has one of our markers now."""
    node: pytest.Item | pytest.Collector | None = item
    while node is not None:
        if _marked(node.own_markers):
            return True
        node = node.parent
    return False


def _marked(markers: Iterable[pytest.Mark]) -> bool:
    for mark in markers:  # noqa: SIM110 # most have none, and any() of a generator takes five times as long then
        if mark.name in MARKERS:
            return True
    return False


def _distributes(config: pytest.Config) -> bool:
    """Whether this is xdist's controller, which sees reports but collects nothing."""
    return bool(config.getoption("tx", None)) and not hasattr(config, "workerinput")
