"""Updates and readings of a shared value by every kind of expression."""

from __future__ import annotations

import dataclasses
import enum
import operator
import threading
from functools import reduce

from .declare import pair


def twice(call):
    return [call, call]


@pair("steps")
class LabelByFString:
    """A label is made from the one before: one of two updates is lost."""

    class Buggy:
        def __init__(self):
            self.label = "build-0"

        def bump(self):
            self.label = f"build-{int(self.label[6:]) + 1}"

    class Fixed(Buggy):
        lock = threading.Lock()

        def bump(self):
            with self.lock:
                self.label = f"build-{int(self.label[6:]) + 1}"

    threads = twice(lambda s: s.bump())

    def holds(s):
        return s.label == "build-2"


@pair("steps")
class PathByPercent:
    """The next path is formatted from a list's length, and then appended."""

    class Buggy:
        def __init__(self):
            self.paths = []

        def reserve(self):
            path = "part-%03d.csv" % len(self.paths)  # noqa: UP031 - one of the ways to format
            self.paths.append(path)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.guard = threading.RLock()

        def reserve(self):
            with self.guard:
                super().reserve()

    threads = twice(lambda s: s.reserve())

    def holds(s):
        return len(set(s.paths)) == 2


@pair("steps")
class AppendBySlice:
    """Rows are stored at a slice whose start is stale."""

    class Buggy:
        def __init__(self):
            self.rows = []

        def store(self, *new):
            at = len(self.rows)
            self.rows[at : at + len(new)] = new

    class Fixed(Buggy):
        def store(self, *new):
            self.rows.extend(new)

    threads = (lambda s: s.store(1, 2), lambda s: s.store(3, 4))

    def holds(s):
        return sorted(s.rows) == [1, 2, 3, 4]


@pair("steps")
class HistoryByUnpacking:
    """An immutable history grows by unpacking the old one."""

    class Buggy:
        def __init__(self):
            self.history = ()

        def record(self, event):
            self.history = (*self.history, event)

    class Fixed(Buggy):
        def __init__(self):
            self.events = []

        @property
        def history(self):
            return tuple(self.events)

        def record(self, event):
            self.events.append(event)

    threads = (lambda s: s.record("open"), lambda s: s.record("close"))

    def holds(s):
        return len(s.history) == 2


@pair("steps")
class HeadersByDictDisplay:
    """Headers are replaced by a merged copy; a merge from an old copy drops the other's header."""

    class Buggy:
        def __init__(self):
            self.headers = {"Accept": "*/*"}

        def add(self, name, value):
            self.headers = {**self.headers, name: value}

    class Fixed(Buggy):
        def add(self, name, value):
            self.headers[name] = value

    threads = (lambda s: s.add("Host", "a"), lambda s: s.add("Via", "b"))

    def holds(s):
        return len(s.headers) == 3


@pair("steps")
class FrozenTags:
    """``|=`` on a frozenset is a read and a write."""

    class Buggy:
        def __init__(self):
            self.tags = frozenset()

        def tag(self, name):
            self.tags |= {name}

    class Fixed(Buggy):
        def __init__(self):
            self.tags = set()

        def tag(self, name):
            self.tags.add(name)

    threads = (lambda s: s.tag("a"), lambda s: s.tag("b"), lambda s: s.tag("c"))

    def holds(s):
        return len(s.tags) == 3


@pair("steps")
class StartByMatch:
    """Two workers both match the idle state and both start."""

    class Buggy:
        def __init__(self):
            self.state = {"phase": "idle"}
            self.starts = []

        def start(self, who):
            match self.state:
                case {"phase": "idle"}:
                    self.state = {"phase": "running", "by": who}
                    self.starts.append(who)
                case {"phase": "running", "by": _}:
                    pass

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.turn = {}

        def start(self, who):
            if self.turn.setdefault("owner", who) == who:
                self.starts.append(who)

    threads = (lambda s: s.start("a"), lambda s: s.start("b"))

    def holds(s):
        return len(s.starts) == 1


@pair("steps")
class SeatsByWalrus:
    """A walrus in the condition keeps an old count of free seats: one seat is sold twice."""

    class Buggy:
        def __init__(self):
            self.free, self.sold = 1, []

        def sell(self, who):
            if (left := self.free - 1) >= 0:
                self.sold.append(who)
                self.free = left

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.seats = ["1A"]

        def sell(self, who):
            try:
                self.seats.pop()
            except IndexError:
                return
            self.sold.append(who)

    threads = (lambda s: s.sell("ann"), lambda s: s.sell("bob"))

    def holds(s):
        return len(s.sold) <= 1


@pair("steps")
class TotalByProperty:
    """``+=`` on a property calls a getter and a setter."""

    class Buggy:
        def __init__(self):
            self._cents = 0

        @property
        def euros(self):
            return self._cents / 100

        @euros.setter
        def euros(self, value):
            self._cents = round(value * 100)

        def pay(self, amount):
            self.euros += amount

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def pay(self, amount):
            with self.lock:
                self.euros += amount

    threads = (lambda s: s.pay(2), lambda s: s.pay(3))

    def holds(s):
        return s._cents == 500


class Field:
    """A descriptor that keeps its value in a dict of the instance."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return instance.values.get(self.name, 0)

    def __set__(self, instance, value):
        instance.values[self.name] = value


@pair("steps")
class FieldByDescriptor:
    """A descriptor hides the dictionary that ``-=`` reads and writes."""

    class Buggy:
        stock = Field()

        def __init__(self):
            self.values = {"stock": 5}

        def take(self):
            self.stock -= 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.taken = []

        def take(self):
            self.taken.append(1)

        stock = property(lambda self: 5 - len(self.taken))

    threads = twice(lambda s: s.take())

    def holds(s):
        return s.stock == 3


@pair("steps")
class HighWaterMarkInSlots:
    """A maximum is kept by a conditional expression: a smaller value overwrites the larger one."""

    class Buggy:
        __slots__ = ("high",)

        def __init__(self):
            self.high = 0

        def see(self, value):
            self.high = value if value > self.high else self.high

    class Fixed(Buggy):
        __slots__ = ("values",)

        def __init__(self):
            self.values = [0]

        def see(self, value):
            self.values.append(value)

        @property
        def high(self):
            return max(self.values)

    threads = (lambda s: s.see(7), lambda s: s.see(3))

    def holds(s):
        return s.high == 7


@pair("steps")
class GridBySubscript:
    """An augmented subscript of two levels."""

    class Buggy:
        def __init__(self):
            self.grid = [[0, 0], [0, 0]]

        def hit(self, row, column):
            self.grid[row][column] += 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.locks = [threading.Lock(), threading.Lock()]

        def hit(self, row, column):
            with self.locks[row]:
                self.grid[row][column] += 1

    threads = twice(lambda s: s.hit(1, 0))

    def holds(s):
        return s.grid == [[0, 0], [2, 0]]


@pair("steps")
class WindowByChainedComparison:
    """A window moves while a chained comparison reads both of its ends."""

    class Buggy:
        def __init__(self):
            self.low, self.high = 0, 10

        def move(self):
            self.low, self.high = 20, 30

        def inside(self, value):
            return self.low <= value <= self.high

    class Fixed(Buggy):
        def __init__(self):
            self.window = range(11)

        def move(self):
            self.window = range(20, 31)

        def inside(self, value):
            return value in self.window

    def look(s):
        if s.inside(15):
            raise AssertionError("15 was never inside")

    threads = (lambda s: s.move(), look)


@pair("steps")
class PricesByComprehension:
    """A dict comprehension with a call walks a dict that grows."""

    class Buggy:
        def __init__(self):
            self.prices = {"a": 1, "b": 2}

        def gross(self):
            return {name: self.tax(price) for name, price in self.prices.items()}

        def tax(self, price):
            return price * 1.2

    class Fixed(Buggy):
        def gross(self):
            return {name: self.tax(price) for name, price in self.prices.copy().items()}

    threads = (lambda s: s.gross(), lambda s: s.prices.update(c=3))


@pair("steps")
class FeaturesByBits:
    """Bits are set with ``|`` in an int of a list."""

    class Buggy:
        def __init__(self):
            self.words = [0]

        def enable(self, bit):
            self.words[0] = self.words[0] | 1 << bit

    class Fixed(Buggy):
        def __init__(self):
            self.bits = set()

        def enable(self, bit):
            self.bits.add(bit)

        @property
        def words(self):
            return [sum(1 << bit for bit in self.bits)]

    threads = (lambda s: s.enable(0), lambda s: s.enable(3))

    def holds(s):
        return s.words == [9]


@dataclasses.dataclass(frozen=True)
class Position:
    x: int = 0
    y: int = 0


@pair("steps")
class PositionByReplace:
    """A frozen dataclass is replaced by one made from an old one."""

    class Buggy:
        def __init__(self):
            self.position = Position()

        def right(self):
            self.position = dataclasses.replace(self.position, x=self.position.x + 1)

        def up(self):
            self.position = dataclasses.replace(self.position, y=self.position.y + 1)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Condition()

        def right(self):
            with self.lock:
                super().right()

        def up(self):
            with self.lock:
                super().up()

    threads = (lambda s: s.right(), lambda s: s.up())

    def holds(s):
        return s.position == Position(1, 1)


class Level(enum.IntEnum):
    LOW = 0
    MIDDLE = 1
    HIGH = 2


@pair("steps")
class LevelByEnum:
    """An enum member is looked up by the old one's value."""

    class Buggy:
        def __init__(self):
            self.level = Level.LOW

        def escalate(self):
            self.level = Level(self.level + 1)

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Semaphore()

        def escalate(self):
            with self.lock:
                self.level = Level(self.level + 1)

    threads = twice(lambda s: s.escalate())

    def holds(s):
        return s.level is Level.HIGH


@pair("steps")
class AuditDuringTransfer:
    """A sum over two accounts is taken between the two halves of a transfer."""

    class Buggy:
        def __init__(self):
            self.accounts = {"a": 100, "b": 0}
            self.lock = threading.Lock()

        def transfer(self):
            with self.lock:
                self.accounts["a"] -= 40
                self.accounts["b"] += 40

        def total(self):
            return sum(map(self.accounts.__getitem__, ("a", "b")))

        def audit(self):
            if self.total() != 100:
                raise ValueError("money is missing")

    class Fixed(Buggy):
        def total(self):
            with self.lock:
                return super().total()

    threads = (lambda s: s.transfer(), lambda s: s.audit())


@pair("steps")
class FirstFreePort:
    """``min`` finds a port that somebody else removes."""

    class Buggy:
        def __init__(self):
            self.free = {8001, 8002}

        def take(self):
            port = min(self.free)
            self.free.remove(port)
            return port

    class Fixed(Buggy):
        def take(self):
            return self.free.pop()

    threads = twice(lambda s: s.take())

    def holds(s):
        return not s.free


@pair("steps")
class PairByStarUnpacking:
    """A list of two is changed in place while a starred unpacking reads it."""

    class Buggy:
        def __init__(self):
            self.span = [1, 2]

        def shift(self):
            self.span[0] = 3
            self.span[1] = 4

        def read(self):
            first, *rest = self.span
            if rest != [first + 1]:
                raise RuntimeError(f"torn: {first} {rest}")

    class Fixed(Buggy):
        def shift(self):
            self.span = [3, 4]

    threads = (lambda s: s.shift(), lambda s: s.read())


@pair("steps")
class CountByGlobals:
    """A counter among the globals, by ``globals()``."""

    class Buggy:
        def __init__(self):
            globals()["requests"] = 0
            self.lock = None

        def count(self):
            globals()["requests"] = globals()["requests"] + 1

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def count(self):
            with self.lock:
                super().count()

    threads = twice(lambda s: s.count())

    def holds(s):
        return globals()["requests"] == 2


def closure_counter(lock=None):
    count = 0

    def bump():
        nonlocal count
        if lock:
            with lock:
                count += 1
        else:
            count += 1
        return count

    bump.value = lambda: count
    return bump


@pair("steps")
class CountInClosure:
    """A nonlocal counter."""

    Buggy = closure_counter

    def Fixed():
        return closure_counter(threading.Lock())

    threads = twice(lambda bump: bump())

    def holds(bump):
        return bump.value() == 2


@pair("steps")
class StatByGetattr:
    """A counter whose name is computed: ``getattr`` and ``setattr``."""

    class Buggy:
        def count(self, status):
            name = f"seen_{status // 100}xx"
            setattr(self, name, getattr(self, name, 0) + 1)

        def total(self):
            return sum(value for name, value in vars(self).items() if name.startswith("seen_"))

    class Fixed(Buggy):
        def __init__(self):
            self.lock = threading.Lock()

        def count(self, status):
            with self.lock:
                super().count(status)

    threads = (lambda s: s.count(200), lambda s: s.count(204))

    def holds(s):
        return s.total() == 2


@pair("steps")
class InstancesPerClass:
    """A class counts its instances by ``type(self)``."""

    class Buggy:
        def __init__(self):
            class Node:
                alive = 0

                def __init__(node):
                    type(node).alive += 1

            self.Node = Node

    class Fixed:
        def __init__(self):
            lock = threading.Lock()

            class Node:
                alive = 0

                def __init__(node):
                    with lock:
                        type(node).alive += 1

            self.Node = Node

    threads = twice(lambda s: s.Node())

    def holds(s):
        return s.Node.alive == 2


@pair("steps")
class TallyByOperatorModule:
    """The operator module reads and writes; reduce walks what it wrote."""

    class Buggy:
        def __init__(self):
            self.tally = {"x": 0, "y": 0}

        def add(self, key):
            operator.setitem(self.tally, key, operator.add(operator.getitem(self.tally, key), 1))

        def total(self):
            return reduce(operator.add, self.tally.values())

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def add(self, key):
            self.lock.acquire()
            try:
                super().add(key)
            finally:
                self.lock.release()

    threads = (lambda s: s.add("x"), lambda s: s.add("x"), lambda s: s.add("y"))

    def holds(s):
        return s.total() == 3


@pair("steps")
class HeadBySubscript:
    """The head is looked at, and then deleted: it is another one."""

    class Buggy:
        def __init__(self):
            self.jobs, self.done = ["a", "b"], []

        def step(self):
            if self.jobs:
                self.done.append(self.jobs[0])
                del self.jobs[0]

    class Fixed(Buggy):
        def step(self):
            if self.jobs:
                try:
                    self.done.append(self.jobs.pop(0))
                except IndexError:
                    pass

    threads = twice(lambda s: s.step())

    def holds(s):
        return sorted(s.done) == ["a", "b"]


@pair("steps")
class LengthAndLast:
    """``rows[len(rows) - 1]`` of a list that shrinks."""

    class Buggy:
        def __init__(self):
            self.rows = [1, 2, 3]

        def last(self):
            return self.rows[len(self.rows) - 1]

    class Fixed(Buggy):
        def last(self):
            return self.rows[-1]

    threads = (lambda s: s.last(), lambda s: s.rows.pop())


@pair("steps")
class EqualityOfTwoReadings:
    """An expression reads the same attribute twice and divides by the difference it should not see."""

    class Buggy:
        def __init__(self):
            self.total, self.count = 10, 2

        def reset(self):
            self.total = self.count = 0

        def mean(self):
            return self.total / self.count if self.count else 0.0

    class Fixed(Buggy):
        def mean(self):
            count = self.count
            return self.total / count if count else 0.0

    threads = (lambda s: s.mean(), lambda s: s.reset())


@pair("steps")
class SwapOfTwoSubscripts:
    """Two threads swap overlapping neighbours with one tuple assignment."""

    class Buggy:
        def __init__(self):
            self.order = ["a", "b", "c"]

        def swap(self, left, right):
            self.order[left], self.order[right] = self.order[right], self.order[left]

    class Fixed(Buggy):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def swap(self, left, right):
            with self.lock:
                super().swap(left, right)

    threads = (lambda s: s.swap(0, 1), lambda s: s.swap(1, 2))

    def holds(s):
        return sorted(s.order) == ["a", "b", "c"]


@pair("steps")
class NegatedFlag:
    """A toggle by ``not``."""

    class Buggy:
        def __init__(self):
            self.on = False

        def toggle(self):
            self.on = not self.on

    class Fixed(Buggy):
        def __init__(self):
            self.presses = []

        def toggle(self):
            self.presses.append(None)

        @property
        def on(self):
            return len(self.presses) % 2 == 1

    threads = twice(lambda s: s.toggle())

    def holds(s):
        return s.on is False


@pair("steps")
class DefaultByConditionalCall:
    """``d.get(key) or make()`` overwrites what another thread stored."""

    class Buggy:
        def __init__(self):
            self.queues = {}

        def put(self, key, item):
            queue = self.queues.get(key) or []
            self.queues[key] = queue
            queue.append(item)

    class Fixed(Buggy):
        def put(self, key, item):
            self.queues.setdefault(key, []).append(item)

    threads = (lambda s: s.put("k", 1), lambda s: s.put("k", 2))

    def holds(s):
        return sorted(s.queues["k"]) == [1, 2]
