"""Which threads keep a process from being forked."""

import os
import threading

import pytest

from pytest_gilcheck.core import fork_safety
from pytest_gilcheck.core.fork_safety import can_fork, declare_harmless

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


@pytest.fixture
def server():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="somebody's server", daemon=True)
    thread.start()
    yield thread
    stop.set()
    thread.join()


def test_a_process_with_threads_is_not_forked(server):
    assert "somebody's server" in can_fork()


def test_a_thread_that_was_declared_harmless_does_not_count(server, monkeypatch):
    monkeypatch.setattr(fork_safety, "_harmless", [])
    declare_harmless(lambda thread: thread is server)
    assert can_fork() is None
