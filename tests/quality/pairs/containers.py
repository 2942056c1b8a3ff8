"""Containers and formats of the standard library, shared without care."""

from __future__ import annotations

import array
import bisect
import copy
import heapq
import io
import itertools
import json
import logging
import pickle
import sqlite3
import struct
import threading
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque

from .declare import pair


@pair("steps")
class DueJobsInHeap:
    """The heap's first job is looked at, and then another one is popped."""

    class Buggy:
        def __init__(self):
            self.heap, self.early = [(1, "a"), (9, "b")], []
            self.lock = threading.Lock()

        def run_due(self, now):
            if self.heap and self.heap[0][0] <= now:
                due, job = heapq.heappop(self.heap)
                if due > now:
                    self.early.append(job)

    class Fixed(Buggy):
        def run_due(self, now):
            with self.lock:
                super().run_due(now)

    threads = (lambda s: s.run_due(5), lambda s: s.run_due(5))

    def holds(s):
        return not s.early


@pair("steps")
class SortedByBisect:
    """An index from bisect is stale when the item is inserted."""

    class Buggy:
        def __init__(self):
            self.scores = [10, 30]

        def add(self, score):
            at = bisect.bisect(self.scores, score)
            self.scores.insert(at, score)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def add(self, score):
            with self.lock:
                bisect.insort(self.scores, score)

    threads = (lambda s: s.add(40), lambda s: s.add(5))

    def holds(s):
        return s.scores == sorted(s.scores)


@pair("steps")
class RoundRobinDeque:
    """The head of a ring is read, and then the ring is rotated: two clients get the same server."""

    class Buggy:
        def __init__(self):
            self.ring, self.given = deque(["s1", "s2"]), []

        def next_server(self):
            server = self.ring[0]
            self.ring.rotate(-1)
            self.given.append(server)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.servers = itertools.cycle(self.ring)

        def next_server(self):
            self.given.append(next(self.servers))

    threads = (lambda s: s.next_server(), lambda s: s.next_server())

    def holds(s):
        return sorted(s.given) == ["s1", "s2"]


@pair("steps")
class LeastRecentlyUsed:
    """An entry is moved to the end after it was evicted."""

    class Buggy:
        def __init__(self):
            self.entries = OrderedDict(a=1, b=2)
            self.lock = threading.Lock()

        def get(self, key):
            if key in self.entries:
                self.entries.move_to_end(key)
                return self.entries[key]
            return None

        def put(self, key, value):
            with self.lock:
                self.entries[key] = value
                if len(self.entries) > 2:
                    self.entries.popitem(last=False)

    class Fixed(Buggy):
        def get(self, key):
            with self.lock:
                return super().get(key)

    threads = (lambda s: s.get("a"), lambda s: s.put("c", 3))


@pair("steps")
class ListenersByDefaultdict:
    """The default factory is Python code: the second default replaces the first."""

    class Buggy:
        def __init__(self):
            self.listeners = defaultdict(self.new_list)

        def new_list(self):
            return []

        def listen(self, topic, callback):
            self.listeners[topic].append(callback)

    class Fixed(Buggy):
        def __init__(self):
            self.listeners = {}

        def listen(self, topic, callback):
            self.listeners.setdefault(topic, []).append(callback)

    threads = (lambda s: s.listen("t", "a"), lambda s: s.listen("t", "b"))

    def holds(s):
        return len(s.listeners["t"]) == 2


@pair("steps")
class OverlayByChainMap:
    """An override is looked for, and then deleted."""

    class Buggy:
        def __init__(self):
            self.settings = ChainMap({"debug": True}, {"debug": False})

        def reset(self, name):
            if name in self.settings.maps[0]:
                del self.settings.maps[0][name]

    class Fixed(Buggy):
        def reset(self, name):
            self.settings.maps[0].pop(name, None)

    threads = (lambda s: s.reset("debug"), lambda s: s.reset("debug"))


@pair("steps")
class SlotInArray:
    """A new slot of an array is found by its length."""

    class Buggy:
        def __init__(self):
            self.samples = array.array("i")

        def add(self, value):
            at = len(self.samples)
            self.samples.append(0)
            self.samples[at] = value

    class Fixed(Buggy):
        def add(self, value):
            self.samples.append(value)

    threads = (lambda s: s.add(7), lambda s: s.add(8))

    def holds(s):
        return sorted(s.samples) == [7, 8]


@pair("steps")
class FrameInSharedBuffer:
    """A frame's length is published before its payload."""

    class Buggy:
        def __init__(self):
            self.buffer = bytearray(12)
            self.view = memoryview(self.buffer)

        def send(self):
            struct.pack_into("<I", self.buffer, 0, 4)
            self.view[4:8] = b"data"

        def receive(self):
            (length,) = struct.unpack_from("<I", self.view)
            if length and bytes(self.view[4 : 4 + length]) != b"data":
                raise ValueError("frame without payload")

    class Fixed(Buggy):
        def send(self):
            self.view[4:8] = b"data"
            struct.pack_into("<I", self.buffer, 0, 4)

    threads = (lambda s: s.send(), lambda s: s.receive())


@pair("steps")
class SequenceNumberByStruct:
    """A sequence number in a binary header is read, and written one higher."""

    class Buggy:
        def __init__(self):
            self.header = bytearray(struct.pack(">HI", 1, 0))

        def next_number(self):
            version, number = struct.unpack(">HI", self.header)
            self.header[:] = struct.pack(">HI", version, number + 1)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def next_number(self):
            with self.lock:
                super().next_number()

    threads = (lambda s: s.next_number(), lambda s: s.next_number())

    def holds(s):
        return struct.unpack(">HI", s.header)[1] == 2


@pair("steps")
class RecentWithMaxlen:
    """What falls out of a bounded deque is taken before the append, and counted twice or not at all."""

    class Buggy:
        def __init__(self):
            self.recent, self.evicted = deque([1, 2], maxlen=2), []

        def add(self, value):
            if len(self.recent) == self.recent.maxlen:
                self.evicted.append(self.recent[0])
            self.recent.append(value)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def add(self, value):
            with self.lock:
                super().add(value)

    threads = (lambda s: s.add(3), lambda s: s.add(4))

    def holds(s):
        return sorted(s.evicted) == [1, 2]


@pair("steps")
class SeenOnce:
    """A URL is looked up in the set of those seen, and then added."""

    class Buggy:
        def __init__(self):
            self.seen, self.fetched = set(), []

        def visit(self, url, me):
            if url not in self.seen:
                self.seen.add(url)
                self.fetched.append(url)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.owner = {}

        def visit(self, url, me):
            if self.owner.setdefault(url, me) is me:
                self.fetched.append(url)

    threads = (lambda s: s.visit("/", "t0"), lambda s: s.visit("/", "t1"))

    def holds(s):
        return s.fetched == ["/"]


@pair("steps")
class BytesConsumed:
    """A chunk is copied from a buffer, and then deleted from it."""

    class Buggy:
        def __init__(self):
            self.buffer, self.chunks = bytearray(b"aaaabbbb"), []
            self.lock = threading.Lock()

        def read(self):
            chunk = bytes(self.buffer[:4])
            del self.buffer[:4]
            self.chunks.append(chunk)

    class Fixed(Buggy):
        def read(self):
            with self.lock:
                super().read()

    threads = (lambda s: s.read(), lambda s: s.read())

    def holds(s):
        return sorted(s.chunks) == [b"aaaa", b"bbbb"]


@pair("steps")
class ParallelLists:
    """Names and ages grow one after the other; a strict zip reads between."""

    class Buggy:
        def __init__(self):
            self.names, self.ages = ["ann"], [30]

        def add(self, name, age):
            self.names.append(name)
            self.ages.append(age)

        def rows(self):
            return list(zip(self.names, self.ages, strict=True))

    class Fixed:
        def __init__(self):
            self.people = [("ann", 30)]

        def add(self, name, age):
            self.people.append((name, age))

        def rows(self):
            return list(self.people)

    threads = (lambda s: s.add("bob", 40), lambda s: s.rows())


@pair("steps")
class StockByCounter:
    """Counters are compared, and then subtracted: stock becomes negative."""

    class Buggy:
        def __init__(self):
            self.stock = Counter(nut=3, bolt=3)
            self.lock = threading.Lock()

        def order(self, **parts):
            if self.stock >= Counter(parts):
                self.stock.subtract(parts)

    class Fixed(Buggy):
        def order(self, **parts):
            with self.lock:
                super().order(**parts)

    threads = (lambda s: s.order(nut=2), lambda s: s.order(nut=2, bolt=1))

    def holds(s):
        return min(s.stock.values()) >= 0


@pair("steps")
class VotesByUserDict:
    """A mapping class of the standard library, in Python, entered by subscripts."""

    class Buggy:
        def __init__(self):
            self.votes = UserDict(yes=0, no=0)

        def vote(self, answer):
            self.votes[answer] += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def vote(self, answer):
            with self.lock:
                self.votes[answer] += 1

    threads = (lambda s: s.vote("yes"), lambda s: s.vote("yes"))

    def holds(s):
        return s.votes["yes"] == 2


@pair("steps", also=("copy",))
class CopyWhileUpdated:
    """A shallow copy is taken between the updates of two fields."""

    class Buggy:
        def __init__(self):
            self.rows, self.size = [], 0
            self.guard = Guard()

        def __copy__(self):
            other = object.__new__(type(self))
            other.rows = list(self.rows)
            other.size = self.size
            return other

        def add(self, row):
            with self.guard:
                self.rows.append(row)
                self.size += 1

        def check(self):
            other = copy.copy(self)
            if len(other.rows) != other.size:
                raise RuntimeError("the copy disagrees with itself")

    class Fixed(Buggy):
        def check(self):
            with self.guard:
                super().check()

    threads = (lambda s: s.add("x"), lambda s: s.check())


class Guard:
    """A lock that copies as itself."""

    def __init__(self):
        self._lock = threading.Lock()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *exception):
        self._lock.release()


@pair("steps")
class DocumentWithCount:
    """A JSON document counts its rows, and then dumps them."""

    class Buggy:
        def __init__(self):
            self.rows = [{"id": 1}]

        def dump(self):
            return json.dumps({"count": len(self.rows), "rows": self.rows})

        def check(self):
            document = json.loads(self.dump())
            if document["count"] != len(document["rows"]):
                raise ValueError("the document is inconsistent")

    class Fixed(Buggy):
        def dump(self):
            rows = self.rows.copy()
            return json.dumps({"count": len(rows), "rows": rows})

    threads = (lambda s: s.check(), lambda s: s.rows.append({"id": 2}))


@pair("steps")
class PickleOfState:
    """``__getstate__`` reads two fields that change together."""

    class Buggy:
        def __init__(self):
            self.celsius, self.fahrenheit = 0, 32

        def __getstate__(self):
            return {"celsius": self.celsius, "fahrenheit": self.fahrenheit}

        def heat(self):
            self.celsius = 100
            self.fahrenheit = 212

        def save(self):
            state = pickle.loads(pickle.dumps(self)).__dict__
            if state["fahrenheit"] != state["celsius"] * 9 / 5 + 32:
                raise ValueError(f"saved {state}")

    class Fixed(Buggy):
        def __init__(self):
            self.celsius = 0

        @property
        def fahrenheit(self):
            return self.celsius * 9 / 5 + 32

        def __getstate__(self):
            return {"celsius": self.celsius}

        def heat(self):
            self.celsius = 100

        def save(self):
            pickle.loads(pickle.dumps(self))

    threads = (lambda s: s.heat(), lambda s: s.save())


@pair("steps")
class HitsInSqlite:
    """A value is selected, and then updated, on a connection that threads share."""

    class Buggy:
        def __init__(self):
            self.database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self.database.execute("create table page (hits integer)")
            self.database.execute("insert into page values (0)")

        def hit(self):
            (hits,) = self.database.execute("select hits from page").fetchone()
            self.database.execute("update page set hits = ?", (hits + 1,))

    class Fixed(Buggy):
        def hit(self):
            self.database.execute("update page set hits = hits + 1")

    threads = (lambda s: s.hit(), lambda s: s.hit())

    def holds(s):
        return s.database.execute("select hits from page").fetchone() == (2,)


@pair("steps")
class FlushOfStringIO:
    """A text buffer is read, and then cut: what was written between is lost."""

    class Buggy:
        def __init__(self):
            self.buffer, self.sent = io.StringIO(), []
            self.lock = threading.Lock()

        def write(self, text):
            self.buffer.write(text)

        def flush(self):
            self.sent.append(self.buffer.getvalue())
            self.buffer.seek(0)
            self.buffer.truncate()

    class Fixed(Buggy):
        def write(self, text):
            with self.lock:
                super().write(text)

        def flush(self):
            with self.lock:
                super().flush()

    threads = (lambda s: s.write("line\n"), lambda s: s.flush())

    def holds(s):
        return "".join(s.sent) + s.buffer.getvalue() == "line\n"


class Recording(logging.Handler):
    """A handler that keeps the messages."""

    def __init__(self, messages):
        super().__init__()
        self.messages = messages

    def emit(self, record):
        self.messages.append(record.getMessage())


@pair("steps")
class HandlerAddedTwice:
    """Two threads find no handler, and both add one: each message comes twice."""

    class Buggy:
        def __init__(self):
            self.messages = []
            self.logger = logging.Logger("pairs")

        def configure(self):
            if not self.logger.handlers:
                self.logger.addHandler(Recording(self.messages))

        def log(self):
            self.configure()

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.handler = Recording(self.messages)

        def configure(self):
            self.logger.addHandler(self.handler)  # which adds it once

    threads = (lambda s: s.log(), lambda s: s.log())

    def holds(s):
        s.logger.error("x")
        return s.messages == ["x"]


@pair("steps")
class GroupsBySetdefaultCall:
    """Indexes of a table: the by-name index is written before the by-number one, and a reader joins them."""

    class Buggy:
        def __init__(self):
            self.by_name, self.by_number = {}, {}

        def add(self, name, number):
            self.by_name[name] = number
            self.by_number[number] = name

        def check(self):
            for number in list(self.by_name.values()):  # in one step without a GIL too, as `tuple` is not
                if number not in self.by_number:
                    raise KeyError("an index is behind")

    class Fixed(Buggy):
        def add(self, name, number):
            self.by_number[number] = name
            self.by_name[name] = number

    threads = (lambda s: s.add("a", 1), lambda s: s.check())


@pair("steps")
class PopFromTwoQueues:
    """Work moves from one deque to the other; for a moment it is in neither, and a monitor sees an empty system."""

    class Buggy:
        def __init__(self):
            self.waiting, self.running = deque(["job"]), deque()

        def start(self):
            self.running.append(self.waiting.popleft())

        def monitor(self):
            if not self.waiting and not self.running:
                raise RuntimeError("no work left")

    class Fixed(Buggy):
        def start(self):
            self.running.append(self.waiting[0])
            self.waiting.popleft()

        def monitor(self):
            if not (self.waiting or self.running):
                raise RuntimeError("no work left")

    threads = (lambda s: s.start(), lambda s: s.monitor())


@pair("steps")
class TextByJoin:
    """``join`` over a generator that reads a dict of which keys are removed."""

    class Buggy:
        def __init__(self):
            self.words = {1: "a", 2: "b"}

        def text(self):
            return " ".join(self.words[key] for key in list(self.words))

    class Fixed(Buggy):
        def text(self):
            return " ".join(list(self.words.values()))

    threads = (lambda s: s.text(), lambda s: s.words.pop(2))
