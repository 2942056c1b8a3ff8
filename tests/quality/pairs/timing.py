"""Timeouts, clocks, leases, timers and sleeps.

Each buggy program breaks if a thread is delayed for longer than its timeout, which is a fraction of a second. Each fixed one does
not, however long the delay.
"""

from __future__ import annotations

import queue
import sched
import select
import selectors
import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait

from .declare import pair

SHORT = 0.03  # seconds


@pair("time")
class WaitResultIgnored:
    """``event.wait`` returns False after its timeout, and nobody looks."""

    class Buggy:
        timeout = SHORT

        def __init__(self):
            self.ready, self.data = threading.Event(), None

        def load(self):
            self.data = [1, 2]
            self.ready.set()

        def use(self):
            self.ready.wait(self.timeout)
            return self.data[0]

    class Fixed(Buggy):
        timeout = None

    threads = (lambda s: s.load(), lambda s: s.use())


@pair("time")
class ConditionTimedOut:
    """A consumer pops after a timeout of its condition."""

    class Buggy:
        def __init__(self):
            self.condition, self.items = threading.Condition(), []

        def produce(self):
            with self.condition:
                self.items.append("item")
                self.condition.notify()

        def consume(self):
            with self.condition:
                if not self.items:
                    self.condition.wait(timeout=SHORT)
                return self.items.pop()

    class Fixed(Buggy):
        def consume(self):
            with self.condition:
                while not self.items:
                    self.condition.wait(timeout=SHORT)
                return self.items.pop()

    threads = (lambda s: s.produce(), lambda s: s.consume())


@pair("time")
class WorkerDiesOfEmptyQueue:
    """A worker takes an empty queue for the end of its work."""

    class Buggy:
        def __init__(self):
            self.jobs, self.done = queue.Queue(), []

        def feed(self):
            self.jobs.put("a")
            self.jobs.put("b")
            self.jobs.put(None)

        def work(self):
            try:
                while (job := self.jobs.get(timeout=SHORT)) is not None:
                    self.done.append(job)
            except queue.Empty:
                pass

    class Fixed(Buggy):
        def work(self):
            while True:
                try:
                    job = self.jobs.get(timeout=SHORT)
                except queue.Empty:
                    continue
                if job is None:
                    return
                self.done.append(job)

    threads = (lambda s: s.feed(), lambda s: s.work())

    def holds(s):
        return s.done == ["a", "b"]


@pair("time")
class JoinTimedOut:
    """A thread is taken for ended because join returned."""

    class Buggy:
        timeout = SHORT

        def __init__(self):
            self.result = None

        def compute(self):
            total = 0
            for number in (1, 2, 3):
                total += number
            self.result = total

        def run(self):
            thread = threading.Thread(target=self.compute)
            thread.start()
            thread.join(self.timeout)
            if self.result is None:
                raise RuntimeError("no result")

    class Fixed(Buggy):
        timeout = None

    threads = (lambda s: s.run(), lambda s: None)


@pair("time")
class LockTimedOut:
    """The result of acquire with a timeout is not looked at, and the lock of another thread is released."""

    class Buggy:
        def __init__(self):
            self.lock, self.count = threading.Lock(), 0

        def add(self):
            self.lock.acquire(timeout=SHORT)
            try:
                self.count += 1
            finally:
                self.lock.release()

    class Fixed(Buggy):
        def add(self):
            while not self.lock.acquire(timeout=SHORT):
                pass
            try:
                self.count += 1
            finally:
                self.lock.release()

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.count == 2


@pair("time")
class SubmittedAgain:
    """A slow answer is taken for a lost request, which is sent again."""

    class Buggy:
        def __init__(self):
            self.future, self.sent, self.asked = Future(), ["request"], threading.Event()

        def serve(self):
            self.asked.wait()
            self.future.set_result("answer")

        def ask(self):
            self.asked.set()
            try:
                return self.future.result(timeout=SHORT)
            except TimeoutError:
                self.sent.append("request")
                return self.future.result()

    class Fixed(Buggy):
        def ask(self):
            self.asked.set()
            try:
                return self.future.result(timeout=SHORT)
            except TimeoutError:
                return self.future.result()

    threads = (lambda s: s.serve(), lambda s: s.ask())

    def holds(s):
        return s.sent == ["request"]


@pair("time", needs=1)
class BarrierBreaks:
    """A barrier with a timeout breaks if a party is late."""

    class Buggy:
        timeout = SHORT

        def __init__(self):
            self.barrier, self.phases = threading.Barrier(2), []

        def run(self):
            self.barrier.wait(self.timeout)
            self.phases.append("next")

    class Fixed(Buggy):
        timeout = None

    threads = (lambda s: s.run(), lambda s: s.run())


@pair("time")
class EntryExpiresBetweenTests:
    """An entry's age is read twice; it expires between."""

    class Buggy:
        ttl = SHORT

        def __init__(self):
            self.entries = {"k": ("value", time.monotonic())}

        def alive(self, key):
            return time.monotonic() - self.entries[key][1] < self.ttl

        def purge(self):
            for key in list(self.entries):
                if not self.alive(key):
                    del self.entries[key]

        def get(self, key):
            if key in self.entries and self.alive(key):
                return self.entries[key][0]
            return None

    class Fixed(Buggy):
        def alive(self, key):
            entry = self.entries.get(key)
            return entry is not None and time.monotonic() - entry[1] < self.ttl

        def purge(self):
            for key, (_, made) in list(self.entries.items()):
                if time.monotonic() - made >= self.ttl:
                    self.entries.pop(key, None)

        def get(self, key):
            entry = self.entries.get(key)
            if entry is not None and time.monotonic() - entry[1] < self.ttl:
                return entry[0]
            return None

    def purge_later(s):
        time.sleep(SHORT)
        s.purge()

    threads = (lambda s: s.get("k"), purge_later)


@pair("time")
class LeaseOutlived:
    """A holder writes after its lease ended and another has taken it."""

    class Buggy:
        seconds = 0.05

        def __init__(self):
            self.guard, self.owner, self.until = threading.Lock(), None, 0.0
            self.token, self.stored_by = 0, []

        def take(self, who):
            while True:
                with self.guard:
                    now = time.monotonic()
                    if self.owner is None or now >= self.until:
                        self.owner, self.until = who, now + self.seconds
                        self.token += 1
                        return self.token
                time.sleep(0.01)

        def store(self, who, token):
            self.stored_by.append(token)

        def leave(self, who):
            with self.guard:
                if self.owner == who:
                    self.owner = None

        def work(self, who):
            token = self.take(who)
            self.store(who, token)
            self.leave(who)

    class Fixed(Buggy):
        def store(self, who, token):
            with self.guard:
                if token == self.token:  # a fencing token
                    self.stored_by.append(token)

    threads = (lambda s: s.work("a"), lambda s: s.work("b"))

    def holds(s):
        return s.stored_by == sorted(s.stored_by)


@pair("time")
class WatchdogFiresLate:
    """A watchdog that has begun is not cancelled any more: the status changes twice."""

    class Buggy:
        def __init__(self):
            self.status, self.changes, self.lock = "running", [], threading.Lock()

        def finish(self, status):
            if self.status == "running":
                self.changes.append(status)
                self.status = status

        def run(self):
            watchdog = threading.Timer(SHORT, self.finish, ["failed"])
            watchdog.start()
            self.finish("done")
            watchdog.cancel()
            watchdog.join()

    class Fixed(Buggy):
        def finish(self, status):
            with self.lock:
                super().finish(status)

    threads = (lambda s: s.run(), lambda s: None)

    def holds(s):
        return len(s.changes) == 1


@pair("time")
class DebounceRunsTwice:
    """A debounced save cancels a timer that has fired already."""

    class Buggy:
        def __init__(self):
            self.saves, self.timer = [], None

        def save(self):
            self.saves.append(1)

        def touch(self):
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(SHORT, self.save)
            self.timer.start()
            return self.timer

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.once = threading.Lock()

        def save(self):
            if self.once.acquire(blocking=False):
                self.saves.append(1)

    def type_twice(s):
        first = s.touch()
        second = s.touch()
        first.join()
        second.join()

    threads = (type_twice, lambda s: None)

    def holds(s):
        return len(s.saves) == 1


@pair("time")
class SleepInsteadOfWait:
    """A sleep stands for an order."""

    class Buggy:
        def __init__(self):
            self.server, self.listening = None, threading.Event()

        def serve(self):
            self.server = {"port": 80}
            self.listening.set()

        def connect(self):
            time.sleep(SHORT)
            return self.server["port"]

    class Fixed(Buggy):
        def connect(self):
            self.listening.wait()
            time.sleep(SHORT)
            return self.server["port"]

    threads = (lambda s: s.serve(), lambda s: s.connect())


@pair("time")
class NegativeSleep:
    """What is left until a deadline is slept; after a delay that is less than nothing."""

    class Buggy:
        def __init__(self):
            self.ticks = []

        def left(self, deadline):
            return deadline - time.monotonic()

        def tick(self):
            deadline = time.monotonic() + SHORT
            self.ticks.append(1)
            time.sleep(self.left(deadline))

    class Fixed(Buggy):
        def left(self, deadline):
            return max(0.0, deadline - time.monotonic())

    threads = (lambda s: s.tick(), lambda s: s.tick())


@pair("time")
class NegativeTimeoutOfQueue:
    """A queue refuses a negative timeout."""

    class Buggy:
        def __init__(self):
            self.answers = queue.Queue()

        def limit(self, deadline):
            return deadline - time.monotonic()

        def collect(self):
            deadline = time.monotonic() + SHORT
            for _ in range(2):
                try:
                    self.answers.get(timeout=self.limit(deadline))
                except queue.Empty:
                    return

        def answer(self):
            self.answers.put(1)
            self.answers.put(2)

    class Fixed(Buggy):
        def limit(self, deadline):
            return max(0, deadline - time.monotonic())

    threads = (lambda s: s.collect(), lambda s: s.answer())


@pair("time")
class ThroughputOfTwo:
    """Two threads report their rate; the sum of what they did is what races, and no division fails."""

    class Buggy:
        def __init__(self):
            self.rows, self.rates, self.lock = 0, [], threading.Lock()

        def count(self):
            self.rows += 10

        def load(self):
            begun = time.perf_counter()
            self.count()
            self.rates.append(10 / (time.perf_counter() - begun))

    class Fixed(Buggy):
        def count(self):
            with self.lock:
                self.rows += 10

    threads = (lambda s: s.load(), lambda s: s.load())

    def holds(s):
        return s.rows == 20 and min(s.rates) > 0


@pair("time")
class PermitNotAcquired:
    """A permit that was not acquired in time is released all the same."""

    class Buggy:
        def __init__(self):
            self.permits, self.sent = threading.BoundedSemaphore(1), []

        def send(self, what):
            self.permits.acquire(timeout=SHORT)
            self.sent.append(what)
            self.permits.release()

    class Fixed(Buggy):
        def send(self, what):
            if not self.permits.acquire(timeout=SHORT):
                self.permits.acquire()
            self.sent.append(what)
            self.permits.release()

    threads = (lambda s: s.send(1), lambda s: s.send(2))


@pair("time")
class WaitForUnused:
    """``wait_for`` says False, and the value is used."""

    class Buggy:
        def __init__(self):
            self.condition, self.leader = threading.Condition(), None

        def elect(self):
            with self.condition:
                self.leader = "node-1"
                self.condition.notify_all()

        def follow(self):
            with self.condition:
                self.condition.wait_for(lambda: self.leader, SHORT)
                return self.leader.upper()

    class Fixed(Buggy):
        def follow(self):
            with self.condition:
                if not self.condition.wait_for(lambda: self.leader, SHORT):
                    return None
                return self.leader.upper()

    threads = (lambda s: s.elect(), lambda s: s.follow())


@pair("time")
class PartialResults:
    """``wait`` with a timeout leaves some futures undone, and their results are summed all the same."""

    class Buggy:
        def __init__(self):
            self.futures, self.total = [Future(), Future()], None

        def compute(self):
            for number, future in enumerate(self.futures, 1):
                future.set_result(number)

        def gather(self):
            done, _ = wait(self.futures, timeout=SHORT)
            self.total = sum(future.result() for future in done)

    class Fixed(Buggy):
        def gather(self):
            pending = self.futures
            while pending:
                _, pending = wait(pending, timeout=SHORT)
            self.total = sum(future.result() for future in self.futures)

    threads = (lambda s: s.compute(), lambda s: s.gather())

    def holds(s):
        return s.total == 3


@pair("time")
class AsCompletedTimesOut:
    """``as_completed`` raises after its timeout, and nobody catches it."""

    class Buggy:
        timeout = SHORT

        def __init__(self):
            self.future, self.got = Future(), []

        def gather(self):
            for future in as_completed([self.future], timeout=self.timeout):
                self.got.append(future.result())

    class Fixed(Buggy):
        timeout = None

    threads = (lambda s: s.gather(), lambda s: s.future.set_result(5))

    def holds(s):
        return s.got == [5]


@pair("time")
class MapTimesOut:
    """``map`` of an executor raises after its timeout."""

    class Buggy:
        timeout = 0.05

        def __init__(self):
            self.lengths = []

        def measure(self, text):
            count = 0
            for _ in text:
                count += 1
            return count

        def run(self):
            with ThreadPoolExecutor(1) as pool:
                self.lengths.extend(pool.map(self.measure, ["a", "bb"], timeout=self.timeout))

    class Fixed(Buggy):
        timeout = None

    threads = (lambda s: s.run(), lambda s: None)

    def holds(s):
        return s.lengths == [1, 2]


class Channel:
    """Two ends of a socket pair, closed when the state ends."""

    def __init__(self):
        self.left, self.right = socket.socketpair()
        self.left.setblocking(False)
        self.got = b""

    def send(self):
        self.right.send(b"x")

    def __del__(self):
        self.left.close()
        self.right.close()


@pair("time")
class SelectTimedOut:
    """A socket is read after a select that timed out."""

    class Buggy(Channel):
        def receive(self):
            select.select([self.left], [], [], SHORT)
            self.got = self.left.recv(1)

    class Fixed(Channel):
        def receive(self):
            while not select.select([self.left], [], [], SHORT)[0]:
                pass
            self.got = self.left.recv(1)

    threads = (lambda s: s.send(), lambda s: s.receive())

    def holds(s):
        return s.got == b"x"


@pair("time")
class SelectorWithoutEvents:
    """The first event of a selector is used although there may be none."""

    class Buggy(Channel):
        def __init__(self):
            super().__init__()
            self.selector = selectors.DefaultSelector()
            self.selector.register(self.left, selectors.EVENT_READ)

        def receive(self):
            key, _ = self.selector.select(SHORT)[0]
            self.got = key.fileobj.recv(1)

        def __del__(self):
            self.selector.close()
            super().__del__()

    class Fixed(Buggy):
        def receive(self):
            while not (events := self.selector.select(SHORT)):
                pass
            self.got = events[0][0].fileobj.recv(1)

    threads = (lambda s: s.send(), lambda s: s.receive())

    def holds(s):
        return s.got == b"x"


@pair("time")
class HeartbeatTakenForDead:
    """A worker that is late with a beat is declared dead, and its work is given away."""

    class Buggy:
        def __init__(self):
            self.beat, self.dead, self.done = time.monotonic(), False, threading.Event()

        def work(self):
            for _ in range(2):
                self.beat = time.monotonic()
            self.done.set()

        def watch(self):
            while not self.done.is_set():
                if time.monotonic() - self.beat > 0.05:
                    self.dead = True
                    return
                time.sleep(0.01)

    class Fixed(Buggy):
        def watch(self):
            while not self.done.wait(0.01):
                pass

    threads = (lambda s: s.work(), lambda s: s.watch())

    def holds(s):
        return not s.dead


@pair("time", needs=2)
class RetriesRunOut:
    """Two attempts with a short timeout each. It needs two delays, or a long one."""

    class Buggy:
        def __init__(self):
            self.lock, self.count = threading.Lock(), 0

        def locked(self):
            for _ in range(2):
                if self.lock.acquire(timeout=0.02):
                    return
            raise TimeoutError("the store is busy")

        def add(self):
            self.locked()
            self.count += 1
            self.lock.release()

    class Fixed(Buggy):
        def locked(self):
            self.lock.acquire(timeout=60)

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.count == 2


@pair("time")
class SessionExpiresInUse:
    """A session's data are deleted by a cleaner after its expiry was tested."""

    class Buggy:
        def __init__(self):
            self.expires, self.data, self.lock = time.time() + SHORT, {"user": "ann"}, threading.Lock()

        def user(self):
            if time.time() < self.expires:
                return self.data["user"]
            return None

        def clean(self):
            time.sleep(SHORT)
            if time.time() >= self.expires:
                self.data = None

    class Fixed(Buggy):
        def user(self):
            data = self.data
            if data is not None and time.time() < self.expires:
                return data["user"]
            return None

    threads = (lambda s: s.user(), lambda s: s.clean())


@pair("time")
class PollsThreeTimes:
    """A poll of an event gives up after three timeouts."""

    class Buggy:
        def __init__(self):
            self.event = threading.Event()

        def write(self):
            self.path = "/tmp/x"
            self.event.set()

        def read(self):
            for _ in range(3):
                if self.event.wait(0.01):
                    break
            return self.path

    class Fixed(Buggy):
        def read(self):
            while not self.event.wait(0.01):
                pass
            return self.path

    threads = (lambda s: s.write(), lambda s: s.read())


@pair("time")
class WindowRestarted:
    """A rate window is restarted while another thread counts into it."""

    class Buggy:
        def __init__(self):
            self.begun, self.count, self.lock = time.monotonic(), 1, threading.Lock()
            self.forgotten = 0

        def hit(self):
            now = time.monotonic()
            if now - self.begun >= SHORT:
                self.forgotten += self.count
                self.begun, self.count = now, 0
            self.count += 1

    class Fixed(Buggy):
        def hit(self):
            with self.lock:
                super().hit()

    threads = (lambda s: s.hit(), lambda s: s.hit())

    def holds(s):
        return s.count + s.forgotten == 3


@pair("time")
class PutTimesOut:
    """A full queue refuses an item after the timeout, and the item is dropped."""

    class Buggy:
        def __init__(self):
            self.rows, self.got, self.dropped = queue.Queue(maxsize=1), [], []

        def put(self, row):
            try:
                self.rows.put(row, timeout=SHORT)
            except queue.Full:
                self.dropped.append(row)
                self.rows.put(None)

        def write(self):
            for row in (1, 2):
                self.put(row)

        def read(self):
            for _ in range(2):
                self.got.append(self.rows.get())

    class Fixed(Buggy):
        def put(self, row):
            while True:
                try:
                    self.rows.put(row, timeout=SHORT)
                    return
                except queue.Full:
                    pass

    threads = (lambda s: s.write(), lambda s: s.read())

    def holds(s):
        return not s.dropped


@pair("time")
class CancelOfScheduledEvent:
    """A scheduled event is cancelled after it has left the scheduler's queue."""

    class Buggy:
        def __init__(self):
            self.scheduler, self.ran = sched.scheduler(time.monotonic, time.sleep), []
            self.event = self.scheduler.enter(SHORT, 1, self.ran.append, ("ran",))

        def run(self):
            self.scheduler.run()

        def cancel(self):
            if self.event in self.scheduler.queue:
                self.scheduler.cancel(self.event)

    class Fixed(Buggy):
        def cancel(self):
            try:
                self.scheduler.cancel(self.event)
            except ValueError:
                pass

    threads = (lambda s: s.run(), lambda s: s.cancel())


@pair("time")
class ShortTimeoutForWork:
    """A report waits 30 ms for its number; the fixed one waits a minute."""

    class Buggy:
        seconds = SHORT

        def __init__(self):
            self.numbers = queue.Queue()

        def compute(self):
            total = 0
            for number in range(20):
                total += number
            self.numbers.put(total)

        def report(self):
            return self.numbers.get(timeout=self.seconds)

    class Fixed(Buggy):
        seconds = 60

    threads = (lambda s: s.compute(), lambda s: s.report())


@pair("time")
class StopwatchOverlaps:
    """Two spans of one trace must not overlap; their order is taken from the clock before the lock is taken."""

    class Buggy:
        def __init__(self):
            self.spans, self.lock = [], threading.Lock()

        def record(self):
            begun = time.perf_counter()
            with self.lock:
                self.spans.append((begun, time.perf_counter()))

    class Fixed(Buggy):
        def record(self):
            with self.lock:
                begun = time.perf_counter()
                self.spans.append((begun, time.perf_counter()))

    threads = (lambda s: s.record(), lambda s: s.record())

    def holds(s):
        (_, end), (begun, _) = s.spans
        return end <= begun
