"""Descendants are known by their lineage, whatever they do to get away."""

import os
import subprocess
import sys

import pytest

from pytest_gilcheck.core import lineage

from .forked_call import call

pytestmark = pytest.mark.skipif(not lineage.available(), reason="processes cannot be marked on this system")
SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_descendants_are_known_in_another_session_and_a_bystander_is_not():
    bystander = subprocess.Popen(SLEEPS)

    def start():
        lineage.mark()
        child = subprocess.Popen(SLEEPS, start_new_session=True)
        try:
            return [lineage.descends(pid, os.getpid()) for pid in (child.pid, bystander.pid, os.getpid())]
        finally:
            child.kill()
            child.wait()

    try:
        assert call(start, limit=30)[1] == [True, False, False]
    finally:
        bystander.kill()
        bystander.wait()
