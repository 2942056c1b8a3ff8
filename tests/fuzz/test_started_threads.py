"""Threads that the program starts: what they do is known from their start to their end, so a search of them can be over.

Each twin is broken by what comes before or after a start or a join; it fails by turned conflicts, and its fixed twin leaves none.
"""

import _thread
import concurrent.futures
import threading

import pytest

from pytest_gilcheck.engine.running.threads import Started

from .programs import SETTLED, counted
from .threads_asked_for import asks_for_its_number, asks_how_many_there_are, asks_whether_it_is_alive


class State:
    def __init__(self):
        self.lock, self.event = threading.Lock(), threading.Event()
        self.n, self.done, self.seen = 0, False, []
        self.kept = threading.Thread(target=finish, args=(self,))

    def add(self):
        with self.lock:
            self.n += 1

    def add_unlocked(self):
        self.n += 1


class Worker(threading.Thread):
    def __init__(self, state):
        super().__init__()
        self.state = state

    def run(self):
        self.state.done = True


def nothing(state):
    pass


def finish(state):
    state.done = True


def looks(state):
    state.seen.append(state.n)


def in_threads(*targets):
    """A thread that starts one for each of these functions, and waits for them."""

    def body(state):
        started = [threading.Thread(target=target, args=(state,)) for target in targets]
        for each in started:
            each.start()
        for each in started:
            each.join()

    return body


def asks_after_join(state):
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    started.join()
    assert state.done


def asks_before_join(state):
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    assert state.done
    started.join()


def asks_after_join_of_a_class(state):
    started = Worker(state)
    started.start()
    started.join()
    assert state.done


def asks_before_join_of_a_class(state):
    started = Worker(state)
    started.start()
    assert state.done
    started.join()


def writes_before_start(state):
    state.n = 5
    started = threading.Thread(target=looks, args=(state,))
    started.start()
    started.join()


def writes_after_start(state):
    started = threading.Thread(target=looks, args=(state,))
    started.start()
    state.n = 5
    started.join()


def starts_kept(state):
    state.kept.start()
    state.event.set()


def joins_kept(state):
    state.kept.join()
    assert state.done


def joins_kept_when_it_is_told(state):
    state.event.wait()
    state.kept.join()
    assert state.done


def starts_kept_once(state):
    with state.lock:
        if not state.n:
            state.n = 1
            state.kept.start()


def starts_kept_if_nobody_has(state):
    if not state.n:
        state.n = 1
        state.kept.start()


def joins_a_daemon(state):
    started = threading.Thread(target=finish, args=(state,), daemon=True)
    started.start()
    started.join()
    assert state.done


def asks_a_daemon_before(state):
    started = threading.Thread(target=finish, args=(state,), daemon=True)
    started.start()
    assert state.done
    started.join()


def starts_one_that_sets(state):
    _thread.start_new_thread(state.event.set, ())


def counts_two(state):
    return state.n == 2


def saw_five(state):
    return state.seen == [5]


TWINS = {
    "a lock of two started threads": (
        [in_threads(State.add_unlocked, State.add_unlocked), nothing],
        [in_threads(State.add, State.add), nothing],
        counts_two,
    ),
    "a lock of the starter's threads": (
        [in_threads(State.add_unlocked), State.add],
        [in_threads(State.add), State.add],
        counts_two,
    ),
    "threads of threads": (
        [in_threads(in_threads(State.add_unlocked)), in_threads(State.add_unlocked)],
        [in_threads(in_threads(State.add)), in_threads(State.add)],
        counts_two,
    ),
    "a join": ([asks_before_join, nothing], [asks_after_join, nothing], None),
    "a join of a class": ([asks_before_join_of_a_class, nothing], [asks_after_join_of_a_class, nothing], None),
    "a join of a daemon": ([asks_a_daemon_before, nothing], [joins_a_daemon, nothing], None),
    "a start": ([writes_after_start, nothing], [writes_before_start, nothing], saw_five),
    "a join by another thread": ([starts_kept, joins_kept], [starts_kept, joins_kept_when_it_is_told], None),
    "two starts of one thread": ([starts_kept_if_nobody_has] * 2, [starts_kept_once] * 2, None),
}


@pytest.mark.parametrize(("broken", "fixed", "invariant"), TWINS.values(), ids=TWINS)
def test_what_a_start_and_a_join_put_in_order_is_found_to_be_missing_and_known_to_be_there(broken, fixed, invariant):
    result = counted(*broken, setup=State, invariant=invariant, schedules=400)
    assert (result.verdict, result.samples) == ("violated", 0), str(result)
    twin = counted(*fixed, setup=State, invariant=invariant, schedules=2000)
    assert (twin.verdict, twin.bound in SETTLED) == ("holds", True), str(twin)


def leaves_a_daemon(state):
    threading.Thread(target=finish, args=(state,), daemon=True).start()


def begins_in_c(state):
    started = threading.Thread(target=state.seen.append, args=(1,))
    started.start()
    started.join()


def waits_for_a_while(state):
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    started.join(5)


def starts_a_timer(state):
    threading.Timer(0.1, finish, (state,)).start()


UNKNOWN = [
    leaves_a_daemon,
    asks_whether_it_is_alive,
    asks_how_many_there_are,
    asks_for_its_number,
    begins_in_c,
    waits_for_a_while,
    starts_a_timer,
    starts_one_that_sets,
]


@pytest.mark.parametrize("body", UNKNOWN, ids=lambda body: body.__name__)
def test_where_a_thread_is_not_known_the_search_is_not_over(body):
    result = counted(body, nothing, setup=State, schedules=150)
    assert result.verdict == "holds", str(result)
    assert result.bound not in SETTLED, str(result)


def test_a_thread_without_an_object_may_be_left_over_where_executors_are_imported():
    assert concurrent.futures.ThreadPoolExecutor(1).submit(int).result() == 0
    result = counted(starts_one_that_sets, nothing, setup=State, schedules=50)
    assert result.verdict == "holds", str(result)


def test_a_thread_of_the_setup_is_not_known():
    class Started(State):
        def __init__(self):
            super().__init__()
            self.kept.start()

    result = counted(State.add, State.add, setup=Started, invariant=counts_two, schedules=150)
    assert (result.verdict, result.bound in SETTLED) == ("holds", False), str(result)


def drops_it(state):
    state.seen.clear()
    started = threading.Thread(target=finish, args=(state,))
    started.start()
    state.seen.append(type(started._started) is threading.Event)
    started.join()


def test_whoever_starts_a_thread_waits_for_it_without_steps_of_an_event():
    result = counted(drops_it, nothing, setup=State, invariant=lambda state: state.seen == [False], schedules=50)
    assert result.verdict == "holds", str(result)
    assert not Started().wait(), "nobody waits where no check is made"
