"""Errors of one type with different messages, spinning, long work before the point that matters, and locks in odd places."""

from __future__ import annotations

import functools
import itertools
import queue
import threading
import weakref

from .declare import pair


@pair("judging")
class ClosedOrCorrupt:
    """ValueError('closed') is expected after a close; ValueError('corrupt frame') is not."""

    class Buggy:
        def __init__(self):
            self.closed, self.frame = False, b"ok"

        def close(self):
            self.frame = b""
            self.closed = True

        def send(self):
            if self.closed:
                raise ValueError("closed")
            if self.frame != b"ok":
                raise ValueError("corrupt frame")

    class Fixed(Buggy):
        def close(self):
            self.closed = True

    def close_and_send(s):
        s.close()
        s.send()  # which raises ValueError('closed') in every order

    threads = (close_and_send, lambda s: s.send())


@pair("judging")
class MissingUserOrSession:
    """KeyError('user') is expected after a logout; KeyError('session') is not."""

    class Buggy:
        def __init__(self):
            self.users, self.sessions = {"user": "session"}, {"session": "data"}

        def logout(self):
            del self.sessions["session"]
            del self.users["user"]

        def page(self):
            return self.sessions[self.users["user"]]

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def logout(self):
            with self.lock:
                super().logout()

        def page(self):
            with self.lock:
                return super().page()

    def leave(s):
        s.logout()
        s.page()  # which raises KeyError('user') in every order

    threads = (leave, lambda s: s.page())


class Wire:
    """A channel that is its own peer."""

    def __init__(self):
        self.peer = self

    def write(self, data):
        return len(data)


@pair("judging")
class NoneHasNoAttribute:
    """AttributeError about one attribute is expected after stop; about another one it is not."""

    class Buggy:
        def __init__(self):
            self.channel = Wire()

        def stop(self):
            self.channel.peer = None
            self.channel = None

        def send(self):
            return self.channel.peer.write(b"x")

    class Fixed(Buggy):
        def stop(self):
            self.channel = None

    def stop_and_send(s):
        s.stop()
        s.send()  # which raises AttributeError about the channel in every order

    threads = (stop_and_send, lambda s: s.send())


@pair("judging")
class LookupWithMessage:
    """A message may be missing; half of one must not be seen."""

    class Buggy:
        def __init__(self):
            self.header = self.body = None

        def fill(self):
            self.header = "h"
            self.body = "b"

        def consume(self, wanted):
            if self.header != wanted:
                raise LookupError("no such message")
            if self.body is None:
                raise LookupError("half a message")

    class Fixed(Buggy):
        def fill(self):
            self.body = "b"
            self.header = "h"

    def fill(s):
        s.fill()
        s.consume("another")  # which raises LookupError('no such message') in every order

    threads = (fill, lambda s: s.consume("h"))


@pair("judging")
class TryLockOfTwo:
    """Both locks are tried in a loop; the buggy one keeps the first while it tries the second for ever."""

    class Buggy:
        def __init__(self):
            self.a, self.b, self.runs = threading.Lock(), threading.Lock(), []

        def back_off(self, first):
            pass

        def both(self, first, second):
            while not first.acquire(blocking=False):
                pass
            while not second.acquire(blocking=False):
                self.back_off(first)
            self.runs.append(1)
            second.release()
            first.release()

    class Fixed(Buggy):
        def both(self, first, second):
            while True:
                with first:
                    if second.acquire(blocking=False):
                        self.runs.append(1)
                        second.release()
                        return

    threads = (lambda s: s.both(s.a, s.b), lambda s: s.both(s.b, s.a))


@pair("judging")
class SpinLockByFlag:
    """A spin lock of a flag that is read, and then set."""

    class Buggy:
        def __init__(self):
            self.taken, self.inside, self.worst = False, 0, 0

        def lock(self):
            while self.taken:
                pass
            self.taken = True

        def unlock(self):
            self.taken = False

        def work(self):
            self.lock()
            self.inside += 1
            self.worst = max(self.worst, self.inside)
            self.inside -= 1
            self.unlock()

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.token = [None]

        def lock(self):
            while True:
                try:
                    self.token.pop()
                    return
                except IndexError:
                    pass

        def unlock(self):
            self.token.append(None)

    threads = (lambda s: s.work(), lambda s: s.work())

    def holds(s):
        return s.worst == 1


@pair("judging")
class ChecksumBeforeUpdate:
    """A long loop over shared rows comes before the update that races."""

    class Buggy:
        def __init__(self):
            self.rows, self.checksum = list(range(4000)), 0

        def add(self):
            own = 0
            for row in self.rows:
                own = (own * 31 + row) % 65521
            self.checksum += own

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def add(self):
            own = 0
            for row in self.rows:
                own = (own * 31 + row) % 65521
            with self.lock:
                self.checksum += own

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.checksum == 2 * functools.reduce(lambda own, row: (own * 31 + row) % 65521, s.rows, 0)


@pair("judging")
class FlagBeforeData:
    """A spinning reader is let go before the data are there."""

    class Buggy:
        def __init__(self):
            self.ready, self.data = False, None

        def publish(self):
            self.ready = True
            self.data = {"answer": 42}

        def read(self):
            while not self.ready:
                pass
            return self.data["answer"]

    class Fixed(Buggy):
        def publish(self):
            self.data = {"answer": 42}
            self.ready = True

    threads = (lambda s: s.publish(), lambda s: s.read())


@pair("judging", needs=0)
class SpinGivesUp:
    """A reader looks fifty times, and then gives up."""

    class Buggy:
        def __init__(self):
            self.ready = threading.Event()

        def read(self):
            for _ in range(50):
                if self.ready.is_set():
                    return
            self.gave_up = True

        def write(self):
            self.started = True
            self.ready.set()

    class Fixed(Buggy):
        def read(self):
            self.ready.wait()

    threads = (lambda s: s.write(), lambda s: s.read())

    def holds(s):
        return not hasattr(s, "gave_up")


def with_both(first, second, log, name):
    with first, second:
        log.append(name)


@pair("judging")
class LocksInPartial:
    """Two partial objects hold the same locks in opposite orders."""

    def Buggy():
        a, b, log = threading.Lock(), threading.Lock(), []
        return functools.partial(with_both, a, b, log), functools.partial(with_both, b, a, log)

    def Fixed():
        a, b, log = threading.Lock(), threading.Lock(), []
        return functools.partial(with_both, a, b, log), functools.partial(with_both, a, b, log)

    threads = (lambda s: s[0]("load"), lambda s: s[1]("save"))


@pair("judging", needs=2)
class LockDeletedWithEntry:
    """A lock of a key is dropped from the table while another thread waits for it. Three threads, two preemptions."""

    class Buggy:
        def __init__(self):
            self.locks, self.inside, self.worst = {}, [], 0

        def update(self, who):
            lock = self.locks.setdefault("key", threading.Lock())
            with lock:
                self.inside.append(who)
                self.worst = max(self.worst, len(self.inside))
                self.inside.remove(who)
            self.forget()

        def forget(self):
            self.locks.pop("key", None)

    class Fixed(Buggy):
        def forget(self):
            pass

    threads = (lambda s: s.update(0), lambda s: s.update(1), lambda s: s.update(2))

    def holds(s):
        return s.worst == 1


@pair("judging")
class LockMadeLazilyInSlots:
    """The lock of an object with slots is made at the first use: two threads make two."""

    class Buggy:
        __slots__ = ("__weakref__", "_lock", "value")

        def __init__(self):
            self.value = 0

        def lock(self):
            if not hasattr(self, "_lock"):
                self._lock = threading.Lock()
            return self._lock

        def add(self):
            with self.lock():
                self.value += 1

    class Fixed(Buggy):
        __slots__ = ()

        def __init__(self):
            super().__init__()
            self._lock = threading.Lock()

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.value == 2


def synchronized(method):
    lock = threading.Lock()

    @functools.wraps(method)
    def wrapper(*arguments):
        with lock:
            return method(*arguments)

    return wrapper


def synchronized_by(lock):
    def decorator(method):
        @functools.wraps(method)
        def wrapper(*arguments):
            with lock:
                return method(*arguments)

        return wrapper

    return decorator


@pair("judging")
class LockInClosurePerMethod:
    """A decorator makes a lock for each method, and not one for all."""

    class Buggy:
        def __init__(self):
            self.balance = 0

        @synchronized
        def deposit(self):
            self.balance += 5

        @synchronized
        def withdraw(self):
            self.balance -= 5

    class Fixed:
        one = synchronized_by(threading.RLock())

        def __init__(self):
            self.balance = 0

        @one
        def deposit(self):
            self.balance += 5

        @one
        def withdraw(self):
            self.balance -= 5

    threads = (lambda s: s.deposit(), lambda s: s.withdraw())

    def holds(s):
        return s.balance == 0


@pair("judging")
class SimpleQueueInC:
    """The size of a queue in C is asked before ``get_nowait``."""

    class Buggy:
        def __init__(self):
            self.jobs, self.done = queue.SimpleQueue(), []
            self.jobs.put(1)

        def work(self):
            if self.jobs.qsize():
                self.done.append(self.jobs.get_nowait())

    class Fixed(Buggy):
        def work(self):
            try:
                self.done.append(self.jobs.get(block=False))
            except queue.Empty:
                pass

    threads = (lambda s: s.work(), lambda s: s.work())


@pair("judging", also=("functools",))
class LockFromLruCache:
    """A lock for each key from an lru_cache in front of Python code: two calls at once return two locks."""

    class Buggy:
        def __init__(self):
            @functools.lru_cache
            def lock_for(key):
                return self.make(key)

            self.lock_for, self.value = lock_for, 0

        def make(self, key):
            self.last_key = key
            return threading.Lock()

        def add(self):
            with self.lock_for("k"):
                self.value += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock_for("k")

    threads = (lambda s: s.add(), lambda s: s.add())

    def holds(s):
        return s.value == 2


@pair("judging")
class RecursionBeforeUpdate:
    """Two hundred calls deep, a counter is updated."""

    class Buggy:
        def __init__(self):
            self.leaves = 0

        def walk(self, depth):
            if depth:
                self.walk(depth - 1)
            else:
                self.leaf()

        def leaf(self):
            self.leaves += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def leaf(self):
            with self.lock:
                self.leaves += 1

    threads = (lambda s: s.walk(200), lambda s: s.walk(200))

    def holds(s):
        return s.leaves == 2


@pair("judging")
class ErrorSwallowed:
    """A worker catches everything and writes it to a list."""

    class Buggy:
        def __init__(self):
            self.rows, self.errors = {"a": 1}, []

        def work(self):
            try:
                for name in self.rows:
                    self.rows[name] += 1
            except Exception as error:
                self.errors.append(error)

        def add(self):
            self.rows["b"] = 1

    class Fixed(Buggy):
        def work(self):
            for name in list(self.rows):
                self.rows[name] += 1

    threads = (lambda s: s.work(), lambda s: s.add())

    def holds(s):
        return not s.errors


@pair("judging")
class WorkerEndsQuietly:
    """A worker raises SystemExit on a broken job, which ends a thread without a word; the rest stays undone."""

    class Buggy:
        def __init__(self):
            self.jobs, self.results, self.valid = [1, 2], [], None

        def validate(self):
            self.valid = 0
            self.valid = 10

        def work(self):
            while self.jobs:
                job = self.jobs.pop()
                limit = self.valid
                if limit is not None and job > limit:
                    raise SystemExit(f"job {job}")
                self.results.append(job)

    class Fixed(Buggy):
        def validate(self):
            self.valid = 10

    threads = (lambda s: s.validate(), lambda s: s.work())

    def holds(s):
        return sorted(s.results) == [1, 2]


@pair("judging")
class SequenceLock:
    """A reader tries again while the version is odd; the buggy writer never makes it odd."""

    class Buggy:
        def __init__(self):
            self.version, self.x, self.y = 0, 0, 0

        def begin(self):
            pass

        def write(self):
            self.begin()
            self.x = 1
            self.y = 1
            self.version += 2 - self.version % 2

        def read(self):
            while True:
                version = self.version
                if version % 2:
                    continue
                x, y = self.x, self.y
                if version == self.version:
                    return x, y

        def check(self):
            x, y = self.read()
            if x != y:
                raise RuntimeError("torn read")

    class Fixed(Buggy):
        def begin(self):
            self.version += 1

        def write(self):
            self.begin()
            self.x = 1
            self.y = 1
            self.version += 1

    threads = (lambda s: s.write(), lambda s: s.check())


@pair("judging", needs=2)
class PetersonTurnFirst:
    """Peterson's lock with the turn given before the flag is raised. It needs two preemptions."""

    class Buggy:
        def __init__(self):
            self.wants, self.turn = [False, False], 0
            self.inside, self.worst = 0, 0

        def enter(self, me):
            self.turn = 1 - me
            self.wants[me] = True

        def work(self, me):
            self.enter(me)
            while self.wants[1 - me] and self.turn == 1 - me:
                pass
            self.inside += 1
            self.worst = max(self.worst, self.inside)
            self.inside -= 1
            self.wants[me] = False

    class Fixed(Buggy):
        def enter(self, me):
            self.wants[me] = True
            self.turn = 1 - me

    threads = (lambda s: s.work(0), lambda s: s.work(1))

    def holds(s):
        return s.worst == 1


@pair("judging")
class TicketLock:
    """Tickets of a spin lock come from a counter that is not atomic."""

    class Buggy:
        def __init__(self):
            self.next, self.serving, self.value = 0, 0, 0

        def ticket(self):
            mine = self.next
            self.next = mine + 1
            return mine

        def work(self):
            mine = self.ticket()
            while self.serving != mine:
                if self.serving > mine:
                    raise RuntimeError("my number was called already")
            self.value += 1
            self.serving += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.tickets = itertools.count()

        def ticket(self):
            return next(self.tickets)

    threads = (lambda s: s.work(), lambda s: s.work())

    def holds(s):
        return s.value == 2


@pair("judging")
class WorkSkippedIfBusy:
    """A save that finds the lock taken is left out."""

    class Buggy:
        def __init__(self):
            self.lock, self.dirty, self.saved = threading.Lock(), set(), set()

        def change(self, name):
            self.dirty.add(name)
            if self.lock.acquire(blocking=False):
                try:
                    for entry in self.dirty.copy():
                        self.saved.add(entry)
                finally:
                    self.lock.release()

    class Fixed(Buggy):
        def change(self, name):
            self.dirty.add(name)
            with self.lock:
                self.saved.update(self.dirty.copy())

    threads = (lambda s: s.change("a"), lambda s: s.change("b"))

    def holds(s):
        return s.saved == {"a", "b"}


@pair("judging")
class CompareAndSwapByHand:
    """An optimistic loop trusts a compare-and-swap that is none."""

    class Buggy:
        def __init__(self):
            self.head = None

        def swap(self, old, new):
            if self.head is old:
                self.head = new
                return True
            return False

        def push(self, value):
            while True:
                old = self.head
                if self.swap(old, (value, old)):
                    return

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def swap(self, old, new):
            with self.lock:
                return super().swap(old, new)

    threads = (lambda s: s.push(1), lambda s: s.push(2))

    def holds(s):
        return s.head[1] is not None


class Guarded:
    """Something with a lock that the set of all guarded objects knows weakly."""

    def __init__(self):
        self.lock, self.open = threading.Lock(), True


@pair("judging")
class LocksOfWeakSet:
    """All members of a WeakSet are locked by one thread; another one locks a member, and then the registry."""

    class Buggy:
        def __init__(self):
            self.registry, self.members = threading.Lock(), weakref.WeakSet()
            self.one = Guarded()
            self.members.add(self.one)

        def close_all(self):
            with self.registry:
                for member in list(self.members):
                    with member.lock:
                        member.open = False

        def leave(self):
            with self.one.lock, self.registry:
                self.members.discard(self.one)

    class Fixed(Buggy):
        def leave(self):
            with self.registry, self.one.lock:
                self.members.discard(self.one)

    threads = (lambda s: s.close_all(), lambda s: s.leave())


@pair("judging", needs=0)
class ErrorInStartedThread:
    """A thread that the program starts dies of an error; whether it does depends on who is first."""

    class Buggy:
        def __init__(self):
            self.config, self.loaded = {}, []

        def reload(self):
            self.loaded.append(self.config["path"])

        def run(self):
            thread = threading.Thread(target=self.reload)
            thread.start()
            self.config["path"] = "/etc"
            thread.join()

    class Fixed(Buggy):
        def run(self):
            thread = threading.Thread(target=self.reload)
            self.config["path"] = "/etc"
            thread.start()
            thread.join()

    threads = (lambda s: s.run(), lambda s: None)

    def holds(s):
        return s.loaded == ["/etc"]
