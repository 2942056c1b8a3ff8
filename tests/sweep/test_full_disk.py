"""A disk that is full from the first test on: nothing that is written stays, and nothing else is lost."""

import subprocess
import sys

import pytest

FULL = """
import resource

def pytest_collection_finish():  # a write beyond this size fails, as it does where no space is left
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
"""
SHOP = """
TOTAL = {"n": 0}

def sell():
    before = TOTAL["n"]
    TOTAL["n"] = before + 1
    return TOTAL["n"] == before + 1
"""
SUITE = """
import pytest, shop

def test_trivial():
    pass

def test_sell():
    assert shop.sell()

def test_file():
    with pytest.raises(OSError):
        with open("written", "w") as file:
            file.write("x")

def test_after_it():
    pass
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit, and no fork")
def test_a_full_disk_ends_neither_the_run_nor_the_sweep_and_each_lost_file_is_named(pytester):
    pytester.makeconftest(FULL)
    pytester.makepyfile(shop=SHOP, test_suite=SUITE)
    options = ["--gilcheck-sweep", "--gilcheck-sweep-budget=40", "--gilcheck-json=evidence.json"]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "4 passed" in done.stdout, done.stdout
    assert "cause in your package: shop.py:4 and shop.py:5" in done.stdout
    assert "4 of 4 tests swept" in done.stdout, done.stdout
    assert "evidence.json' (from command line --gilcheck-json): expected a file that can be written" in done.stdout
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, "of the file that was asked for"
