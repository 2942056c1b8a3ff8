"""A thread of a run that is stuck is off the list of threads when it is ended, and has to be on it again."""

import sys
import threading

from .programs import counted


class State:
    def __init__(self):
        self.condition, self.ready = threading.Condition(), False


def wait(state):
    assert threading.current_thread().is_alive()  # with such a word, each run has new threads
    with state.condition:
        if not state.ready:
            state.condition.wait()


def tell(state):
    state.ready = True


def test_a_thread_that_waits_for_ever_ends_without_an_error(monkeypatch):
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    result = counted(wait, tell, setup=State, schedules=20)
    assert (result.verdict, result.symptom) == ("violated", "never ends"), str(result)
    assert not errors
