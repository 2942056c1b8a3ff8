"""Which threads keep a process from being forked."""

import fnmatch
import os
import subprocess
import sys
import threading

import pytest

from pytest_gilcheck.core import fork_safety
from pytest_gilcheck.core.fork_safety import can_fork, declare_harmless, note_starter

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


def test_the_message_says_who_started_a_thread_where_that_is_known():
    stop = threading.Event()
    for who, told in [(None, ""), ("fixture 'server'", " (started by fixture 'server')")]:
        thread = threading.Thread(target=stop.wait, name="serving", daemon=True)
        thread.start()
        if who is not None:
            note_starter(thread, who)
            note_starter(thread, "the fixture that asked for that one")
        assert can_fork() == f"threads are running that a fork would lose: serving{told}"
        stop.set()
        thread.join()
        stop.clear()


def test_a_thread_that_was_declared_harmless_does_not_count(server, monkeypatch):
    monkeypatch.setattr(fork_safety, "_harmless", [])
    declare_harmless(lambda thread: thread is server)
    assert can_fork() is None


NATIVE_THREAD = """
import ctypes, sys
from pytest_gilcheck.core.fork_safety import can_fork
libc = ctypes.CDLL(None)
if sys.argv[1] == "starts":
    libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)
print(can_fork())
"""
IN_A_FORK = """
import os
from pytest_gilcheck.core.fork_safety import can_fork
if os.fork():
    os.wait()
else:
    print(can_fork())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the threads of a process")
@pytest.mark.parametrize(
    ("starts", "expected"), [("starts", "threads are running that Python does not know*OPENBLAS_NUM_THREADS=1*"), ("not", "None")]
)
def test_a_thread_of_a_library_in_c_prevents_a_fork(starts, expected):
    found = subprocess.run([sys.executable, "-c", NATIVE_THREAD, starts], capture_output=True, text=True, check=True).stdout
    assert fnmatch.fnmatch(found, f"{expected}\n")


def test_a_fork_without_threads_can_be_forked_again():
    assert subprocess.run([sys.executable, "-c", IN_A_FORK], capture_output=True, text=True, check=True).stdout == "None\n"
