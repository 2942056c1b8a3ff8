"""Virtual time: a model of what time can do to the threads of one run. No real clock is read during a run.

Work takes no time, and time passes in four ways:

- If no thread is runnable, it is the earliest deadline of a wait or a sleep. In a sequential order, a sleep lasts until all threads
  wait that the program has started (`Deadlines.beside_sleepers`).
- Each reading of a clock is a microsecond later than the one before.
- A *delay*: the thread whose deadline comes next runs although others could, as if the machine had kept those from running; or the
  reading of a clock is late. A delay is a choice of the schedule. It is a preemption, unless the running thread must wait anyhow.
- A thread that polls lets time pass (`spinning`): `WORK` for each of its steps, or all the time to the next deadline if nothing but
  time can end its loop. One that computes for long where nobody else can run ends the next sleep.

A loaded machine delays threads, but not for ever and not always: `MOST_DELAY` and `MOST_DELAYS` bound what a schedule may delay. So
two short timeouts race, a timeout of a minute is not missed by work that takes a moment, and a retry with back-off does not run out
of attempts while another thread makes two steps. A sleep may end at any moment if nothing else in the run looks at time: it orders
nothing, however long it is.

What does not work: deadlines that count only if no thread is runnable (no timeout races with a slow thread); time that doubles with
each slice of a long loop (a minute passes within 25,000 steps).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...core.clocks import monotonic_ns, wall_time_ns

MOST_DELAY = 500_000_000  # nanoseconds by which all delays of one schedule together may be late
MOST_DELAYS = 3  # of one schedule
_ANY = 1 << 62
READING = 1_000  # nanoseconds between two readings: a microsecond is what `time.time` and `datetime` can tell apart
WORK = 10_000  # nanoseconds that a step of a polling thread takes


class VirtualClock:
    """The clock of the runs of one check.

    Attributes:
        base: nanoseconds of the monotonic clock and of the wall clock at the beginning of every run.
        now: nanoseconds since the beginning of this run.
        delay: nanoseconds of delay that this run may still have.
        delays: the number of delays that it may still have.
        most_delays: the number that each run may have.
        most_delay: nanoseconds of delay that each run may have.
        read: whether code under test has read the clock in this run.
        set_by: nanoseconds by which the program has set the wall clock forward in this run.
        matters: whether any run has read the clock, or waited with a deadline.
    """

    __slots__ = ("base", "delay", "delays", "matters", "most_delay", "most_delays", "now", "read", "set_by")

    def __init__(self) -> None:
        self.base = monotonic_ns() // READING * READING, wall_time_ns() // READING * READING
        self.forget()

    def forget(self) -> None:
        """Begin the runs of another program."""
        self.matters = False
        self.most_delay, self.most_delays = MOST_DELAY, MOST_DELAYS
        self.restart()

    def restart(self) -> None:
        """Begin a new run."""
        self.now, self.delay, self.delays, self.read, self.set_by = 0, self.most_delay, self.most_delays, False, 0

    @contextmanager
    def any_delay(self, wanted: bool = True) -> Iterator[None]:
        """While any deadline may pass although a thread is runnable, if that is wanted: in sequential orders."""
        before = self.most_delay, self.most_delays
        if wanted:
            self.most_delay = self.most_delays = _ANY
        try:
            yield
        finally:
            self.most_delay, self.most_delays = before

    def reading(self) -> int:
        """The time of a reading: later than that of the one before."""
        self.now += READING - self.now % READING
        return self.now

    def may_reach(self, deadline: int) -> bool:
        """Whether this deadline may pass while a thread is runnable."""
        return deadline <= self.now or (self.delays > 0 and deadline - self.now <= self.delay)

    def delay_to(self, deadline: int) -> int:
        """Make a delay that reaches a deadline; returns its nanoseconds."""
        late = deadline - self.now
        if late <= 0:
            return 0
        self.now = deadline
        self.delay = max(0, self.delay - late)
        self.delays -= 1
        return late


BOUND = f"delays of at most {MOST_DELAY / 1e9:g} s, at {MOST_DELAYS} places of a schedule"
