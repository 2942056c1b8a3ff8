import os
import signal
import sys

import hypothesis
import pytest

from pytest_gilcheck.settings import SETTINGS, variable

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: the programs that tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of tests start a Python: without cached bytecode each would compile, and pytest rewrite, all of our modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The first test that imports numpy would start threads of its OpenBLAS, and no later test of that process could be forked.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long drawing and an example take depends on the machine. Loaded before any test module makes settings of its own.
hypothesis.settings.register_profile("gilcheck", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("gilcheck")

pytest_plugins = ["pytester", "tests.suite"]


# What changes the text that pytest or we print: a CI service sets the first three (pytest shortens no summary line there).
OF_THE_OUTPUT = ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")


@pytest.fixture(autouse=True, scope="session")
def no_settings_of_the_machine():
    """A developer's own GILCHECK_*, or where the suite runs, must not decide what our tests see, nor their wider fixtures."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (*map(variable, SETTINGS), *OF_THE_OUTPUT):
            patch.delenv(name, raising=False)
        yield
