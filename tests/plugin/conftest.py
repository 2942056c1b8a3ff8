"""Real pytest runs, each in a process of its own."""

import pytest


@pytest.fixture
def run(pytester):
    """Run pytest on this source: ``run(source, *options)``; the run's lines come without their colours."""

    def run(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-ra", *options)

    return run
