"""Programs whose outcome depends on time, each as a buggy and a fixed twin.

Whoever waits with a short timeout may meet a thread that is slower; whoever reads the clock twice reads two times.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    """Two programs with the same threads: the state says which of them it is."""

    name: str
    buggy: Callable[[], Any]
    fixed: Callable[[], Any]
    threads: tuple[Callable[[Any], object], ...]
    invariant: Callable[[Any], object] | None = None


PAIRS: list[Pair] = []


def pair(buggy, fixed, *threads, invariant=None):
    PAIRS.append(Pair(buggy.__name__, buggy, fixed, threads, invariant))


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.event = threading.Event()
        self.value = None
        self.seen = []


def first(state):
    state.first()


def second(state):
    state.second()


class EventTimeoutIgnored(State):
    """It goes on as if the event had come."""

    timeout = 0.01

    def first(self):
        self.event.wait(self.timeout)
        self.seen.append(self.value)

    def second(self):
        self.value = 1
        self.event.set()


class EventWaitedForLong(EventTimeoutIgnored):
    timeout = 30


pair(EventTimeoutIgnored, EventWaitedForLong, first, second, invariant=lambda state: state.seen == [1])


class ConditionTimeoutIgnored(State):
    def __init__(self):
        super().__init__()
        self.condition = threading.Condition()

    def first(self):
        with self.condition:
            if self.value is None:
                self.condition.wait(0.05)
            self.seen.append(self.value)

    def second(self):
        with self.condition:
            self.value = 1
            self.condition.notify()


class ConditionInLoop(ConditionTimeoutIgnored):
    def first(self):
        with self.condition:
            while self.value is None:
                self.condition.wait(0.05)
            self.seen.append(self.value)


pair(ConditionTimeoutIgnored, ConditionInLoop, first, second, invariant=lambda state: state.seen == [1])


class LockTimeoutIgnored(State):
    def __init__(self):
        super().__init__()
        self.value = 0

    def first(self):
        got = self.lock.acquire(timeout=0.02)
        before = self.value
        self.value = before + 1
        if got:
            self.lock.release()

    second = first


class LockTimeoutHeeded(LockTimeoutIgnored):
    def first(self):
        while not self.lock.acquire(timeout=0.02):
            pass
        before = self.value
        self.value = before + 1
        self.lock.release()

    second = first


pair(LockTimeoutIgnored, LockTimeoutHeeded, first, second, invariant=lambda state: state.value == 2)


class SemaphoreTimeout(State):
    def __init__(self):
        super().__init__()
        self.seats = threading.BoundedSemaphore(1)

    def first(self):
        self.seats.acquire(timeout=0.1)
        self.seats.release()

    second = first


class SemaphoreHeeded(SemaphoreTimeout):
    def first(self):
        if self.seats.acquire(timeout=0.1):
            self.seats.release()

    second = first


pair(SemaphoreTimeout, SemaphoreHeeded, first, second)


class BarrierTimeout(State):
    timeout = 0.05

    def __init__(self):
        super().__init__()
        self.barrier = threading.Barrier(2)

    def first(self):
        self.value = 1
        self.barrier.wait(self.timeout)

    def second(self):
        self.seen.append(1)
        self.barrier.wait(self.timeout)


class BarrierPatient(BarrierTimeout):
    timeout = 60


pair(BarrierTimeout, BarrierPatient, first, second)


class JoinTimeout(State):
    timeout = 0.05

    def first(self):
        worker = threading.Thread(target=self.work)
        worker.start()
        worker.join(self.timeout)
        self.seen.append(self.value)

    def work(self):
        self.value = 1

    def second(self):
        self.lock.acquire()
        self.lock.release()


class JoinPatient(JoinTimeout):
    timeout = None


pair(JoinTimeout, JoinPatient, first, second, invariant=lambda state: state.seen == [1])


class GetTimeout(State):
    timeout = 0.02

    def __init__(self):
        super().__init__()
        self.items = queue.Queue()

    def first(self):
        self.seen.append(self.items.get(timeout=self.timeout))

    def second(self):
        self.items.put(1)


class GetPatient(GetTimeout):
    timeout = 10


pair(GetTimeout, GetPatient, first, second)


class SimpleGetTimeout(GetTimeout):
    def __init__(self):
        super().__init__()
        self.items = queue.SimpleQueue()


class SimpleGetPatient(SimpleGetTimeout):
    timeout = 5


pair(SimpleGetTimeout, SimpleGetPatient, first, second)


class PutTimeout(State):
    """What could not be put in time is lost."""

    def __init__(self):
        super().__init__()
        self.items = queue.Queue(1)
        self.items.put(0)

    def first(self):
        try:
            self.items.put(1, timeout=0.05)
        except queue.Full:
            pass

    def second(self):
        self.seen.append(self.items.get())


class PutAgain(PutTimeout):
    def first(self):
        while True:
            try:
                return self.items.put(1, timeout=0.05)
            except queue.Full:
                continue


pair(PutTimeout, PutAgain, first, second, invariant=lambda state: state.items.qsize() == 1)


class ResultTimeout(State):
    timeout = 0.1

    def first(self):
        with ThreadPoolExecutor(1) as executor:
            self.seen.append(executor.submit(self.work).result(self.timeout))

    def work(self):
        self.value = 1
        return self.value

    def second(self):
        self.event.set()


class ResultPatient(ResultTimeout):
    timeout = 5


pair(ResultTimeout, ResultPatient, first, second)


class FuturesNotDone(State):
    timeout = 0.1

    def first(self):
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(self.work)
            done, _ = concurrent.futures.wait([future], timeout=self.timeout)
            self.seen.append(len(done))

    def work(self):
        self.value = 1

    def second(self):
        self.event.set()


class FuturesDone(FuturesNotDone):
    timeout = 20


pair(FuturesNotDone, FuturesDone, first, second, invariant=lambda state: state.seen == [1])


class SleepForOrder(State):
    """A sleep orders nothing."""

    def first(self):
        self.value = 1
        self.event.set()

    def second(self):
        time.sleep(0.2)
        self.seen.append(self.value)


class EventForOrder(SleepForOrder):
    def second(self):
        self.event.wait()
        self.seen.append(self.value)


pair(SleepForOrder, EventForOrder, first, second, invariant=lambda state: state.seen == [1])


class Lease(State):
    """Who holds the lease may write; it is checked before, and over when the write comes."""

    ttl = 0.2

    def __init__(self):
        super().__init__()
        self.owner, self.until, self.writer = None, 0.0, None

    def take(self, me):
        with self.lock:
            if self.owner is None or time.monotonic() >= self.until:
                self.owner, self.until = me, time.monotonic() + self.ttl
                return True
            return False

    def work(self, me):
        if self.take(me):
            self.writer = me
            self.seen.append(self.writer)

    def first(self):
        self.work(1)

    def second(self):
        self.work(2)


class FencedLease(Lease):
    def work(self, me):
        if self.take(me):
            with self.lock:
                if self.owner == me:
                    self.writer = me
                    self.seen.append(self.writer)


pair(Lease, FencedLease, first, second, invariant=lambda state: state.seen[-1] == state.owner)


class CacheExpires(State):
    """Fresh when it is asked, and expired when it is read."""

    ttl = 0.1

    def __init__(self):
        super().__init__()
        self.entries = {"key": (1, time.monotonic() + self.ttl)}

    def fresh(self):
        return "key" in self.entries and self.entries["key"][1] > time.monotonic()

    def first(self):
        if self.fresh():
            self.seen.append(self.entries["key"][0])

    def second(self):
        with self.lock:
            if not self.fresh():
                self.entries.pop("key", None)


class CacheReadOnce(CacheExpires):
    def first(self):
        entry = self.entries.get("key")
        if entry is not None and entry[1] > time.monotonic():
            self.seen.append(entry[0])


pair(CacheExpires, CacheReadOnce, first, second)


class Expired(State):
    """Two readings of the clock, as if they were one."""

    def __init__(self):
        super().__init__()
        self.until = time.time() + 0.3

    def first(self):
        if time.time() < self.until:
            left = self.until - time.time()
            if left < 0:
                raise ValueError("negative time")

    def second(self):
        self.event.set()
        self.value = time.time()


class ReadOnce(Expired):
    def first(self):
        left = self.until - time.time()
        if left > 0:
            self.seen.append(left)


pair(Expired, ReadOnce, first, second)


class ExpiredByDate(Expired):
    def __init__(self):
        super().__init__()
        self.until = datetime.datetime.now() + datetime.timedelta(seconds=0.3)

    def first(self):
        if datetime.datetime.now() < self.until and datetime.datetime.now() > self.until:
            raise ValueError("both before and after")


class ReadDateOnce(ExpiredByDate):
    def first(self):
        now = datetime.datetime.now()
        if now < self.until and now > self.until:
            raise ValueError("both before and after")


pair(ExpiredByDate, ReadDateOnce, first, second)


class Watchdog(State):
    """It takes for dead who was only slow, and does the work a second time."""

    def __init__(self):
        super().__init__()
        self.jobs = 0

    def first(self):
        self.jobs += 1
        self.event.set()

    def second(self):
        if not self.event.wait(0.3) and not self.jobs:
            self.jobs += 1


class ClaimedWatchdog(Watchdog):
    def work(self):
        with self.lock:
            if not self.jobs:
                self.jobs += 1
        self.event.set()

    first = work

    def second(self):
        if not self.event.wait(0.3):
            self.work()


pair(Watchdog, ClaimedWatchdog, first, second, invariant=lambda state: state.jobs == 1)


class TimerCancelled(State):
    """Cancelled, but it had fired already."""

    def __init__(self):
        super().__init__()
        self.value = "open"

    def first(self):
        timer = threading.Timer(0.05, self.ring)
        timer.start()
        self.seen.append("worked")
        timer.cancel()
        assert self.value == "open"

    def ring(self):
        self.value = "closed"

    def second(self):
        self.event.set()


class TimerChecked(TimerCancelled):
    def first(self):
        timer = threading.Timer(30, self.ring)
        timer.start()
        self.seen.append("worked")
        timer.cancel()
        assert self.value == "open"


pair(TimerCancelled, TimerChecked, first, second)


class Throttle(State):
    """At most once in so many seconds; both find that so many have passed."""

    def __init__(self):
        super().__init__()
        self.last, self.calls = time.monotonic(), 0

    def call(self):
        now = time.monotonic()
        if now - self.last > 0.3:
            self.last = now
            self.calls += 1

    first = second = call


class ThrottleLocked(Throttle):
    def call(self):
        with self.lock:
            super().call()

    first = second = call


pair(Throttle, ThrottleLocked, first, second, invariant=lambda state: state.calls <= 1)


class SameStamp(State):
    """It waits for a time that is short, and takes it for a sign that nobody else is there."""

    def __init__(self):
        super().__init__()
        self.leader = None

    def elect(self, me):
        if not self.event.wait(0.1):
            self.leader = me
            self.event.set()
            self.seen.append(me)

    def first(self):
        self.elect(1)

    def second(self):
        self.elect(2)


class OneLeader(SameStamp):
    def elect(self, me):
        if not self.event.wait(0.1):
            with self.lock:
                if self.leader is None:
                    self.leader = me
                    self.event.set()
                    self.seen.append(me)


pair(SameStamp, OneLeader, first, second, invariant=lambda state: len(state.seen) == 1)


class LateHeartbeat(State):
    """The one is declared dead after a silence; it goes on all the same."""

    def __init__(self):
        super().__init__()
        self.beat, self.dead, self.written = time.monotonic(), False, []

    def first(self):
        if not self.dead:
            self.beat = time.monotonic()
            self.written.append(self.dead)

    def second(self):
        if time.monotonic() - self.beat > 0.2:
            self.dead = True
            self.written.append("taken over")


class HeartbeatLocked(LateHeartbeat):
    def first(self):
        with self.lock:
            if not self.dead:
                self.beat = time.monotonic()
                self.written.append(self.dead)

    def second(self):
        with self.lock:
            super().second()


pair(LateHeartbeat, HeartbeatLocked, first, second, invariant=lambda state: state.written[-1:] != [False] or not state.dead)
