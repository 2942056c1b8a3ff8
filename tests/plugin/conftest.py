"""Real pytest runs, each in a process of its own.

They load this plugin, pytest-xdist where an option is its own, and what the test asks for: to load every installed plugin takes
a second, most of it for hypothesis. A few tests ask for all (``autoload=True``), as a user's run has them.
"""

import re

import pytest

from tests.undecided import undecided

OF_XDIST = ("-n", "--dist", "--tx", "--rsyncdir")


@pytest.fixture
def run(request, pytester, monkeypatch):
    """Run pytest on a source: ``run(source, *options, plugins=(), autoload=False, name=None)``; its lines have no colours.

    In a test with the mark ``exclusive`` the run measures time. If it could not decide, neither can the test.

    Args:
        source: of the test file; None if the test has made its files itself.
        options: of the command line.
        plugins: names of further plugins' entry points.
        autoload: whether to load every installed plugin.
        name: of the test file, without ``.py``.
        timeout: seconds.
    """

    def run(source, *options, plugins=(), autoload=False, name=None, timeout=None):
        __tracebackhide__ = True  # an undecided test is shown at its own line
        if name is not None:
            pytester.makepyfile(**{name: source})
        elif source is not None:
            pytester.makepyfile(source)
        result = pytester.runpytest_subprocess(*lean(options, plugins, autoload, monkeypatch), *options, timeout=timeout)
        if request.node.get_closest_marker("exclusive") is not None:
            for line in result.outlines:
                if found := re.match("SKIPPED .*(inconclusive: .*)", line):
                    undecided(found[1])
        return result

    return run


def lean(options, plugins, autoload, monkeypatch):
    """The options that load few plugins, and the environment for it."""
    common = ["-p", "no:cacheprovider", "-ra"]
    if autoload:
        monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
        return common
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    names = ["gilcheck", *plugins]
    if any(str(option).startswith(OF_XDIST) for option in options):
        names.append("xdist")
    return [*common, *(f"-p{name}" for name in names)]
