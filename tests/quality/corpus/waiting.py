"""Threads that wait for each other: conditions, events, semaphores, barriers and queues."""

import time
from queue import Empty, Queue
from threading import Condition, Event, Lock, Semaphore

from .case import BREAKS, MASKED, case


class Parcels:
    """``if`` where it must be ``while``: whoever was woken finds that somebody else was faster."""

    def __init__(self):
        self.condition = Condition()
        self.parcels = []

    def take(self):
        with self.condition:
            if not self.parcels:
                self.condition.wait()
            self.parcels.pop()

    def bring(self):
        with self.condition:
            self.parcels.append("parcel")
            self.condition.notify()


class FixedParcels(Parcels):
    def take(self):
        with self.condition:
            while not self.parcels:
                self.condition.wait()
            self.parcels.pop()


def take(state):
    state.take()


def bring_two(state):
    state.bring()
    state.bring()


WOKEN_ONCE = case("woken_once", Parcels, FixedParcels, (take, take, bring_two), kind=BREAKS, symptom="exception")


class Alarm:
    """The event is cleared after the work was collected: what came in between is not seen any more."""

    def __init__(self):
        self.rings = Event()
        self.lock = Lock()
        self.work = []
        self.done = []

    def collect(self):
        with self.lock:
            self.done += self.work
            self.work.clear()

    def run(self):
        while len(self.done) < 2:
            self.rings.wait()
            self.collect()
            self.rings.clear()

    def add(self, item):
        with self.lock:
            self.work.append(item)
        self.rings.set()


class FixedAlarm(Alarm):
    def run(self):
        while len(self.done) < 2:
            self.rings.wait()
            self.rings.clear()
            self.collect()


def run(alarm):
    alarm.run()


def add_two(alarm):
    alarm.add("one")
    alarm.add("two")


EVENT_CLEARED_LATE = case(
    "event_cleared_late", Alarm, FixedAlarm, (run, add_two), kind=BREAKS, symptom="never ends", preemptions=2
)  # fmt: skip


class Desk:
    """Who could not get in gives back what it never had: from then on two get in at once."""

    def __init__(self):
        self.seats = Semaphore(1)

    def sit(self):
        self.seats.acquire(blocking=False)
        self.seats.release()


class FixedDesk(Desk):
    def sit(self):
        if self.seats.acquire(blocking=False):
            self.seats.release()


def sit(desk):
    desk.sit()


def one_seat(desk):
    desk.seats.acquire(blocking=False)
    return not desk.seats.acquire(blocking=False)


SEMAPHORE_OVER_RELEASED = case("semaphore_over_released", Desk, FixedDesk, (sit, sit), one_seat, kind=BREAKS)


class Meeting:
    """A barrier to be used again: its gate is shut at once behind those who are there, and who is not quite there stays outside."""

    def __init__(self):
        self.lock = Lock()
        self.gate = Event()
        self.arrived = 0

    def wait(self):
        with self.lock:
            self.arrived += 1
            last = self.arrived == 2
            if last:
                self.arrived = 0
            gate = self.gate
        if last:
            gate.set()
            gate.clear()
        else:
            gate.wait()


class FixedMeeting(Meeting):
    """Each meeting has a gate of its own."""

    def wait(self):
        with self.lock:
            self.arrived += 1
            last = self.arrived == 2
            gate = self.gate
            if last:
                self.arrived = 0
                self.gate = Event()
        if last:
            gate.set()
        else:
            gate.wait()


def meet_twice(meeting):
    meeting.wait()
    meeting.wait()


BARRIER_REUSED = case("barrier_reused", Meeting, FixedMeeting, (meet_twice, meet_twice), kind=BREAKS, symptom="never ends")


class Office:
    """An item is reported as done before it is."""

    def __init__(self):
        self.inbox = Queue()
        self.done = []
        self.done_when_told = None

    def work(self):
        item = self.inbox.get()
        self.inbox.task_done()
        self.done.append(item)

    def order(self):
        self.inbox.put("item")
        self.inbox.join()
        self.done_when_told = len(self.done)


class FixedOffice(Office):
    def work(self):
        item = self.inbox.get()
        self.done.append(item)
        self.inbox.task_done()


def work(office):
    office.work()


def order(office):
    office.order()


def was_done(office):
    return office.done_when_told == 1


TASK_DONE_EARLY = case("task_done_early", Office, FixedOffice, (order, work), was_done, kind=BREAKS)


class Shift:
    """The last of the producers is to say that it was the last; if both count down at once, none of them is."""

    def __init__(self):
        self.lock = Lock()
        self.belt = Queue()
        self.producers = 2

    def leave(self):
        self.producers -= 1
        return self.producers == 0

    def produce(self):
        if self.leave():
            self.belt.put(None)

    def consume(self):
        while self.belt.get() is not None:
            pass


class FixedShift(Shift):
    def leave(self):
        with self.lock:
            return super().leave()


def produce(shift):
    shift.produce()


def consume(shift):
    shift.consume()


POISON_PILL_LOST = case(
    "poison_pill_lost", Shift, FixedShift, (produce, produce, consume), kind=MASKED, symptom="never ends"
)  # fmt: skip


class Outbox:
    """A letter that was accepted comes after the last one."""

    def __init__(self):
        self.lock = Lock()
        self.letters = Queue()
        self.closed = False
        self.accepted, self.sent = [], []

    def post(self):
        if not self.closed:
            self.letters.put("letter")
            self.accepted.append("letter")

    def close(self):
        self.closed = True
        self.letters.put(None)
        while (letter := self.letters.get()) is not None:
            self.sent.append(letter)


class FixedOutbox(Outbox):
    def post(self):
        with self.lock:
            super().post()

    def close(self):
        with self.lock:
            super().close()


def post(outbox):
    outbox.post()


def close(outbox):
    outbox.close()


def accepted_is_sent(outbox):
    return outbox.accepted == outbox.sent


AFTER_THE_POISON_PILL = case("after_the_poison_pill", Outbox, FixedOutbox, (post, close), accepted_is_sent, kind=BREAKS)


class Upgrade:
    """Two readers want to write, and each waits until the other does not read any more."""

    def __init__(self):
        self.condition = Condition()
        self.readers = 0
        self.value = 0

    def begin(self):
        with self.condition:
            self.readers += 1

    def upgrade(self):
        with self.condition:
            while self.readers > 1:
                self.condition.wait()
            self.value += 1
            self.readers -= 1
            self.condition.notify_all()

    def update(self):
        self.begin()
        self.upgrade()


class FixedUpgrade(Upgrade):
    """Who is going to write is alone from the beginning."""

    def begin(self):
        with self.condition:
            while self.readers > 0:
                self.condition.wait()
            self.readers += 1


def update(state):
    state.update()


def updated_twice(state):
    return state.value == 2


UPGRADE = case("upgrade", Upgrade, FixedUpgrade, (update, update), updated_twice, kind=BREAKS, symptom="never ends")


class Permits:
    """Two permits, taken one by one by two threads that need both."""

    def __init__(self):
        self.lock = Lock()
        self.permits = Semaphore(2)

    def take_both(self):
        self.permits.acquire()
        self.permits.acquire()

    def use(self):
        self.take_both()
        self.permits.release(2)


class FixedPermits(Permits):
    def take_both(self):
        with self.lock:
            super().take_both()


def use(permits):
    permits.use()


PERMITS = case("permits", Permits, FixedPermits, (use, use), kind=BREAKS, symptom="never ends")


class Inbox:
    """The queue is not empty when it is asked, and empty when something is taken."""

    def __init__(self):
        self.items = Queue()
        self.items.put("only")

    def take(self):
        if not self.items.empty():
            self.items.get()


class FixedInbox(Inbox):
    def take(self):
        try:
            self.items.get_nowait()
        except Empty:
            pass


EMPTY_THEN_GET = case("empty_then_get", Inbox, FixedInbox, (take, take), kind=BREAKS, symptom="never ends")


class Progress:
    """Somebody looks again and again whether both are done; if one of two updates is lost, for ever."""

    def __init__(self):
        self.lock = Lock()
        self.done = 0

    def finish(self):
        self.done += 1

    def watch(self):
        while self.done < 2:
            time.sleep(0.001)


class FixedProgress(Progress):
    def finish(self):
        with self.lock:
            super().finish()


def finish(progress):
    progress.finish()


def watch(progress):
    progress.watch()


POLLED_FOR_EVER = case(
    "polled_for_ever", Progress, FixedProgress, (finish, finish, watch), kind=MASKED, symptom="livelock"
)  # fmt: skip


CASES = (
    WOKEN_ONCE, EVENT_CLEARED_LATE, SEMAPHORE_OVER_RELEASED, BARRIER_REUSED, TASK_DONE_EARLY, POISON_PILL_LOST,
    AFTER_THE_POISON_PILL, UPGRADE, PERMITS, EMPTY_THEN_GET, POLLED_FOR_EVER,
)  # fmt: skip
