"""Something is read, and written as if nobody had written since."""

from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from .case import BREAKS, MASKED, MASKED_BEFORE_3_14, case


class Counter:
    """``+=`` on an attribute reads, adds and writes."""

    def __init__(self):
        self.lock = Lock()
        self.value = 0

    def add(self):
        self.value += 1


class FixedCounter(Counter):
    def add(self):
        with self.lock:
            self.value += 1


def add(counter):
    counter.add()


def counted_two(counter):
    return counter.value == 2


RMW_ATTRIBUTE = case("rmw_attribute", Counter, FixedCounter, (add, add), counted_two, kind=MASKED)


class Hits:
    """The same, on an item of a dictionary."""

    def __init__(self):
        self.lock = Lock()
        self.hits = {"index": 0}

    def add(self):
        self.hits["index"] += 1


class FixedHits(Hits):
    def add(self):
        with self.lock:
            self.hits["index"] += 1


def two_hits(state):
    return state.hits["index"] == 2


RMW_ITEM = case("rmw_item", Hits, FixedHits, (add, add), two_hits, kind=MASKED)


total = 0
total_lock = Lock()


class Total:
    """The same, on a global."""

    def __init__(self):
        global total
        total = 0

    def add(self):
        global total
        total += 1


class FixedTotal(Total):
    def add(self):
        global total
        with total_lock:
            total += 1


def total_is_two(state):
    return total == 2


RMW_GLOBAL = case("rmw_global", Total, FixedTotal, (add, add), total_is_two, kind=MASKED)


class Closure(NamedTuple):
    """Two functions that share a variable."""

    add: Any
    value: Any


def closure():
    """The same, on a closure's cell."""
    count = 0

    def add():
        nonlocal count
        count += 1

    def value():
        return count

    return Closure(add, value)


def fixed_closure():
    count = 0
    lock = Lock()

    def add():
        nonlocal count
        with lock:
            count += 1

    def value():
        return count

    return Closure(add, value)


def value_is_two(state):
    return state.value() == 2


RMW_CELL = case("rmw_cell", closure, fixed_closure, (add, add), value_is_two, kind=MASKED)


class Bill:
    """The same with a function called in the middle: threads may switch where it begins."""

    def __init__(self):
        self.lock = Lock()
        self.sum = 0

    def price(self):
        return 5

    def add(self):
        self.sum = self.sum + self.price()


class FixedBill(Bill):
    def add(self):
        with self.lock:
            super().add()


def both_billed(bill):
    return bill.sum == 10


RMW_WITH_CALL = case("rmw_with_call", Bill, FixedBill, (add, add), both_billed, kind=BREAKS)


class Retries:
    """The same with a call of a built-in method in the middle."""

    def __init__(self):
        self.lock = Lock()
        self.failures = {}

    def add(self):
        self.failures["host"] = self.failures.get("host", 0) + 1


class FixedRetries(Retries):
    def add(self):
        with self.lock:
            super().add()


def failed_twice(retries):
    return retries.failures["host"] == 2


RETRY_COUNTER = case("retry_counter", Retries, FixedRetries, (add, add), failed_twice, kind=BREAKS)


class EarlyRelease:
    """The value is read under the lock, and written when the lock has been released."""

    def __init__(self):
        self.lock = Lock()
        self.value = 0

    def add(self):
        with self.lock:
            value = self.value
        self.value = value + 1


class FixedEarlyRelease(EarlyRelease):
    def add(self):
        with self.lock:
            value = self.value
            self.value = value + 1


LOCK_RELEASED_EARLY = case("lock_released_early", EarlyRelease, FixedEarlyRelease, (add, add), counted_two, kind=BREAKS)


class LateLock:
    """The value is read before the lock is taken. With a GIL, nothing can come between the two before 3.14."""

    def __init__(self):
        self.lock = Lock()
        self.value = 0

    def add(self):
        value = self.value
        with self.lock:
            self.value = value + 1


class FixedLateLock(LateLock):
    def add(self):
        with self.lock:
            value = self.value
            self.value = value + 1


READ_OUTSIDE_LOCK = case("read_outside_lock", LateLock, FixedLateLock, (add, add), counted_two, kind=MASKED_BEFORE_3_14)


class Ids:
    """The number given out is looked up again after it was made."""

    def __init__(self):
        self.lock = Lock()
        self.last = 0
        self.given = []

    def make(self):
        self.last += 1
        return self.last


class FixedIds(Ids):
    def make(self):
        with self.lock:
            return super().make()


def make_id(ids):
    ids.given.append(ids.make())


def all_different(ids):
    return len(set(ids.given)) == len(ids.given)


ID_GENERATOR = case("id_generator", Ids, FixedIds, (make_id, make_id), all_different, kind=MASKED)


class Peak:
    """The highest value so far is compared, and replaced by a lower one that was higher a moment ago."""

    def __init__(self):
        self.lock = Lock()
        self.highest = 0

    def see(self, value):
        if value > self.highest:
            self.highest = value


class FixedPeak(Peak):
    def see(self, value):
        with self.lock:
            super().see(value)


def see_low(peak):
    peak.see(10)


def see_high(peak):
    peak.see(20)


def highest_is_kept(peak):
    return peak.highest == 20


PEAK = case("peak", Peak, FixedPeak, (see_low, see_high), highest_is_kept, kind=MASKED)


class Pair:
    """Two fields swapped in one line, which is no one step."""

    def __init__(self):
        self.lock = Lock()
        self.first, self.second = "a", "b"

    def swap(self):
        self.first, self.second = self.second, self.first


class FixedPair(Pair):
    def swap(self):
        with self.lock:
            super().swap()


def swap(pair):
    pair.swap()


def swapped_twice(pair):
    return (pair.first, pair.second) == ("a", "b")


SWAP = case("swap", Pair, FixedPair, (swap, swap), swapped_twice, kind=MASKED)


class Point:
    """A point is moved in two steps, and read between them."""

    def __init__(self):
        self.lock = Lock()
        self.x = self.y = 0
        self.seen = 0, 0

    def move(self):
        self.x = 1
        self.y = 1

    def look(self):
        self.seen = self.x, self.y


class FixedPoint(Point):
    def move(self):
        with self.lock:
            super().move()

    def look(self):
        with self.lock:
            super().look()


def move(point):
    point.move()


def look(point):
    point.look()


def on_the_diagonal(point):
    return point.seen[0] == point.seen[1]


TORN_PAIR = case("torn_pair", Point, FixedPoint, (move, look), on_the_diagonal, kind=MASKED)


class Journal:
    """A list filled by index: both write to the same place."""

    def __init__(self):
        self.lock = Lock()
        self.lines = [None, None]
        self.used = 0

    def write(self, line):
        self.lines[self.used] = line
        self.used += 1


class FixedJournal(Journal):
    def write(self, line):
        with self.lock:
            super().write(line)


def write_one(journal):
    journal.write("one")


def write_two(journal):
    journal.write("two")


def both_written(journal):
    return set(journal.lines) == {"one", "two"}


FILLED_BY_INDEX = case("filled_by_index", Journal, FixedJournal, (write_one, write_two), both_written, kind=MASKED)


class Shelf:
    """The last piece is sold twice."""

    def __init__(self):
        self.lock = Lock()
        self.stock = {"seat": 1}
        self.sold = []

    def take(self, what):
        if self.stock[what] > 0:
            self.stock[what] -= 1
            return True
        return False


class FixedShelf(Shelf):
    def take(self, what):
        with self.lock:
            return super().take(what)


def book(shelf):
    if shelf.take("seat"):
        shelf.sold.append("seat")


def not_oversold(shelf):
    return shelf.stock["seat"] + len(shelf.sold) == 1


INVENTORY = case("inventory", Shelf, FixedShelf, (book, book), not_oversold, kind=MASKED)


class Rota:
    """Each leaves because the other is still there."""

    def __init__(self):
        self.lock = Lock()
        self.on_call = {"ann": True, "bob": True}

    def leave(self, me, other):
        if self.on_call[other]:
            self.on_call[me] = False


class FixedRota(Rota):
    def leave(self, me, other):
        with self.lock:
            super().leave(me, other)


def ann_leaves(rota):
    rota.leave("ann", "bob")


def bob_leaves(rota):
    rota.leave("bob", "ann")


def somebody_is_there(rota):
    return any(rota.on_call.values())


WRITE_SKEW = case("write_skew", Rota, FixedRota, (ann_leaves, bob_leaves), somebody_is_there, kind=MASKED)


class Limiter:
    """Two are let through where one is allowed: the clock is read between the look and the count."""

    def __init__(self):
        self.lock = Lock()
        self.left = 1
        self.last = 0.0
        self.let_through = []

    def allow(self):
        if self.left == 0:
            return False
        self.last = monotonic()
        self.left -= 1
        return True


class FixedLimiter(Limiter):
    def allow(self):
        with self.lock:
            return super().allow()


def request(limiter):
    if limiter.allow():
        limiter.let_through.append("request")


def within_the_limit(limiter):
    return len(limiter.let_through) == 1


RATE_LIMITER = case("rate_limiter", Limiter, FixedLimiter, (request, request), within_the_limit, kind=BREAKS)


class Negotiation:
    """Each step looks whether it is its turn, but nobody looks whether the whole may still go on: two parties that meet again and
    again get where none of them could alone."""

    def __init__(self):
        self.lock = Lock()
        self.stage = 0

    def step(self, stage):
        if self.stage == stage:
            self.stage = stage + 1

    def ask(self):
        self.step(0)
        self.step(2)
        self.step(4)

    def answer(self):
        self.step(1)
        self.step(3)


class FixedNegotiation(Negotiation):
    def ask(self):
        with self.lock:
            super().ask()

    def answer(self):
        with self.lock:
            super().answer()


def ask(negotiation):
    negotiation.ask()


def answer(negotiation):
    negotiation.answer()


def not_concluded(negotiation):
    return negotiation.stage < 5


NEGOTIATION = case(
    "negotiation", Negotiation, FixedNegotiation, (ask, answer), not_concluded, kind=BREAKS, preemptions=3
)  # fmt: skip


CASES = (
    RMW_ATTRIBUTE, RMW_ITEM, RMW_GLOBAL, RMW_CELL, RMW_WITH_CALL, RETRY_COUNTER, LOCK_RELEASED_EARLY, READ_OUTSIDE_LOCK,
    ID_GENERATOR, PEAK, SWAP, TORN_PAIR, FILLED_BY_INDEX, INVENTORY, WRITE_SKEW, RATE_LIMITER, NEGOTIATION,
)  # fmt: skip
