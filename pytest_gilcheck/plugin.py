"""The pytest plugin: options, ini, marker, fixture. It hands over, and loads the rest when a test needs it.

A run that uses no check must cost nothing: this module imports the standard library, pytest and our table of settings, and
looks at each item once, after collection.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from .settings import FILES, SETTINGS, ini_name, option, variable

if TYPE_CHECKING:
    from .adaptors.session import Session
    from .calls import Gilcheck

MARKERS = {
    "gil_scaling": "gil_scaling(min_speedup=, max_slowdown=, efficiency=, threads=, budget=, timeout=, cores=, switchinterval=, "
    "warmup=, setup=): run the test one time after the other and in threads at once, and fail unless it scales as claimed; "
    "without a claim: to 70% of the machine's ceiling on a free-threaded build, no slower than 1.25x on a GIL build.",
    "gil_interrupt": "gil_interrupt(within=, exits_within=, signals=, repeats=, over=, seed=, budget=, timeout=, setup=; or "
    "inject=, invariant=, exception=, first=, sample=, ...): run the test as the main thread of child processes, send them Ctrl-C "
    "at moments spread over its run, and fail unless it is seen within 0.2 s and the process gone within 2 s more; with "
    "inject='every-step': raise KeyboardInterrupt at each of its steps in turn, and fail if that breaks the invariant or leaves "
    "locks, threads or files.",
    "gil_latency": "gil_latency(p99=, max=, workers=, think=, loop=, switchinterval=, cores=, budget=, timeout=, setup=): run "
    "the test in worker threads, over and over, and fail unless a heartbeat thread and an echo over a socket stay responsive "
    "beside it; without a claim: 99% at most 0.05 s late.",
    "gil_fuzz": "gil_fuzz(threads=2, budget=, preemptions=, seed=, mode=, replay=, sensitivity=, include=, invariant=, timeout=): "
    "run the test in that many threads under every schedule of at most 2 preemptions, then under sampled ones, and fail if one "
    "breaks it; function-scoped fixtures are set up anew for each; mode: 'search', 'exhaustive', 'gil' or 'stress'.",
}
FIXTURE = "gilcheck"
FREE_THREADED_BUILD = "free-threading" in sys.version  # its GIL may come back; sysconfig would have to be loaded


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gilcheck", "concurrency regression testing (pytest-gilcheck)")
    for setting in SETTINGS.values():
        text = f"{setting.help}; also environment {variable(setting.name)} and ini {ini_name(setting.name)}"
        if setting.metavar is None:
            group.addoption(option(setting.name), action="store_const", const="true", dest=ini_name(setting.name), help=text)
        else:
            group.addoption(option(setting.name), metavar=setting.metavar, dest=ini_name(setting.name), help=text)
        parser.addini(ini_name(setting.name), setting.help, default=None)
    group.addoption(
        "--gilcheck-audit",
        metavar="TARGET",
        action="append",
        dest="gilcheck_audit",
        help="audit a release beside the tests: wheels, a folder of them, or a project's folder; may be repeated",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before conftests are imported, which may switch the GIL on."""
    if FREE_THREADED_BUILD:
        from .adaptors.gil_watch import watch_early

        watch_early(early_config)


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)
    from .adaptors.options import settings_of  # reads the values, so that a bad one stops the run here

    settings = settings_of(config)
    if any(settings.value(name)[0] is not None for name in FILES) or settings.value("strict")[0] or _distributes(config):
        _start(config)
    if targets := config.getoption("gilcheck_audit", None):
        from .adaptors import audited

        audited.start(config, targets)
    if FREE_THREADED_BUILD or _distributes(config):
        from .adaptors import gil_watch

        gil_watch.start(config, _distributes(config))


@pytest.hookimpl(tryfirst=True)  # before the terminal asks for the header's line
def pytest_collection_finish(session: pytest.Session) -> None:
    """After every hook that may have marked items."""
    for item in session.items:
        if FIXTURE in getattr(item, "fixturenames", ()) or any(item.get_closest_marker(name) for name in MARKERS):
            _start(session.config)
            return


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: Sequence[Any]) -> None:
    """Interpreters that do not exist are refused before xdist starts any."""
    from .adaptors.xdist_nodes import refuse_missing

    refuse_missing(specs)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Workers may be other interpreters; with ``--dist each`` on one and the same, they share the schedules of fuzz checks."""
    from .adaptors.xdist_nodes import keep_own_path

    keep_own_path(node)
    specs = node.nodemanager.specs
    same = len({(spec.python, spec.ssh) for spec in specs}) == 1
    node.workerinput["gilcheck_share"] = node.config.getoption("dist") == "each" and same and len(specs) > 1


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """For a marker that a fixture applied, in a run where no test had one."""
    if pyfuncitem.config.pluginmanager.has_plugin("gilcheck-session") or not any(m.name in MARKERS for m in pyfuncitem.own_markers):
        return None
    return _start(pyfuncitem.config).pytest_pyfunc_call(pyfuncitem)


@pytest.fixture(name=FIXTURE)
def gilcheck_fixture(request: pytest.FixtureRequest) -> Gilcheck:
    """The namespace of all checks, as calls on a workload: ``gilcheck.scaling(work, ...)``, ``gilcheck.curve``,
    ``gilcheck.interrupt``, ``gilcheck.latency``, ``gilcheck.fuzz``; and ``gilcheck.interpreter``."""
    from .adaptors.session import namespace

    return namespace(request.node)


def _start(config: pytest.Config) -> Session:
    from .adaptors.session import start

    return start(config)


def _distributes(config: pytest.Config) -> bool:
    """Whether this is xdist's controller, which sees reports but collects nothing."""
    return bool(config.getoption("tx", None)) and not hasattr(config, "workerinput")
