"""The end of a thread: what it has kept goes, it is no longer alive, and what it has made ends where others let it go."""

import gc
import queue
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_gilcheck import gilcheck
from tests.slow import one_in


class State:
    def __init__(self):
        self.local = threading.local()
        self.lock = threading.RLock()
        self.open, self.slots, self.made, self.owner, self.done = 0, {}, [], None, False
        self.queue = queue.SimpleQueue()


class Connection:
    """Closed where its thread ends, and nobody else has it."""

    def __init__(self, state, guard):
        self.state, self.guard = state, guard
        self.count(1)

    def count(self, by):
        if self.guard:
            with self.state.lock:
                self.state.open += by
        else:
            self.state.open += by

    def __del__(self):
        self.count(-1)


def connects(state):
    state.local.connection = Connection(state, guard=True)


def connects_without_lock(state):
    state.local.connection = Connection(state, guard=False)


def all_closed(state):
    return state.open == 0


def takes_part(state):
    state.slots[threading.current_thread()] = 1


def reaps(state):
    for thread in list(state.slots):
        if not thread.is_alive():
            del state.slots[thread]


def reaps_safely(state):
    for thread in list(state.slots):
        if not thread.is_alive():
            state.slots.pop(thread, None)


def nobody_is_alive(state):
    return not any(thread.is_alive() or thread in threading.enumerate() for thread in state.slots)


def works(state):
    state.owner = threading.current_thread()
    state.done = True


def waits(state):
    if (owner := state.owner) is not None:
        owner.join()
        assert state.done


def looks_before(state):
    if (owner := state.owner) is not None:
        assert state.done
        owner.join()


def makes(state):
    made = Connection(state, guard=True)
    state.queue.put(made)


def takes(state):
    state.queue.get()


class Kept:
    pass


def keeps(state):
    state.owner = threading.current_thread()
    state.made.append(Kept())


def lets_go(state):
    if state.made:
        seen = weakref.ref(state.made.pop())
        state.done = not state.owner.is_alive() and seen() is not None


def checked(threads, invariant=None):
    return gilcheck.fuzz(setup=State, threads=threads, invariant=invariant, schedules=200, budget=30, judge=False)


@pytest.mark.parametrize(
    ("wrong", "right", "invariant"),
    one_in(
        3,
        [
            pytest.param([connects_without_lock] * 2, [connects] * 2, all_closed, id="local"),
            pytest.param([takes_part, reaps, reaps], [takes_part, reaps_safely, reaps_safely], None, id="alive"),
            pytest.param([works, looks_before], [works, waits], None, id="join"),
        ],
    ),
)
@pytest.mark.slow
def test_a_program_that_lives_by_the_end_of_its_threads_is_judged(wrong, right, invariant):
    found = checked(wrong, invariant)
    assert found.verdict == "violated", str(found)
    twin = checked(right, invariant)
    assert twin.verdict == "holds", str(twin)


def test_when_all_have_ended_nobody_is_alive():
    result = checked([takes_part, takes_part], nobody_is_alive)
    assert result.verdict == "holds", str(result)


@pytest.mark.slow
def test_what_one_thread_made_and_another_lets_go_has_ended_when_both_have():
    result = checked([makes, takes], all_closed)
    assert result.verdict == "holds", str(result)


@pytest.mark.slow
def test_what_a_thread_made_ends_at_once_when_that_thread_has_ended():
    def ended_at_once(state):
        return not state.done

    result = checked([keeps, lets_go], ended_at_once)
    assert result.verdict == "holds", str(result)


def starts(thread):
    try:
        thread.start()
    except RuntimeError:
        pass
    else:
        thread.join()


def starts_after_a_look(state):
    with state.lock:
        if state.owner is None:
            state.owner = threading.Thread(target=gc.isenabled)
            state.owner.start()


@pytest.mark.slow
def test_a_thread_that_cannot_be_started_twice_is_none_of_the_run():
    result = gilcheck.fuzz(
        setup=lambda: threading.Thread(target=gc.isenabled), threads=[starts, starts], schedules=100, judge=False
    )
    assert "fails without any concurrency" not in str(result)
    assert "has not ended" not in str(result)
    twin = checked([starts_after_a_look, starts_after_a_look])
    assert twin.verdict == "holds", str(twin)


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="steps come from sys.monitoring, which no program takes away")
def test_a_program_that_takes_the_trace_function_away_is_undecided():
    def untraced(state):
        sys.settrace(None)
        state.open += 1

    result = checked([untraced, untraced], lambda state: state.open == 2)
    assert result.verdict == "inconclusive", str(result)
    assert "trace function" in result.reason


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="steps come from sys.monitoring, which a RecursionError does not end")
def test_behind_a_recursion_error_of_the_trace_function_nothing_is_settled():
    def deep(number):
        return deep(number + 1)

    def races(state):
        try:
            deep(0)
        except RecursionError:
            state.done = True
        state.open += 1

    result = checked([races, races], lambda state: state.open == 2)
    assert result.verdict == "inconclusive", str(result)
    assert "trace function" in result.reason


class Handed:
    """Counts where it ends, under a lock that may be held then."""

    def __init__(self, state):
        self.state = state

    def __del__(self):
        with self.state.lock:
            self.state.open += 1


def has_one_made(state):
    with ThreadPoolExecutor(1) as executor:
        made = executor.submit(Handed, state)
        made.result()
        del made


def looks_at(state):
    with state.lock:
        return state.open


@pytest.mark.slow
def test_a_finalizer_that_takes_a_lock_may_run_in_a_thread_that_waits_for_its_turn():
    result = checked([has_one_made, looks_at], lambda state: state.open == 1)
    assert result.verdict == "holds", str(result)
