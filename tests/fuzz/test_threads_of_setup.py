"""The setup and the invariant are called by one thread, for all that they can see."""

import contextvars
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from pytest_gilcheck.engine.running import short_slices

from ..slow import one_in
from .programs import counted

ROOT = Path(__file__).parents[2]
VARIABLE = contextvars.ContextVar("variable", default="nothing")


class State:
    def __init__(self):
        self.local, self.value, self.lock = threading.local(), 0, threading.Lock()
        self.local.user = "setup"
        VARIABLE.set("setup")
        self.thread, self.number, self.count = threading.current_thread(), threading.get_ident(), threading.active_count()


def add(state):
    with state.lock:
        state.value += 1


def add_unlocked(state):
    state.value += 1


CLAIMS = {
    "a local of a thread": lambda state: state.local.user == "setup",
    "a context variable": lambda state: VARIABLE.get() == "setup",
    "the thread": lambda state: state.thread is threading.current_thread(),
    "its number": lambda state: state.number == threading.get_ident(),
    "the number of threads": lambda state: state.count == threading.active_count(),
}


@pytest.mark.parametrize("name", one_in(5, CLAIMS))
@pytest.mark.slow
def test_what_the_setup_leaves_with_its_thread_is_there_for_the_invariant(name):
    claim = CLAIMS[name]
    counted(add, add, setup=State, invariant=claim, schedules=40).assert_holds()
    found = counted(
        add_unlocked, add_unlocked, setup=State, invariant=lambda state: claim(state) and state.value == 2, schedules=40
    )
    assert found.verdict == "violated", str(found)
    assert "any concurrency" not in found.reason


class Others:
    def __init__(self):
        self.made = threading.enumerate()
        self.value, self.lock, self.known = 0, threading.Lock(), []


def add_and_look(state):
    with state.lock:
        state.value += 1
    state.known.append(threading.current_thread() in threading.enumerate())


def joins_all_others(state):
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    return all(state.known) and threading.enumerate() == state.made == [threading.main_thread()]


def test_who_joins_all_other_threads_meets_none_of_ours_and_its_own_are_known_while_they_run():
    source = """
        from pytest_gilcheck import gilcheck
        from tests.fuzz.test_threads_of_setup import Others, add_and_look, joins_all_others

        gilcheck.fuzz(threads=[add_and_look] * 2, setup=Others, invariant=joins_all_others, schedules=40).assert_holds()
    """
    program = [sys.executable, "-c", textwrap.dedent(source)]  # in this process, pytest-xdist has a thread
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_setup_may_need_the_main_thread():
    def handles():
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, before)
        return State()

    counted(add, add, setup=handles, schedules=40).assert_holds()


def test_a_search_on_a_build_without_a_gil_has_short_time_slices_and_gives_them_back():
    before = short_slices._slice()
    with short_slices.short_slices():
        during = short_slices._slice()
    after = short_slices._slice()
    if before is None:
        assert during is after is None  # a GIL, or a system without them
    else:
        assert during is None  # it has the shortest already
        assert after.runtime == before.runtime
