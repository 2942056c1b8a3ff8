"""Pools, queues, conditions, futures and threads of services."""

from __future__ import annotations

import itertools
import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from .declare import pair


@pair("steps")
class PoolOverItsLimit:
    """The number of open connections is compared, and then raised."""

    class Buggy:
        limit = 1

        def __init__(self):
            self.idle, self.opened, self.given = [], 0, []

        def get(self):
            if self.idle:
                return self.idle.pop()
            if self.opened < self.limit:
                self.opened += 1
                return f"connection {self.opened}"
            return None

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.permits = threading.Semaphore(self.limit)

        def get(self):
            if self.permits.acquire(blocking=False):
                self.opened += 1
                return f"connection {self.opened}"
            return None

    threads = (lambda s: s.given.append(s.get()), lambda s: s.given.append(s.get()))

    def holds(s):
        return sum(connection is not None for connection in s.given) == 1


class Connection:
    """What a pool lends."""

    transaction = None


@pair("steps")
class ResetAfterReturn:
    """A connection goes back to the pool before its transaction is reset."""

    class Buggy:
        def __init__(self):
            self.pool = queue.Queue()
            self.pool.put(Connection())

        @contextmanager
        def lent(self):
            connection = self.pool.get()
            try:
                yield connection
            finally:
                self.pool.put(connection)
                connection.transaction = None

        def work(self, who):
            with self.lent() as connection:
                connection.transaction = who
                if connection.transaction != who:
                    raise RuntimeError("transaction gone")

    class Fixed(Buggy):
        @contextmanager
        def lent(self):
            connection = self.pool.get()
            try:
                yield connection
            finally:
                connection.transaction = None
                self.pool.put(connection)

    threads = (lambda s: s.work("a"), lambda s: s.work("b"))


@pair("steps")
class TokensOverdrawn:
    """A token bucket compares, and then takes."""

    class Buggy:
        def __init__(self):
            self.tokens, self.allowed = 1.0, itertools.count()

        def allow(self):
            if self.tokens >= 1:
                next(self.allowed)
                self.tokens -= 1
                return True
            return False

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def allow(self):
            with self.lock:
                return super().allow()

    threads = (lambda s: s.allow(), lambda s: s.allow())

    def holds(s):
        return s.tokens >= 0


@pair("judging", needs=0)
class ConditionWithIf:
    """A consumer that was woken does not look again."""

    class Buggy:
        def __init__(self):
            self.condition, self.items = threading.Condition(), []

        def wait(self):
            if not self.items:
                self.condition.wait()

        def consume(self):
            with self.condition:
                self.wait()
                return self.items.pop()

        def produce(self):
            for item in (1, 2):
                with self.condition:
                    self.items.append(item)
                    self.condition.notify_all()

    class Fixed(Buggy):
        def wait(self):
            while not self.items:
                self.condition.wait()

    threads = (lambda s: s.consume(), lambda s: s.consume(), lambda s: s.produce())


@pair("judging")
class WakeUpLost:
    """A flag is tested outside the condition's lock: the notification comes before the wait."""

    class Buggy:
        def __init__(self):
            self.condition, self.ready = threading.Condition(), False

        def wait(self):
            if not self.ready:
                with self.condition:
                    self.condition.wait()

        def set(self):
            with self.condition:
                self.ready = True
                self.condition.notify()

    class Fixed(Buggy):
        def wait(self):
            with self.condition:
                self.condition.wait_for(lambda: self.ready)

    threads = (lambda s: s.wait(), lambda s: s.set())


@pair("judging", needs=2)
class EventClearedAfterDrain:
    """An event is cleared after the drain: an item of between waits for ever."""

    class Buggy:
        def __init__(self):
            self.event, self.items, self.got = threading.Event(), [], 0

        def put(self):
            for item in (1, 2):
                self.items.append(item)
                self.event.set()

        def drain(self):
            while self.items:
                self.items.pop()
                self.got += 1

        def consume(self):
            while self.got < 2:
                self.event.wait()
                self.drain()
                self.event.clear()

    class Fixed(Buggy):
        def consume(self):
            while self.got < 2:
                self.event.wait()
                self.event.clear()
                self.drain()

    threads = (lambda s: s.put(), lambda s: s.consume())


@pair("judging")
class EmptyThenGet:
    """``queue.empty()`` is asked before ``get_nowait``."""

    class Buggy:
        def __init__(self):
            self.jobs, self.done = queue.Queue(), []
            self.jobs.put("job")

        def work(self):
            while not self.jobs.empty():
                self.done.append(self.jobs.get_nowait())

    class Fixed(Buggy):
        def work(self):
            while True:
                try:
                    self.done.append(self.jobs.get_nowait())
                except queue.Empty:
                    return

    threads = (lambda s: s.work(), lambda s: s.work())


@pair("steps")
class TaskDoneTooEarly:
    """``task_done`` is called before the result is stored, so ``join`` returns too early."""

    class Buggy:
        def __init__(self):
            self.jobs, self.results = queue.Queue(), {}
            self.jobs.put(4)

        def work(self):
            job = self.jobs.get()
            self.jobs.task_done()
            self.results[job] = job * job

        def report(self):
            self.jobs.join()
            return self.results[4]

    class Fixed(Buggy):
        def work(self):
            job = self.jobs.get()
            self.results[job] = job * job
            self.jobs.task_done()

    threads = (lambda s: s.work(), lambda s: s.report())


@pair("judging")
class ResultSetTwice:
    """Two threads find a future undone, and both set its result."""

    class Buggy:
        def __init__(self):
            self.future = Future()

        def answer(self, value):
            if not self.future.done():
                self.future.set_result(value)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.turn = threading.Lock()

        def answer(self, value):
            if self.turn.acquire(blocking=False):
                self.future.set_result(value)

    threads = (lambda s: s.answer(1), lambda s: s.answer(2))

    def holds(s):
        return s.future.result(0) in (1, 2)


class Account:
    """A balance with a lock."""

    def __init__(self, number):
        self.number, self.balance, self.lock = number, 100, threading.Lock()


@pair("judging")
class TransferDeadlock:
    """Two transfers lock the accounts in opposite orders."""

    class Buggy:
        def __init__(self):
            self.a, self.b = Account(1), Account(2)

        def order(self, one, other):
            return one, other

        def transfer(self, source, target):
            first, second = self.order(source, target)
            with first.lock, second.lock:
                source.balance -= 10
                target.balance += 10

    class Fixed(Buggy):
        def order(self, one, other):
            return sorted((one, other), key=lambda account: account.number)

    threads = (lambda s: s.transfer(s.a, s.b), lambda s: s.transfer(s.b, s.a))

    def holds(s):
        return s.a.balance == s.b.balance == 100


@pair("judging", needs=2)
class ThreePhilosophers:
    """Three threads each hold one fork and wait for the next. It needs two preemptions."""

    class Buggy:
        def __init__(self):
            self.forks = [threading.Lock() for _ in range(3)]
            self.meals = 0

        def eat(self, seat):
            left, right = self.sides(seat)
            with self.forks[left], self.forks[right]:
                pass

        def sides(self, seat):
            return seat, (seat + 1) % 3

    class Fixed(Buggy):
        def sides(self, seat):
            return sorted((seat, (seat + 1) % 3))

    threads = (lambda s: s.eat(0), lambda s: s.eat(1), lambda s: s.eat(2))


@pair("judging")
class UpgradeDeadlock:
    """Two readers want to become writers, and each waits for the other to stop reading."""

    class Buggy:
        def __init__(self):
            self.condition, self.readers, self.value = threading.Condition(), 0, 0

        def update(self):
            with self.condition:
                self.readers += 1
            old = self.value
            with self.condition:
                self.condition.wait_for(lambda: self.readers == 1)
                self.value = old + 1
                self.readers -= 1
                self.condition.notify_all()

    class Fixed(Buggy):
        def update(self):
            with self.condition:
                self.value += 1

    threads = (lambda s: s.update(), lambda s: s.update())

    def holds(s):
        return s.value == 2


@pair("judging")
class ReleasedWithoutAcquire:
    """``finally`` releases a permit that was not acquired."""

    class Buggy:
        def __init__(self):
            self.permits = threading.BoundedSemaphore(1)
            self.refused = []

        def request(self):
            try:
                if not self.permits.acquire(blocking=False):
                    self.refused.append(1)
                    return
                self.refused.extend(())
            finally:
                self.permits.release()

    class Fixed(Buggy):
        def request(self):
            if not self.permits.acquire(blocking=False):
                self.refused.append(1)
                return
            try:
                self.refused.extend(())
            finally:
                self.permits.release()

    threads = (lambda s: s.request(), lambda s: s.request())


@pair("judging", needs=0)
class BarrierPassedOnce:
    """A slot is overwritten for the next round before all have read this one."""

    class Buggy:
        def __init__(self):
            self.barrier, self.slots = threading.Barrier(2), [1, 1]

        def after_reading(self):
            pass

        def run(self, index):
            self.barrier.wait()
            total = sum(self.slots)
            self.after_reading()
            self.slots[index] = total

    class Fixed(Buggy):
        def after_reading(self):
            self.barrier.wait()

    threads = (lambda s: s.run(0), lambda s: s.run(1))

    def holds(s):
        return s.slots == [2, 2]


@pair("steps")
class UnsubscribedWhilePublishing:
    """A callback is removed while the list of callbacks is walked: the next one is left out."""

    class Buggy:
        def __init__(self):
            self.heard = []
            self.callbacks = [self.first, self.second]

        def first(self):
            self.heard.append(1)

        def second(self):
            self.heard.append(2)

        def publish(self):
            for callback in self.callbacks:
                callback()

        def unsubscribe(self):
            self.callbacks.remove(self.first)

    class Fixed(Buggy):
        def publish(self):
            for callback in tuple(self.callbacks):
                callback()

    threads = (lambda s: s.publish(), lambda s: s.unsubscribe())

    def holds(s):
        return 2 in s.heard


@pair("steps")
class JobAfterClose:
    """A job comes into the list after the last drain."""

    class Buggy:
        def __init__(self):
            self.closed, self.jobs, self.done, self.refused = False, [], [], []
            self.lock = threading.Lock()

        def submit(self, job):
            if self.closed:
                self.refused.append(job)
            else:
                self.jobs.append(job)

        def close(self):
            self.closed = True
            while self.jobs:
                self.done.append(self.jobs.pop())

    class Fixed(Buggy):
        def submit(self, job):
            with self.lock:
                super().submit(job)

        def close(self):
            with self.lock:
                super().close()

    threads = (lambda s: s.submit("j"), lambda s: s.close())

    def holds(s):
        return s.done + s.refused == ["j"]


@pair("steps")
class LastUserCloses:
    """The count of users goes down, and is then compared: nobody closes, or two do."""

    class Buggy:
        def __init__(self):
            self.users, self.closes = 2, []

        def leave(self):
            self.users -= 1
            if self.users == 0:
                self.closes.append("closed")

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.tickets = [False, True]

        def leave(self):
            if not self.tickets.pop():
                self.closes.append("closed")

    threads = (lambda s: s.leave(), lambda s: s.leave())

    def holds(s):
        return s.closes == ["closed"]


@pair("steps")
class TotalsInExecutor:
    """Tasks of an executor add to one dict."""

    class Buggy:
        def __init__(self):
            self.totals = {"bytes": 0}

        def download(self, size):
            self.totals["bytes"] += size

        def run(self):
            with ThreadPoolExecutor(2) as pool:
                for size in (10, 20):
                    pool.submit(self.download, size)

    class Fixed(Buggy):
        def run(self):
            with ThreadPoolExecutor(2) as pool:
                self.totals["bytes"] = sum(pool.map(int, ("10", "20")))

    threads = (lambda s: s.run(), lambda s: None)

    def holds(s):
        return s.totals["bytes"] == 30


@pair("judging")
class AttributeAfterStart:
    """A thread is started before the attribute that it uses is stored."""

    class Buggy:
        def __init__(self):
            self.errors = []

        def _run(self):
            try:
                self.inbox.append("hello")
            except AttributeError as error:
                self.errors.append(error)

        def start(self):
            thread = threading.Thread(target=self._run)
            thread.start()
            self.inbox = []
            thread.join()

    class Fixed(Buggy):
        def start(self):
            self.inbox = []
            thread = threading.Thread(target=self._run)
            thread.start()
            thread.join()

    threads = (lambda s: s.start(), lambda s: None)

    def holds(s):
        return not s.errors


@pair("steps")
class SharedGenerator:
    """Two threads ask one generator for the next number."""

    class Buggy:
        def __init__(self):
            self.numbers = self.generate()
            self.got = []

        def generate(self):
            number = 0
            while True:
                number += 1
                yield number

        def next_number(self):
            self.got.append(next(self.numbers))

    class Fixed(Buggy):
        def __init__(self):
            self.numbers, self.got = itertools.count(1), []

    threads = (lambda s: s.next_number(), lambda s: s.next_number())

    def holds(s):
        return sorted(s.got) == [1, 2]


@pair("steps")
class ConfigCopiedAndSwapped:
    """Copy-on-write without a lock between the writers."""

    class Buggy:
        def __init__(self):
            self.config = {"a": 1}

        def set(self, name, value):
            new = dict(self.config)
            new[name] = value
            self.config = new

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.writers = threading.Lock()

        def set(self, name, value):
            with self.writers:
                super().set(name, value)

    threads = (lambda s: s.set("b", 2), lambda s: s.set("c", 3))

    def holds(s):
        return s.config == {"a": 1, "b": 2, "c": 3}


@pair("steps")
class NextIdByMaximum:
    """The next identifier is the largest one and one."""

    class Buggy:
        def __init__(self):
            self.users = {1: "root"}

        def add(self, name):
            number = max(self.users, default=0) + 1
            self.users[number] = name

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.numbers = itertools.count(2)

        def add(self, name):
            self.users[next(self.numbers)] = name

    threads = (lambda s: s.add("ann"), lambda s: s.add("bob"))

    def holds(s):
        return len(s.users) == 3


@pair("judging")
class ReaderJoinsBeforeWriter:
    """Readers count themselves with a lock of their own, and the last one frees the writer though another has come."""

    class Buggy:
        def __init__(self):
            self.room, self.readers, self.value = threading.Lock(), 0, [0, 0]
            self.counting = threading.Lock()

        def enter(self):
            with self.counting:
                self.readers += 1
            if self.readers == 1:
                self.room.acquire()

        def leave(self):
            with self.counting:
                self.readers -= 1
                if self.readers == 0:
                    self.room.release()

        def read(self):
            self.enter()
            a, b = self.value[0], self.value[1]
            self.leave()
            if a != b:
                raise RuntimeError("read while it was written")

    class Fixed(Buggy):
        def enter(self):
            with self.counting:
                self.readers += 1
                if self.readers == 1:
                    self.room.acquire()

    threads = (lambda s: s.read(), lambda s: s.read())

    def holds(s):
        return s.readers == 0 and not s.room.locked()


@pair("judging", needs=0)
class NotifyOnlyOne:
    """A put wakes a producer instead of the consumer, as both wait on one condition and ``notify`` wakes one."""

    class Buggy:
        def __init__(self):
            self.condition, self.slot = threading.Condition(), None

        def wake(self):
            self.condition.notify()

        def put(self, item):
            with self.condition:
                while self.slot is not None:
                    self.condition.wait()
                self.slot = item
                self.wake()

        def get(self):
            with self.condition:
                while self.slot is None:
                    self.condition.wait()
                self.slot = None
                self.wake()

    class Fixed(Buggy):
        def wake(self):
            self.condition.notify_all()

    threads = (lambda s: s.get(), lambda s: s.get(), lambda s: s.put(1), lambda s: s.put(2))


@pair("steps")
class StatusPageDuringRename:
    """A rename deletes the old key before it stores the new one: a reader finds neither."""

    class Buggy:
        def __init__(self):
            self.files = {"draft": "text"}

        def rename(self):
            self.files["final"] = self.files.pop("draft")

        def read(self):
            if "final" not in self.files and "draft" not in self.files:
                raise FileNotFoundError("neither name exists")

    class Fixed(Buggy):
        def rename(self):
            self.files["final"] = self.files["draft"]
            del self.files["draft"]

        def read(self):
            if "draft" not in self.files and "final" not in self.files:
                raise FileNotFoundError("neither name exists")

    threads = (lambda s: s.rename(), lambda s: s.read())
