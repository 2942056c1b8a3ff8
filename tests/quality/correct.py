"""Programs without a bug that tools take for broken, or hang on: whatever there is that waits, locks or starts threads.

Each must hold. None of them does what this package knows in advance: that is what makes it a test.
"""

from __future__ import annotations

import _thread
import functools
import itertools
import logging
import queue
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import StringIO
from threading import Lock
from typing import Any

from .corpus import Twin


@dataclass(frozen=True)
class Correct:
    """A program that must hold, and what is special about it."""

    name: str
    program: Twin


def correct(name, setup, threads, invariant=None):
    return Correct(name, Twin(setup, threads, invariant))


class Counter:
    """Two threads count; whoever derives from it says how they keep out of each other's way."""

    def __init__(self):
        self.value = 0

    def add(self):
        self.value += 1


def add(counter):
    counter.add()


def counted_two(counter):
    return counter.value == 2


# locks, however they were made


class LockByName(Counter):
    def __init__(self):
        super().__init__()
        self.lock = Lock()

    def add(self):
        with self.lock:
            super().add()


MODULE_LOCK = threading.Lock()


class LockOfModule(Counter):
    def add(self):
        with MODULE_LOCK:
            super().add()


class LockOfClass(Counter):
    lock = threading.Lock()

    def add(self):
        with self.lock:
            super().add()


ALLOCATED = _thread.allocate_lock()


class AllocatedLock(Counter):
    """One made when the module was imported, one for each state."""

    def __init__(self):
        super().__init__()
        self.lock = _thread.allocate_lock()

    def add(self):
        with ALLOCATED, self.lock:
            super().add()


@dataclass
class LockOfDataclass:
    value: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def add(self):
        with self.lock:
            self.value += 1


class LockInTuple(Counter):
    def __init__(self):
        super().__init__()
        self.locks = threading.Lock(), threading.Lock()

    def add(self):
        with self.locks[1]:
            super().add()


MODULE_LOCKS = (threading.Lock(), threading.Lock())


class LockInTupleOfModule(Counter):
    """Nothing can be put in the place of a lock in a tuple."""

    def add(self):
        with MODULE_LOCKS[1]:
            super().add()


class LockInList(Counter):
    def __init__(self):
        super().__init__()
        self.locks = [threading.Lock() for _ in range(3)]

    def add(self):
        with self.locks[2]:
            super().add()


def counting_closure():
    lock = threading.Lock()
    counter = Counter()

    def add_one():
        with lock:
            counter.value += 1

    return Closure(add_one, counter)


class Closure:
    def __init__(self, add, counter):
        self.add, self.counter = add, counter


def closure_counted_two(closure):
    return closure.counter.value == 2


class WrappedLock:
    """A lock of our own kind, around a real one."""

    def __init__(self):
        self._lock = threading.Lock()
        self.taken = 0

    def acquire(self, blocking=True, timeout=-1):
        got = self._lock.acquire(blocking, timeout)
        self.taken += got
        return got

    def release(self):
        self._lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


class LockOfOurOwn(Counter):
    def __init__(self):
        super().__init__()
        self.lock = WrappedLock()

    def add(self):
        with self.lock:
            super().add()


class LockInContextManager(LockByName):
    @contextmanager
    def locked(self):
        self.lock.acquire()
        try:
            yield
        finally:
            self.lock.release()

    def add(self):
        with self.locked():
            self.value += 1


class LockWithTimeout(LockByName):
    def add(self):
        while not self.lock.acquire(timeout=0.01):
            pass
        try:
            self.value += 1
        finally:
            self.lock.release()


class LockTried(LockByName):
    def add(self):
        while not self.lock.acquire(blocking=False):
            time.sleep(0.001)
        self.value += 1
        self.lock.release()


class ReentrantLock(Counter):
    def __init__(self):
        super().__init__()
        self.lock = threading.RLock()

    def add(self):
        with self.lock:
            before = self.value
            self.set(before + 1)

    def set(self, value):
        with self.lock:
            self.value = value


MODULE_CONDITION = threading.Condition()


class ConditionOfModule:
    def __init__(self):
        self.ready = False

    def wait(self):
        with MODULE_CONDITION:
            while not self.ready:
                MODULE_CONDITION.wait()

    def announce(self):
        with MODULE_CONDITION:
            self.ready = True
            MODULE_CONDITION.notify_all()


# waiting for each other


def wait(state):
    state.wait()


def announce(state):
    state.announce()


class WaitFor:
    def __init__(self):
        self.condition = threading.Condition()
        self.items = []

    def wait(self):
        with self.condition:
            self.condition.wait_for(self.items.copy)
            self.items.pop()

    def announce(self):
        with self.condition:
            self.items.append("item")
            self.condition.notify()


class AtBarrier:
    """Each reads what the other wrote before the barrier, twice."""

    def __init__(self):
        self.barrier = threading.Barrier(2)
        self.values = [[0, 0], [0, 0]]
        self.seen = []

    def meet(self, me):
        for round_ in range(2):
            self.values[round_][me] = 1
            self.barrier.wait()
            self.seen.append(self.values[round_][1 - me])


def meet_as_first(state):
    state.meet(0)


def meet_as_second(state):
    state.meet(1)


def all_seen(state):
    return state.seen == [1, 1, 1, 1]


class Seats(Counter):
    """One of three may wait at a time."""

    def __init__(self):
        super().__init__()
        self.seats = threading.Semaphore(1)

    def add(self):
        with self.seats:
            super().add()


class BoundedSeats(Counter):
    def __init__(self):
        super().__init__()
        self.seats = threading.BoundedSemaphore(1)

    def add(self):
        self.seats.acquire()
        super().add()
        self.seats.release()


class EventWithTimeout:
    """Whoever waits looks up from time to time."""

    def __init__(self):
        self.event = threading.Event()
        self.value = self.seen = 0

    def wait(self):
        while not self.event.wait(0.01):
            pass
        self.seen = self.value

    def announce(self):
        self.value = 1
        self.event.set()


class NeverInTime:
    """A wait that always times out, beside one that does not."""

    def __init__(self):
        self.event = threading.Event()
        self.timed_out = None

    def wait(self):
        self.timed_out = not self.event.wait(0.05)

    def announce(self):
        time.sleep(0.01)


def timed_out(state):
    return state.timed_out is True


class BusyWait:
    def __init__(self):
        self.ready = False
        self.value = self.seen = 0

    def wait(self):
        while not self.ready:
            pass
        self.seen = self.value

    def announce(self):
        self.value = 1
        self.ready = True


class Polling(BusyWait):
    def wait(self):
        while not self.ready:
            time.sleep(0.01)
        self.seen = self.value


def seen_what_was_set(state):
    return state.seen == 1


# queues


class Belt:
    def __init__(self, belt=queue.Queue):
        self.belt = belt()
        self.taken = []

    def put(self):
        for item in (1, 2):
            self.belt.put(item)
        self.belt.put(None)

    def take(self):
        while (item := self.belt.get()) is not None:
            self.taken.append(item)


def simple_belt():
    return Belt(queue.SimpleQueue)


def short_belt():
    return Belt(functools.partial(queue.Queue, maxsize=1))


class JoinedBelt(Belt):
    """The producer waits until everything has been done."""

    def put(self):
        super().put()
        self.belt.join()
        self.taken.append("done")

    def take(self):
        item = self.belt.get()
        while item is not None:
            self.taken.append(item)
            self.belt.task_done()
            item = self.belt.get()
        self.belt.task_done()


INBOX = queue.Queue()


class BeltOfModule(Belt):
    """The queue was made when the module was imported, and is empty again after each run."""

    def __init__(self):
        super().__init__()
        self.belt = INBOX


def put(belt):
    belt.put()


def take(belt):
    belt.take()


def taken_in_order(belt):
    return belt.taken[:2] == [1, 2]


# threads that are started


class Timed:
    def __init__(self):
        self.timer = threading.Timer(0.01, self.ring)
        self.rang = False

    def ring(self):
        self.rang = True

    def wait(self):
        self.timer.start()
        self.timer.join()

    def announce(self):
        time.sleep(0.02)


def rang(state):
    return state.rang


class CancelledTimer(Timed):
    """Cancelled in time or not: it has rung, or it never will."""

    def announce(self):
        self.timer.cancel()


class Adder(threading.Thread):
    lock = threading.Lock()

    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def run(self):
        with self.lock:
            self.counter.value += 1


class OfThreads(Counter):
    def add(self):
        thread = Adder(self)
        thread.start()
        thread.join()


class OfDaemonPoller(Counter):
    """It polls beside the work, and is stopped and awaited."""

    def add(self):
        stop = threading.Event()
        poller = threading.Thread(target=self.poll, args=(stop,), daemon=True)
        poller.start()
        with MODULE_LOCK:
            super().add()
        stop.set()
        poller.join()

    def poll(self, stop):
        while not stop.wait(0.01):
            pass


class OfLateThread(Counter):
    """What they start ends by itself, some time later; nobody waits for it."""

    def add(self):
        threading.Thread(target=time.sleep, args=(0.05,)).start()
        with MODULE_LOCK:
            super().add()


class OfThreadJoinedInVain(Counter):
    """The thread is still there when the patience is over."""

    def add(self):
        thread = threading.Thread(target=time.sleep, args=(0.05,))
        thread.start()
        thread.join(0.01)
        with MODULE_LOCK:
            super().add()
        thread.join()


class OfExecutor(LockByName):
    def work(self):
        with self.lock:
            self.value += 1

    def add(self):
        with ThreadPoolExecutor(2) as executor:
            executor.submit(self.work).result()


class OfMap(LockByName):
    def square(self, number):
        with self.lock:
            self.value += 1
        return number * number

    def add(self):
        with ThreadPoolExecutor(2) as executor:
            if list(executor.map(self.square, [1, 2])) != [1, 4]:
                raise RuntimeError("wrong or out of order")


def mapped_four(state):
    return state.value == 4


class OfSharedExecutor(Counter):
    """One worker does it all, and is still waiting for more at the end."""

    def __init__(self):
        super().__init__()
        self.executor = ThreadPoolExecutor(1)

    def work(self):
        self.value += 1

    def add(self):
        self.executor.submit(self.work).result(timeout=5)


class OfNestedExecutors(LockByName):
    def inner(self):
        with self.lock:
            self.value += 1
        return self.value

    def outer(self):
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(self.inner).result(timeout=5)

    def add(self):
        with ThreadPoolExecutor(1) as executor:
            executor.submit(self.outer).result(timeout=5)


class AsCompleted(LockByName):
    """Futures with callbacks, in whatever order they are done."""

    def note(self, future):
        with self.lock:
            self.value += future.result()

    def add(self):
        with ThreadPoolExecutor(2) as executor:
            futures = [executor.submit(int, "0"), executor.submit(int, "1")]
            for future in as_completed(futures, timeout=5):
                future.add_done_callback(self.note)


# what belongs to a thread, or to the whole process


class Logged:
    """A logger with a handler of its own, as an application sets it up."""

    def __init__(self):
        self.stream = StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(logging.Formatter("%(threadName)s %(levelname)s %(message)s"))
        self.logger = logging.Logger("worker")
        self.logger.addHandler(handler)


def log(state):
    state.logger.warning("working on %s", "it")


def two_lines(state):
    lines = state.stream.getvalue().splitlines()
    return len(lines) == 2 and all(line.endswith("WARNING working on it") for line in lines)


MODULE_LOGGER = logging.getLogger("pytest_gilcheck.tests.correct")
MODULE_LOGGER.propagate = False
MODULE_LOGGER.addHandler(logging.NullHandler())


def log_by_module(state):
    if MODULE_LOGGER.isEnabledFor(logging.ERROR):
        MODULE_LOGGER.error("in %s", threading.current_thread().name)


class Imported:
    """A module that nobody has imported before."""

    def __init__(self):
        sys.modules.pop("colorsys", None)
        self.modules = []


def import_it(state):
    import colorsys

    state.modules.append(colorsys)


def one_module(state):
    return state.modules[0] is state.modules[1] and state.modules[0].rgb_to_hsv(0, 0, 0) == (0, 0, 0)


CURRENT = ContextVar("CURRENT", default="nobody")


class InContext:
    def __init__(self):
        self.seen = []

    def work(self, name):
        before = CURRENT.get()
        CURRENT.set(name)
        self.seen.append((before, CURRENT.get()))


def work_as_ann(state):
    state.work("ann")


def work_as_bob(state):
    state.work("bob")


def each_its_own(state):
    return sorted(state.seen) == [("nobody", "ann"), ("nobody", "bob")]


LOCAL = threading.local()


class InLocal(InContext):
    """What a thread keeps for itself is gone in the next run."""

    def work(self, name):
        before = getattr(LOCAL, "name", "nobody")
        LOCAL.name = name
        self.seen.append((before, LOCAL.name))


class Referred:
    """It is there, or it is not; it does not go away while somebody has it."""

    def __init__(self):
        self.counter = Counter()
        self.reference = weakref.ref(self.counter)

    def look(self):
        counter = self.reference()
        if counter is not None:
            counter.add()

    def drop(self):
        self.counter = None


def look(state):
    state.look()


def drop(state):
    state.drop()


class Cached:
    def __init__(self):
        self.square = functools.lru_cache(maxsize=None)(self.compute)
        self.results = []

    def compute(self, number):
        return number * number


def square(state):
    state.results.append(state.square(3))


def both_nine(state):
    return state.results == [9, 9]


class Counted:
    def __init__(self):
        self.ids = itertools.count()
        self.given = []


def give_id(state):
    state.given.append(next(state.ids))


def different_ids(state):
    return sorted(state.given) == [0, 1]


class Swapped:
    """A whole value is put in the place of another: whoever reads it has one of the two."""

    def __init__(self):
        self.values = {"x": 0, "y": 0}
        self.seen = None

    def wait(self):
        self.seen = self.values

    def announce(self):
        self.values = {"x": 1, "y": 1}


def whole(state):
    return state.seen["x"] == state.seen["y"]


class CheckedTwice:
    """Double-checked locking, done right."""

    lock = threading.RLock()

    def __init__(self):
        self.rows = None
        self.loads = []

    def load(self):
        self.loads.append("now")
        return {"key": 1}

    def wait(self):
        if self.rows is None:
            with self.lock:
                if self.rows is None:
                    self.rows = self.load()
        return self.rows["key"]


def loaded_once(state):
    return state.loads == ["now"]


class Refusing(Swapped):
    """One of them raises whatever the other does."""

    def wait(self):
        raise LookupError("never was any")


PROGRAMS = (
    correct("lock by name", LockByName, (add, add), counted_two),
    correct("lock of a module", LockOfModule, (add, add), counted_two),
    correct("lock of a class", LockOfClass, (add, add), counted_two),
    correct("allocated lock", AllocatedLock, (add, add), counted_two),
    correct("lock of a dataclass", LockOfDataclass, (add, add), counted_two),
    correct("lock in a tuple", LockInTuple, (add, add), counted_two),
    correct("lock in a tuple of a module", LockInTupleOfModule, (add, add), counted_two),
    correct("lock in a list", LockInList, (add, add), counted_two),
    correct("lock in a closure", counting_closure, (add, add), closure_counted_two),
    correct("lock of our own kind", LockOfOurOwn, (add, add), counted_two),
    correct("lock in a context manager", LockInContextManager, (add, add), counted_two),
    correct("lock with a timeout", LockWithTimeout, (add, add), counted_two),
    correct("lock tried again and again", LockTried, (add, add), counted_two),
    correct("re-entrant lock", ReentrantLock, (add, add), counted_two),
    correct("condition of a module", ConditionOfModule, (wait, announce)),
    correct("wait_for", WaitFor, (wait, announce)),
    correct("barrier", AtBarrier, (meet_as_first, meet_as_second), all_seen),
    correct("semaphore", Seats, (add, add), counted_two),
    correct("bounded semaphore", BoundedSeats, (add, add), counted_two),
    correct("event with a timeout", EventWithTimeout, (wait, announce), seen_what_was_set),
    correct("event that never comes", NeverInTime, (wait, announce), timed_out),
    correct("busy wait", BusyWait, (wait, announce), seen_what_was_set),
    correct("polling", Polling, (wait, announce), seen_what_was_set),
    correct("queue", Belt, (put, take), taken_in_order),
    correct("simple queue", simple_belt, (put, take), taken_in_order),
    correct("bounded queue", short_belt, (put, take), taken_in_order),
    correct("joined queue", JoinedBelt, (put, take), taken_in_order),
    correct("queue of a module", BeltOfModule, (put, take), taken_in_order),
    correct("timer", Timed, (wait, announce), rang),
    correct("cancelled timer", CancelledTimer, (wait, announce)),
    correct("subclass of Thread", OfThreads, (add, add), counted_two),
    correct("daemon that polls", OfDaemonPoller, (add, add), counted_two),
    correct("thread that ends late", OfLateThread, (add, add), counted_two),
    correct("thread joined in vain", OfThreadJoinedInVain, (add, add), counted_two),
    correct("executor", OfExecutor, (add, add), counted_two),
    correct("executor's map", OfMap, (add, add), mapped_four),
    correct("shared executor", OfSharedExecutor, (add, add), counted_two),
    correct("nested executors", OfNestedExecutors, (add, add), counted_two),
    correct("futures as they complete", AsCompleted, (add, add), counted_two),
    correct("logging", Logged, (log, log), two_lines),
    correct("logger of a module", Counter, (log_by_module, log_by_module)),
    correct("import", Imported, (import_it, import_it), one_module),
    correct("context variable", InContext, (work_as_ann, work_as_bob), each_its_own),
    correct("thread-local", InLocal, (work_as_ann, work_as_bob), each_its_own),
    correct("weak reference", Referred, (look, drop)),
    correct("lru_cache", Cached, (square, square), both_nine),
    correct("itertools.count", Counted, (give_id, give_id), different_ids),
    correct("swapped value", Swapped, (wait, announce), whole),
    correct("double-checked locking", CheckedTwice, (wait, wait), loaded_once),
    correct("always the same exception", Refusing, (wait, announce)),
)
