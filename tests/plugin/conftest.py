"""Run pytest on test files, each time in a new process.

Each run loads this plugin, pytest-xdist if an option belongs to it, and the plugins that the test names. To load every installed
plugin takes a second, most of it for hypothesis; a few tests load all (``autoload=True``), as a user's run does.
"""

import re

import pytest

from tests.undecided import undecided

XDIST_OPTIONS = ("-n", "--dist", "--tx", "--rsyncdir")


@pytest.fixture
def run(request, pytester, monkeypatch):
    """Run pytest on a source: ``run(source, *options, plugins=(), autoload=False, name=None)``; its lines have no colours.

    In a test with the mark ``exclusive`` the run measures time. If a check of the run is inconclusive, the test is skipped.

    Args:
        source: the text of the test file; None if the test has written its files itself.
        options: options of the command line.
        plugins: names of the entry points of further plugins.
        autoload: whether to load every installed plugin.
        name: the name of the test file, without ``.py``.
        timeout: seconds after which the run is killed.
    """

    def run(source, *options, plugins=(), autoload=False, name=None, timeout=None):
        __tracebackhide__ = True  # an undecided test is shown at its own line
        if name is not None:
            pytester.makepyfile(**{name: source})
        elif source is not None:
            pytester.makepyfile(source)
        result = pytester.runpytest_subprocess(*options_to_load(options, plugins, autoload, monkeypatch), *options, timeout=timeout)
        if request.node.get_closest_marker("exclusive") is not None:
            for line in result.outlines:
                if inconclusive := re.match("SKIPPED .*(inconclusive: .*)", line):
                    undecided(inconclusive[1])
        return result

    return run


def options_to_load(options, plugins, autoload, monkeypatch):
    """Set the environment that loads only the plugins of the run, and return the options that load them."""
    common = ["-p", "no:cacheprovider", "-ra"]
    if autoload:
        monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
        return common
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    names = ["gilcheck", *plugins]
    if any(str(option).startswith(XDIST_OPTIONS) for option in options):
        names.append("xdist")
    return [*common, *(f"-p{name}" for name in names)]
