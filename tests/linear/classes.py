"""Classes that are wrong under threads, each with a fixed twin, and what has to be said of them."""

import heapq
import threading
import time
from collections import OrderedDict, deque


class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

    def value(self):
        return self.count


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop() if self.items else None


class LRUCache:
    def __init__(self, capacity):
        self.capacity, self._entries = capacity, OrderedDict()

    def get(self, key):
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key, value):
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self.capacity:
            self._entries.popitem(last=False)


class Made:
    pass


class Registry:
    def __init__(self):
        self._made = {}

    def get(self, name):
        if name not in self._made:
            self._made[name] = Made()
        return self._made[name]

    def names(self):
        return sorted(self._made)


class Ids:
    def __init__(self):
        self._last = 0

    def next_id(self):
        self._last = self._last + 1
        return f"id{self._last}"


class Ring:
    def __init__(self, size):
        self._slots, self._head, self._used = [None] * size, 0, 0

    def put(self, item):
        if self._used == len(self._slots):
            return False
        self._slots[(self._head + self._used) % len(self._slots)] = item
        self._used += 1
        return True

    def get(self):
        if self._used == 0:
            return None
        item, self._head = self._slots[self._head], (self._head + 1) % len(self._slots)
        self._used -= 1
        return item


class PriorityQueue:
    def __init__(self):
        self._heap = []

    def push(self, item):
        heapq.heappush(self._heap, item)

    def pop(self):
        return heapq.heappop(self._heap) if self._heap else None


class Handle:
    def __init__(self):
        self._references, self.closed = 1, 0

    def acquire(self):
        if self.closed:
            return False
        self._references += 1
        return True

    def release(self):
        if self.closed:
            return "closed"
        self._references -= 1
        if self._references == 0:
            self.closed += 1
        return self.closed


class Expiring:
    def __init__(self):
        self._entries = {}

    def put(self, key, value):
        self._entries[key] = (time.monotonic() + 10, value)

    def get(self, key):
        if key not in self._entries:
            return None
        until, value = self._entries[key]
        if time.monotonic() > until:
            del self._entries[key]
            return None
        return value


def locked(cls):
    """The class with one lock around each of its public methods."""

    def around(method):
        def call(self, *arguments):
            with self._lock:
                return method(self, *arguments)

        return call

    def __init__(self, *arguments):
        self._lock = threading.RLock()
        cls.__init__(self, *arguments)

    methods = {name: around(method) for name, method in vars(cls).items() if not name.startswith("_")}
    return type(f"Locked{cls.__name__}", (cls,), {"__init__": __init__, **methods, "__module__": __name__})


class BoundedQueue:
    """Asks once whether it has to wait."""

    def __init__(self):
        self._items, self._changed = deque(), threading.Condition()

    def put(self, item):
        with self._changed:
            if len(self._items) >= 1:
                self._changed.wait()
            self._items.append(item)
            self._changed.notify_all()

    def get(self):
        with self._changed:
            if not self._items:
                self._changed.wait()
            item = self._items.popleft()
            self._changed.notify_all()
            return item


class FixedBoundedQueue(BoundedQueue):
    def put(self, item):
        with self._changed:
            while len(self._items) >= 1:
                self._changed.wait()
            self._items.append(item)
            self._changed.notify_all()

    def get(self):
        with self._changed:
            while not self._items:
                self._changed.wait()
            item = self._items.popleft()
            self._changed.notify_all()
            return item


class ReadWrite:
    """The last reader goes without a word."""

    def __init__(self):
        self._readers, self._lock = 0, threading.Lock()
        self._gone = threading.Condition(self._lock)

    def read(self):
        with self._lock:
            self._readers += 1
        with self._lock:
            self._readers -= 1

    def write(self):
        with self._gone:
            if self._readers:
                self._gone.wait()
            return self._readers


class FixedReadWrite(ReadWrite):
    def read(self):
        with self._lock:
            self._readers += 1
        with self._gone:
            self._readers -= 1
            self._gone.notify_all()

    def write(self):
        with self._gone:
            while self._readers:
                self._gone.wait()
            return self._readers


def later(cache):
    time.sleep(11)


SIZES = {"init": [[1]]}
TIME = {"ops": {"get": [["a"]], "put": [["a"], [1, 2]], "later": (later, [])}, "alone": ["later"]}
WRONG = [
    (Counter, locked(Counter), {}),
    (Stack, locked(Stack), {}),
    (LRUCache, locked(LRUCache), SIZES),
    (Registry, locked(Registry), {}),
    (Ids, locked(Ids), {}),
    (Ring, locked(Ring), SIZES),
    (PriorityQueue, locked(PriorityQueue), {}),
    (Handle, locked(Handle), {}),
    (Expiring, locked(Expiring), TIME),
    (BoundedQueue, FixedBoundedQueue, {}),
    (ReadWrite, FixedReadWrite, {}),
]
