"""More classes that are wrong under threads, each of another kind, and a fixed twin of each.

The file imports `weakref`, so that the ends of objects may be noticed: no program of it is searched to the end.
"""

import queue
import threading
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import cached_property

from .classes import Made, locked


class CopyOnWrite:
    def __init__(self):
        self._subscribers = ()

    def add(self, item):
        self._subscribers = (*self._subscribers, item)

    def items(self):
        return list(self._subscribers)


class Lazy:
    @cached_property
    def connection(self):
        return Made()


class PublishedLast:
    """Looks twice, and publishes what is ready: this is right."""

    def __init__(self):
        self._lock, self._connection = threading.Lock(), None

    @property
    def connection(self):
        if self._connection is None:
            with self._lock:
                if self._connection is None:
                    self._connection = Made()
        return self._connection


class PublishedFirst:
    def __init__(self):
        self._lock, self._settings = threading.Lock(), None

    def get(self, key):
        if self._settings is None:
            with self._lock:
                if self._settings is None:
                    self._settings = {}
                    self._settings["a"] = 1
        return self._settings.get(key)


class Countdown:
    """Is an iterator itself."""

    def __init__(self):
        self._left = 3

    def __iter__(self):
        return self

    def __next__(self):
        if self._left == 0:
            raise StopIteration
        self._left -= 1
        return self._left


class LockedCountdown(Countdown):
    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def __next__(self):
        with self._lock:
            return super().__next__()


class UniqueList(list):
    def add(self, item):
        if item not in self:
            self.append(item)


class History(deque):
    def record(self, item):
        if self:
            self.popleft()
        self.append(item)


class BoundedHistory(deque):
    def __init__(self):
        super().__init__(maxlen=1)

    def record(self, item):
        self.append(item)


class DerivedLRU(OrderedDict):
    def __init__(self, maxsize=1):
        super().__init__()
        self.maxsize = maxsize

    def lookup(self, key):
        if key in self:
            self.move_to_end(key)
            return self[key]
        return None

    def store(self, key, value):
        self[key] = value
        if len(self) > self.maxsize:
            self.popitem(last=False)


class Future:
    def __init__(self):
        self._done, self._value = threading.Event(), None

    def set(self, value):
        if self._done.is_set():
            return False
        self._done.set()
        self._value = value
        return True

    def result(self):
        self._done.wait()
        return self._value


class FixedFuture(Future):
    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def set(self, value):
        with self._lock:
            if self._done.is_set():
                return False
            self._value = value
            self._done.set()
            return True


class Mailbox:
    def __init__(self):
        self._messages = queue.Queue()

    def send(self, message):
        self._messages.put(message)

    def receive(self):
        return None if self._messages.empty() else self._messages.get()


class FixedMailbox(Mailbox):
    def receive(self):
        try:
            return self._messages.get_nowait()
        except queue.Empty:
            return None


class PerKey:
    def __init__(self):
        self._locks, self._counts = {}, {}

    def _lock_of(self, key):
        if key not in self._locks:
            self._locks[key] = threading.Lock()
        return self._locks[key]

    def hit(self, key):
        with self._lock_of(key):
            self._counts[key] = self._counts.get(key, 0) + 1
            return self._counts[key]


class FixedPerKey(PerKey):
    def _lock_of(self, key):
        return self._locks.setdefault(key, threading.Lock())


class Transfer:
    def __init__(self):
        self._one, self._other, self.left = threading.Lock(), threading.Lock(), 1

    def to_right(self):
        with self._one, self._other:
            self.left -= 1

    def to_left(self):
        with self._other, self._one:
            self.left += 1


class FixedTransfer(Transfer):
    def to_left(self):
        with self._one, self._other:
            self.left += 1


class Interned:
    def __init__(self):
        self._live, self._kept = weakref.WeakValueDictionary(), []

    def intern(self, key):
        made = self._live.get(key)
        if made is None:
            made = self._live[key] = Made()
            self._kept.append(made)
        return made


class Versioned:
    def __init__(self):
        self._version, self._value = 0, None

    def read(self):
        return self._version, self._value

    def write(self, value, version):
        if version != self._version:
            return False
        self._value = value
        self._version += 1
        return True


@dataclass
class Account:
    balance: int = 1
    history: list = field(default_factory=list)

    def withdraw(self, amount: int):
        if self.balance < amount:
            raise ValueError("not enough")
        self.balance -= amount
        self.history.append(amount)


class Slots:
    __slots__ = ("high", "low")

    def __init__(self):
        self.low = self.high = 0

    def widen(self, n):
        self.low -= n
        self.high += n

    def span(self):
        return self.low, self.high


class LockedSlots(Slots):
    __slots__ = ("_lock",)

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def widen(self, n):
        with self._lock:
            super().widen(n)

    def span(self):
        with self._lock:
            return super().span()


class Pages:
    def __init__(self):
        self._rows = [1, 2, 3]

    def pages(self):
        for index in range(len(self._rows)):
            yield self._rows[index]

    def drop(self):
        if self._rows:
            self._rows.pop()


class FixedPages:
    def __init__(self):
        self._rows, self._lock = (1, 2, 3), threading.Lock()

    def pages(self):
        rows = self._rows
        for index in range(len(rows)):
            yield rows[index]

    def drop(self):
        with self._lock:
            self._rows = self._rows[:-1]


class Latch:
    def __init__(self):
        self._left, self._changed = 2, threading.Condition()

    def count_down(self):
        self._left -= 1
        if self._left == 0:
            with self._changed:
                self._changed.notify_all()

    def wait(self):
        with self._changed:
            while self._left > 0:
                self._changed.wait()


class FixedLatch(Latch):
    def count_down(self):
        with self._changed:
            self._left -= 1
            if self._left == 0:
                self._changed.notify_all()


WRONG = [
    (CopyOnWrite, locked(CopyOnWrite)),
    (Lazy, PublishedLast),
    (PublishedFirst, locked(PublishedFirst)),
    (Countdown, LockedCountdown),
    (UniqueList, locked(UniqueList)),
    (History, BoundedHistory),
    (DerivedLRU, locked(DerivedLRU)),
    (Future, FixedFuture),
    (Mailbox, FixedMailbox),
    (PerKey, FixedPerKey),
    (Transfer, FixedTransfer),
    (Interned, locked(Interned)),
    (Versioned, locked(Versioned)),
    (Account, locked(Account)),
    (Slots, LockedSlots),
    (Pages, FixedPages),
    (Latch, FixedLatch),
]
