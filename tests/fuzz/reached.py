"""Programs that reach into what the library keeps, or that C asks in the middle of its work.

Each thread reads a list many times first, so that few samples switch where it matters.
"""

import queue
import threading
from statistics import NormalDist

ROUNDS = 150


def spend(state):
    pads = state.pads
    for _ in range(ROUNDS):
        pads[0]


class State:
    def __init__(self):
        self.pads = [0]
        self.queue, self.lock, self.ready = queue.Queue(), threading.Lock(), False
        self.bad = False
        self.lock.acquire()


class Turnstile:
    """Because of this class, a file has a plain method of this name, which no thread stores."""

    def release(self):
        return 1


def good(state):
    return not state.bad


# What a queue keeps, without its lock.


def put(state):
    spend(state)
    state.queue.put(1)


def compare_parts(state):
    inside = len(state.queue.queue)
    state.bad = inside > state.queue.unfinished_tasks
    spend(state)


def ask_for_size(state):
    state.bad = state.queue.qsize() > 1
    spend(state)


# The moment before a lock is released.


def say_and_release(state):
    spend(state)
    state.ready = True
    state.lock.release()


def release_and_say(state):
    spend(state)
    state.lock.release()
    state.ready = True


def try_if_ready(state):
    if state.ready and not state.lock.acquire(blocking=False):
        state.bad = True
    spend(state)


# What C asks in the middle of its work, or keeps.


class Text(str):
    __slots__ = ("rows",)

    def __iter__(self):
        return iter(self.rows)


class Report:
    def __init__(self, text):
        self.text = text

    def __format__(self, how):
        return self.text


class WithReport(State):
    def __init__(self):
        super().__init__()
        text = Text("ab")
        text.rows = [5, 5]
        self.rows, self.report, self.total = text.rows, Report(text), 10


def add_up(state):
    spend(state)
    total = 0
    for each in f"{state.report}":
        total += each
    state.total = total


def move(state):
    state.rows[0] = 0
    state.rows[1] = 10
    spend(state)


def ten(state):
    return state.total == 10


class Curve(NormalDist):
    pass


class Other:
    def __init__(self):
        self.mean = 0


class WithCurve(State):
    def __init__(self):
        super().__init__()
        self.job, self.other = Curve(1.0, 1.0), Other()


def read_twice(state):
    spend(state)
    one, two = state.job.mean, state.job.mean
    state.bad = one != two


def change(state):
    state.job._mu = 2.0
    spend(state)


# Threads and queues whose state is asked for.


class WithSimpleQueue(State):
    def __init__(self):
        super().__init__()
        self.jobs = queue.SimpleQueue()


def put_job(state):
    state.jobs.put(1)


def take_if_any(state):
    if not state.jobs.empty():
        state.jobs.get_nowait()


class Worker(State):
    def __init__(self):
        super().__init__()
        self.thread, self.started = None, 0


def ensure_started(state):
    if state.thread is None or not state.thread.is_alive():
        state.started += 1
        state.thread = threading.Thread(target=spend, args=(state,))
        state.thread.start()


class LockedWorker(Worker):
    def __init__(self):
        super().__init__()
        self.guard, self.wanted = threading.Lock(), threading.Event()


def wait_to_end(state):
    state.wanted.wait(60)


def ensure_started_once(state):
    with state.guard:
        if state.thread is None:
            state.started += 1
            state.thread = threading.Thread(target=wait_to_end, args=(state,))
            state.thread.start()
            state.wanted.set()


def started_once(state):
    return state.started == 1
