"""The shapes of SCTBench: most are shared memory and locks, a few wait for each other."""

from threading import Condition, Event, Lock

from .case import BREAKS, MASKED, MASKED_BEFORE_3_14, case


class Account:
    """Whether the money is there is looked up under one lock, and taken under another: both withdrawals find it."""

    def __init__(self):
        self.lock = Lock()
        self.balance = 100

    def withdraw(self):
        with self.lock:
            covered = self.balance >= 70
        if covered:
            with self.lock:
                self.balance -= 70


class FixedAccount(Account):
    def withdraw(self):
        with self.lock:
            if self.balance >= 70:
                self.balance -= 70


def withdraw(account):
    account.withdraw()


def not_overdrawn(account):
    return account.balance >= 0


ACCOUNT = case("account", Account, FixedAccount, (withdraw, withdraw), not_overdrawn, kind=BREAKS)


class Bank:
    """Each account is locked, the transfer between them is not: an audit in the middle misses money."""

    def __init__(self):
        self.first_lock, self.second_lock = Lock(), Lock()
        self.first, self.second = 100, 100
        self.audited = 200

    def transfer(self):
        with self.first_lock:
            self.first -= 10
        with self.second_lock:
            self.second += 10

    def audit(self):
        with self.first_lock, self.second_lock:
            self.audited = self.first + self.second


class FixedBank(Bank):
    def transfer(self):
        with self.first_lock, self.second_lock:
            self.first -= 10
            self.second += 10


def transfer(bank):
    bank.transfer()


def audit(bank):
    bank.audit()


def nothing_missing(bank):
    return bank.audited == 200


BANK = case("bank", Bank, FixedBank, (transfer, audit), nothing_missing, kind=BREAKS)


class Lazy01:
    """Two threads add something and take it away again, under a lock each time; a third sees what both have added."""

    def __init__(self):
        self.lock = Lock()
        self.data = 0

    def borrow(self, amount):
        with self.lock:
            self.data += amount
        with self.lock:
            self.data -= amount

    def check(self):
        with self.lock:
            if self.data >= 3:
                raise RuntimeError("more than was ever agreed on")


class FixedLazy01(Lazy01):
    def borrow(self, amount):
        with self.lock:
            self.data += amount
            self.data -= amount


def borrow_one(state):
    state.borrow(1)


def borrow_two(state):
    state.borrow(2)


def check(state):
    state.check()


LAZY01 = case(
    "lazy01", Lazy01, FixedLazy01, (borrow_one, borrow_two, check), kind=BREAKS, symptom="exception", preemptions=2
)  # fmt: skip


class Reorder:
    """Two writes that belong together, and a reader that sees the first alone."""

    def __init__(self):
        self.lock = Lock()
        self.a = self.b = 0

    def set(self):
        self.a = 1
        self.b = -1

    def check(self):
        if self.a + self.b != 0:
            raise RuntimeError("half of it")


class FixedReorder(Reorder):
    def set(self):
        with self.lock:
            super().set()

    def check(self):
        with self.lock:
            super().check()


def set_both(state):
    state.set()


REORDER_3 = case("reorder_3", Reorder, FixedReorder, (set_both, set_both, check), kind=MASKED, symptom="exception")


class InFlight:
    """Three threads at once between the two halves of what they do are one too many. One after another, no two ever are."""

    def __init__(self):
        self.lock = Lock()
        self.begun = self.done = 0

    def work(self):
        with self.lock:
            self.begun += 1
        with self.lock:
            self.done += 1

    def check(self):
        with self.lock:
            if self.begun - self.done == 3:
                raise RuntimeError("all of them at once")


class FixedInFlight(InFlight):
    def work(self):
        with self.lock:
            self.begun += 1
            self.done += 1


def work(state):
    state.work()


REORDER_4 = case(
    "reorder_4", InFlight, FixedInFlight, (work, work, work, check), kind=BREAKS, symptom="exception", preemptions=3
)  # fmt: skip


class TwoStage:
    """The second value follows from the first, each under a lock of its own: between the stages they do not fit."""

    def __init__(self):
        self.first_lock, self.second_lock = Lock(), Lock()
        self.first = self.second = 0

    def write(self):
        with self.first_lock:
            self.first = 1
        with self.second_lock:
            self.second = self.first + 1

    def read(self):
        with self.first_lock:
            first = self.first
        if first == 0:
            return
        with self.second_lock:
            if self.second != first + 1:
                raise RuntimeError("the second stage has not come yet")


class FixedTwoStage(TwoStage):
    def write(self):
        with self.first_lock:
            self.first = 1
            with self.second_lock:
                self.second = self.first + 1


def write(state):
    state.write()


def read(state):
    state.read()


TWO_STAGE = case("two_stage", TwoStage, FixedTwoStage, (write, read), kind=BREAKS, symptom="exception")


class WrongLock:
    """Everybody takes a lock, but not the same one."""

    def __init__(self):
        self.lock, self.other_lock = Lock(), Lock()
        self.value = 0

    def add(self):
        with self.lock:
            self.value += 1

    def add_too(self):
        with self.other_lock:
            self.value += 1


class RightLock(WrongLock):
    def add_too(self):
        with self.lock:
            self.value += 1


def add(state):
    state.add()


def add_too(state):
    state.add_too()


def two_added(state):
    return state.value == 2


WRONG_LOCK = case("wrong_lock", WrongLock, RightLock, (add, add_too), two_added, kind=MASKED)


class Stack:
    """It is not empty when it is looked at, and empty when something is taken."""

    def __init__(self):
        self.lock = Lock()
        self.items = ["only"]

    def pop(self):
        if self.items:
            self.items.pop()


class FixedStack(Stack):
    def pop(self):
        with self.lock:
            super().pop()


def pop(stack):
    stack.pop()


STACK = case("stack", Stack, FixedStack, (pop, pop), kind=MASKED, symptom="exception")


class Ring:
    """One producer, one consumer, no lock. The slot is announced before it is filled."""

    def __init__(self):
        self.slots = [None] * 4
        self.head = self.tail = 0
        self.received = []

    def put(self, item):
        index = self.tail
        self.tail = index + 1
        self.slots[index % 4] = item

    def take(self):
        if self.head != self.tail:
            item = self.slots[self.head % 4]
            self.head += 1
            self.received.append(item)


class FixedRing(Ring):
    def put(self, item):
        index = self.tail
        self.slots[index % 4] = item
        self.tail = index + 1


def put_two(ring):
    ring.put("first")
    ring.put("second")


def take_two(ring):
    ring.take()
    ring.take()


def received_in_order(ring):
    return ring.received == ["first", "second"][: len(ring.received)]


RING = case("ring", Ring, FixedRing, (put_two, take_two), received_in_order, kind=MASKED)


class CircularBuffer:
    """Producer and consumer have an index each, and share a count that both change."""

    def __init__(self):
        self.lock = Lock()
        self.slots = ["first", None, None]
        self.tail, self.head, self.count = 1, 0, 1

    def put(self, item):
        if self.count < 3:
            self.slots[self.tail] = item
            self.tail = (self.tail + 1) % 3
            self.count += 1

    def take(self):
        if self.count > 0:
            self.slots[self.head] = None
            self.head = (self.head + 1) % 3
            self.count -= 1


class FixedCircularBuffer(CircularBuffer):
    def put(self, item):
        with self.lock:
            super().put(item)

    def take(self):
        with self.lock:
            super().take()


def put_one(buffer):
    buffer.put("second")


def take_one(buffer):
    buffer.take()


def count_is_right(buffer):
    return buffer.count == sum(slot is not None for slot in buffer.slots)


CIRCULAR_BUFFER = case("circular_buffer", CircularBuffer, FixedCircularBuffer, (put_one, take_one), count_is_right, kind=MASKED)


class Driver:
    """The Bluetooth driver of KISS: it sees that nobody stops the device, counts itself in, and the device stops in between."""

    def __init__(self):
        self.lock = Lock()
        self.drained = Event()
        self.pending, self.stopping, self.stopped = 1, False, False

    def count_in(self):
        with self.lock:
            self.pending += 1

    def count_out(self):
        with self.lock:
            self.pending -= 1
            last = self.pending == 0
        if last:
            self.drained.set()

    def enter(self):
        if self.stopping:
            return False
        self.count_in()
        return True

    def use(self):
        if self.enter():
            if self.stopped:
                raise RuntimeError("the device has been stopped")
            self.count_out()

    def stop(self):
        self.stopping = True
        self.count_out()
        self.drained.wait()
        self.stopped = True


class FixedDriver(Driver):
    def enter(self):
        self.count_in()
        if self.stopping:
            self.count_out()
            return False
        return True


def use(driver):
    driver.use()


def stop(driver):
    driver.stop()


BLUETOOTH = case("bluetooth", Driver, FixedDriver, (use, stop), kind=BREAKS, symptom="exception")


class LostNotify:
    """Whether to wait is decided outside of the lock: the notification comes before the wait, and nobody hears it."""

    def __init__(self):
        self.condition = Condition()
        self.ready = False

    def wait(self):
        if not self.ready:
            with self.condition:
                self.condition.wait()

    def announce(self):
        self.ready = True
        with self.condition:
            self.condition.notify()


class HeardNotify(LostNotify):
    def wait(self):
        with self.condition:
            while not self.ready:
                self.condition.wait()


def wait(state):
    state.wait()


def announce(state):
    state.announce()


LOST_NOTIFY = case("lost_notify", LostNotify, HeardNotify, (wait, announce), kind=BREAKS, symptom="never ends")


class Philosophers:
    """Everybody takes the fork on the left, and waits for the one on the right."""

    def __init__(self, seats=3):
        self.forks = [Lock() for _ in range(seats)]
        self.eaten = [False] * seats

    def forks_of(self, seat):
        return self.forks[seat], self.forks[(seat + 1) % len(self.forks)]

    def eat(self, seat):
        first, second = self.forks_of(seat)
        first.acquire()
        second.acquire()
        self.eaten[seat] = True
        second.release()
        first.release()


class FixedPhilosophers(Philosophers):
    """The last one takes the fork on the right first."""

    def forks_of(self, seat):
        left, right = super().forks_of(seat)
        return (left, right) if seat < len(self.forks) - 1 else (right, left)


def four_philosophers():
    return Philosophers(4)


def four_fixed_philosophers():
    return FixedPhilosophers(4)


def eat_first(table):
    table.eat(0)


def eat_second(table):
    table.eat(1)


def eat_third(table):
    table.eat(2)


def eat_fourth(table):
    table.eat(3)


def all_have_eaten(table):
    return all(table.eaten)


DINING_3 = case(
    "dining_3", Philosophers, FixedPhilosophers, (eat_first, eat_second, eat_third), all_have_eaten,
    kind=BREAKS, symptom="deadlock",
)  # fmt: skip
DINING_4 = case(
    "dining_4", four_philosophers, four_fixed_philosophers, (eat_first, eat_second, eat_third, eat_fourth), all_have_eaten,
    kind=BREAKS, symptom="deadlock",
)  # fmt: skip


class TwoLocks:
    """Two locks, taken in both orders, with a call in between."""

    def __init__(self):
        self.first, self.second = Lock(), Lock()
        self.log = []

    def note(self, text):
        self.log.append(text)

    def forth(self):
        with self.first:
            self.note("has one")
            with self.second:
                self.note("has both")

    def back(self):
        with self.second:
            self.note("has one")
            with self.first:
                self.note("has both")


class OneOrder(TwoLocks):
    def back(self):
        with self.first:
            self.note("has one")
            with self.second:
                self.note("has both")


def forth(state):
    state.forth()


def back(state):
    state.back()


AB_BA = case("ab_ba", TwoLocks, OneOrder, (forth, back), kind=BREAKS, symptom="deadlock")


class TwoLocksTight:
    """Two locks, taken in both orders, with nothing in between: a build with a GIL cannot switch there before 3.14."""

    def __init__(self):
        self.first, self.second = Lock(), Lock()
        self.turns = 0

    def forth(self):
        with self.first, self.second:
            self.turns += 1

    def back(self):
        with self.second, self.first:
            self.turns += 1


class OneOrderTight(TwoLocksTight):
    def back(self):
        with self.first, self.second:
            self.turns += 1


AB_BA_TIGHT = case("ab_ba_tight", TwoLocksTight, OneOrderTight, (forth, back), kind=MASKED_BEFORE_3_14, symptom="deadlock")


class Carter:
    """Two kinds of users share a resource: the first of a kind takes it, the last gives it back. One lock guards both counts, and
    is kept while waiting for the resource, so whoever has the resource cannot give it back."""

    def __init__(self):
        self.resource = Lock()
        self.counts = [0, 0]
        self.guards = [Lock()] * 2

    def use(self, kind):
        with self.guards[kind]:
            self.counts[kind] += 1
            if self.counts[kind] == 1:
                self.resource.acquire()
        with self.guards[kind]:
            self.counts[kind] -= 1
            if self.counts[kind] == 0:
                self.resource.release()


class FixedCarter(Carter):
    """A guard for each kind."""

    def __init__(self):
        super().__init__()
        self.guards = [Lock(), Lock()]


def use_one_kind(state):
    state.use(0)


def use_other_kind(state):
    state.use(1)


CARTER = case("carter", Carter, FixedCarter, (use_one_kind, use_other_kind), kind=BREAKS, symptom="deadlock")


class TokenRing:
    """Each station hands the token on before it has noted that it had it: the next may be faster."""

    def __init__(self):
        self.turns = [Event() for _ in range(4)]
        self.turns[0].set()
        self.log = []

    def pass_on(self, station):
        self.turns[station].wait()
        self.turns[station + 1].set()
        self.log.append(station)


class FixedTokenRing(TokenRing):
    def pass_on(self, station):
        self.turns[station].wait()
        self.log.append(station)
        self.turns[station + 1].set()


def first_station(ring):
    ring.pass_on(0)


def second_station(ring):
    ring.pass_on(1)


def third_station(ring):
    ring.pass_on(2)


def noted_in_order(ring):
    return ring.log == [0, 1, 2]


TOKEN_RING = case(
    "token_ring", TokenRing, FixedTokenRing, (first_station, second_station, third_station), noted_in_order, kind=BREAKS
)  # fmt: skip


class Sync01:
    """First the notification, then what it is about: who wakes up in between waits again, and for ever."""

    def __init__(self):
        self.condition = Condition()
        self.full = False

    def take(self):
        with self.condition:
            while not self.full:
                self.condition.wait()
            self.full = False

    def put(self):
        with self.condition:
            self.condition.notify()
        self.full = True


class FixedSync01(Sync01):
    def put(self):
        with self.condition:
            self.full = True
            self.condition.notify()


def take(state):
    state.take()


def put(state):
    state.put()


SYNC01 = case("sync01", Sync01, FixedSync01, (take, put), kind=BREAKS, symptom="never ends")


class Sync02:
    """Two wait on one condition for different things, and one of them is told: it may be the wrong one."""

    def __init__(self):
        self.condition = Condition()
        self.there = set()

    def await_thing(self, thing):
        with self.condition:
            while thing not in self.there:
                self.condition.wait()

    def bring(self, thing):
        with self.condition:
            self.there.add(thing)
            self.condition.notify()


class FixedSync02(Sync02):
    def bring(self, thing):
        with self.condition:
            self.there.add(thing)
            self.condition.notify_all()


def await_paper(state):
    state.await_thing("paper")


def await_ink(state):
    state.await_thing("ink")


def bring_both(state):
    state.bring("paper")
    state.bring("ink")


SYNC02 = case(
    "sync02", Sync02, FixedSync02, (await_paper, await_ink, bring_both), kind=BREAKS, symptom="never ends"
)  # fmt: skip


class ReadWriteLock:
    """A reader waits until nobody writes, and counts itself in when it is out of the lock again."""

    def __init__(self):
        self.condition = Condition()
        self.readers, self.writing = 0, False
        self.data = {"x": 0, "y": 0}
        self.seen = 0, 0

    def begin_reading(self):
        with self.condition:
            while self.writing:
                self.condition.wait()
        self.readers += 1

    def read(self):
        self.begin_reading()
        self.seen = self.data["x"], self.data["y"]
        with self.condition:
            self.readers -= 1
            self.condition.notify_all()

    def write(self):
        with self.condition:
            while self.writing or self.readers:
                self.condition.wait()
            self.writing = True
        for key in ("x", "y"):
            self.data[key] = 1
        with self.condition:
            self.writing = False
            self.condition.notify_all()


class FixedReadWriteLock(ReadWriteLock):
    def begin_reading(self):
        with self.condition:
            while self.writing:
                self.condition.wait()
            self.readers += 1


def not_torn(state):
    return state.seen[0] == state.seen[1]


READ_WRITE_LOCK = case("read_write_lock", ReadWriteLock, FixedReadWriteLock, (read, write), not_torn, kind=BREAKS, preemptions=2)


class FileSystem:
    """Each file is locked, the table of free blocks is not: two files get the same block."""

    def __init__(self):
        self.file_locks = [Lock(), Lock()]
        self.blocks_lock = Lock()
        self.used = [True, False, False]
        self.block_of = [None, None]

    def find_block(self):
        block = 0
        while self.used[block]:
            block += 1
        self.used[block] = True
        return block

    def allocate(self, file):
        with self.file_locks[file]:
            self.block_of[file] = self.find_block()


class FixedFileSystem(FileSystem):
    def find_block(self):
        with self.blocks_lock:
            return super().find_block()


def allocate_one(system):
    system.allocate(0)


def allocate_other(system):
    system.allocate(1)


def different_blocks(system):
    return system.block_of[0] != system.block_of[1]


FSBENCH = case("fsbench", FileSystem, FixedFileSystem, (allocate_one, allocate_other), different_blocks, kind=MASKED)


class Peterson:
    """Mutual exclusion without a lock, the two announcements in the wrong order."""

    def __init__(self):
        self.wants = [False, False]
        self.turn = 0
        self.value = 0

    def announce(self, me):
        self.turn = 1 - me
        self.wants[me] = True

    def add(self, me):
        other = 1 - me
        self.announce(me)
        while self.wants[other] and self.turn == other:
            pass
        self.value += 1
        self.wants[me] = False


class FixedPeterson(Peterson):
    def announce(self, me):
        self.wants[me] = True
        self.turn = 1 - me


def add_as_first(state):
    state.add(0)


def add_as_second(state):
    state.add(1)


PETERSON = case("peterson", Peterson, FixedPeterson, (add_as_first, add_as_second), two_added, kind=MASKED, preemptions=2)


CASES = (
    ACCOUNT, BANK, LAZY01, REORDER_3, REORDER_4, TWO_STAGE, WRONG_LOCK, STACK, RING, CIRCULAR_BUFFER, BLUETOOTH, LOST_NOTIFY,
    DINING_3, DINING_4, AB_BA, AB_BA_TIGHT, CARTER, TOKEN_RING, SYNC01, SYNC02, READ_WRITE_LOCK, FSBENCH, PETERSON,
)  # fmt: skip
