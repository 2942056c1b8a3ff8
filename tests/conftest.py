import os
import signal
import sys

import pytest

from pytest_gilcheck.settings import SETTINGS, variable

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: the programs that tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of tests start a Python: without cached bytecode each would compile, and pytest rewrite, all of our modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The first test that imports numpy would start threads of its OpenBLAS, and no later test of that process could be forked.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["pytester", "tests.suite"]


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch):
    """A developer's own GILCHECK_* must not decide what our tests see."""
    for name in SETTINGS:
        monkeypatch.delenv(variable(name), raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
