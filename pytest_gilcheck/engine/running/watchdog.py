"""The watchdog for what a schedule cannot control, such as a lock taken in C or a blocking socket read.

A thread of its own polls the owner. An owner that sleeps in the kernel at several consecutive polls is marked as blocked outside of
control: another thread runs, and the run is reported as partly uncontrolled. The blocked thread queues up again at its next call of
the engine. A run that neither ends nor computes is ended.

The first run of a check may do once what no later one does, such as filling a table; most of its time goes into reports of steps.
So when it would be ended for its length alone, it goes on without these reports (`unreported`), up to a longer limit.

The owner may come back, and even pass its turn on, in the moment in which it is marked. So `Turns.withheld` keeps it from calling
the engine, and it is marked only if it still sleeps the same sleep then: what it does later, it does as one of the others.

What does not work: telling a blocked thread from a computing one by elapsed time alone (the machine may be busy, or the computation
long).
"""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from ...core.clocks import monotonic, process_time
from ...core.clocks import sleep as _sleep
from ...core.origin import ours
from ...core.own_builtins import PutBack
from ...core.system import HAS_PROC, read
from . import registered
from .fairness import MOST_POINTS
from .handoff import HandoffSemaphore
from .places import place
from .record import HANGS
from .stuck import blocked_threads
from .task import BLOCKED_OUTSIDE, END_OF_RUN, READY, Task, blocked_outside
from .turns import Turns

_start, _join = threading.Thread.start, threading.Thread.join
_ENGINE = {str(Path(__file__).with_name(f"{room}.py")) for room in ("turns", "controlled", "callbacks")}
_POLL = 0.005  # seconds between two polls of a run that has not ended
_MOST_REPORTED = MOST_POINTS * 9 // 10  # points of a run that may go on without reports
_POLLS = {  # by the state of a thread that sleeps: consecutive polls, before it counts as blocked outside of control
    "S": 3,
    "D": 200,  # it waits for a device, such as a disk that is busy, or for a process that begins: for no other thread
}
_AWAKE = (-1, "")
_poll: Any = getattr(select, "poll", None)  # not `select.select`, which refuses descriptors from 1,024 on


class Watchdog:
    """A context manager in which the runs of one check are watched.

    Args:
        turns: whose turn it is.
        limit: seconds after which a run is ended, if it waits or has really computed for half of them.
        longest: the same for a run that goes on without reports of its steps.
        hangs: whether it counts as hanging then; otherwise it cannot be explored.

    Attributes:
        unreported: ends the reports of steps, if the present run may go on without them; otherwise None.
    """

    def __init__(self, turns: Turns, limit: float, longest: float, *, hangs: bool) -> None:
        self._turns, self._limit, self._longest, self._hangs = turns, limit, longest, hangs
        self._reported = min(limit, longest / 2)  # seconds of a run that may go on without reports, until it does
        self.unreported: Callable[[], None] | None = None
        self._waiting: object = None  # another object each time that the main thread waits for the end of a run
        self._stop, self._over = HandoffSemaphore(), False

    def __enter__(self) -> Watchdog:
        # Not made before: from 3.13 on, a fork could not start it.
        self._thread = threading.Thread(target=self._watch, name="gilcheck-watch", daemon=True)
        _start(self._thread)
        registered.hide(self._thread)
        return self

    def __exit__(self, *error: object) -> None:
        self._over = True
        self._stop.post()
        _join(self._thread)
        self._stop.close()

    def begin(self) -> None:
        """A run has begun, or a part of it: its setup, its end."""
        self._waiting = object()  # when that is, the watchdog finds out: two clocks read here would cost a hundredth of a run

    def end(self) -> None:
        """It is over."""
        with self._turns.changing:
            self._waiting = None

    def _watch(self) -> None:
        try:
            self._look()
        finally:
            registered.show(self._thread)

    def _look(self) -> None:
        turns = self._turns
        polls, last, moved = 0, (-1, turns.main, -1), (0.0, 0.0)
        waiting, started, cpu = self._waiting, 0.0, 0.0
        while not self._stops():
            before, waiting = waiting, self._waiting
            if waiting is None:
                continue
            if waiting is not before:
                started, cpu = monotonic(), process_time()
            owner, point = turns.owner, turns.point
            still = waiting is before and (point, owner) == last[:2]  # else it has moved, and need not be looked at: most polls
            switches, state = _sleeps(owner) if still else _AWAKE
            now = (point, owner, switches)
            asleep = switches >= 0 and owner is turns.awake and not turns.idle
            polls = polls + 1 if now == last and asleep else 0
            moved = (monotonic(), process_time()) if now[:2] != last[:2] else moved
            last = now
            if asleep and polls >= _POLLS[state] and owner is not turns.main and owner.state is not BLOCKED_OUTSIDE:
                polls = 0
                self._take_turn_from(owner, switches)
            if turns.idle and turns.returned:
                turns.main.semaphore.post()
            if owner is turns.main and not turns.idle and turns.main.waits_for is not END_OF_RUN:
                started, cpu = monotonic(), process_time()  # it sets up or tears down, however long that takes
                continue
            waits = polls > 0 or (turns.idle and blocked_outside(turns.tasks))  # a thread that waits for the GIL sleeps, too
            computed = process_time() - cpu if turns.main.waits_for is END_OF_RUN else 0.0
            spent = monotonic() - started
            if self.unreported is not None and not waits and self._too_long_to_report(spent, computed):
                self._end_reports(self.unreported, owner)
            limit = self._longest if turns.record.unreported else self._limit
            late = spent > limit and (waits or computed > limit / 2)
            if (late or (not HAS_PROC and spent > limit)) and not turns.record.stuck:
                self._end_run(owner, limit, *moved)

    def _too_long_to_report(self, spent: float, computed: float) -> bool:
        return (spent > self._reported and computed > self._reported / 2) or self._turns.point > _MOST_REPORTED

    def _end_reports(self, end: Callable[[], None], owner: Task) -> None:
        """Let the run go on without reports of its steps."""
        turns, self.unreported = self._turns, None
        turns.record.unreported = place(sys._current_frames().get(owner.ident or 0), turns.takes_part)
        if turns.journal is not None:
            turns.journal.go_on_unreported()
        end()

    def _stops(self) -> bool:
        """Wait for `_POLL`, or until the check is over; returns whether it is. (An event has a lock, on which 3.13t spins.)"""
        if _poll is None:
            _sleep(_POLL)
            return self._over
        poll = _poll()
        poll.register(self._stop.fd, select.POLLIN)
        if poll.poll(1000 * _POLL) and not self._over:  # the program has closed it
            _sleep(_POLL)
        return self._over

    def _take_turn_from(self, owner: Task, switches: int) -> None:
        """Let another thread run, if the owner is blocked outside of our control.

        Args:
            switches: what `_sleeps` said of the owner.
        """
        turns = self._turns

        def decide(ident: int) -> None:
            frame = sys._current_frames().get(ident)
            goes_on = self._waiting is not None and not turns.record.stuck
            same_sleep = turns.owner is owner and owner.state is READY and _sleeps(owner)[0] == switches
            others = turns.returned or turns.deadlines.any() or _another_is_ready((*turns.tasks, turns.main), owner)
            if not goes_on or not same_sleep or not others or _in_the_engine(frame):
                return
            owner.state = BLOCKED_OUTSIDE
            turns.owner = turns.main  # until there is another, nobody
            where = place(frame, turns.takes_part)
            turns.note_uncontrolled(f"{owner.name} was blocked at {where} by an operation that is not under control")
            turns.release(owner)

        turns.withheld(owner, decide)

    def _end_run(self, owner: Task, limit: float, moved: float, cpu: float) -> None:
        """End a run that takes too long.

        Args:
            limit: seconds after which it is ended.
            moved, cpu: the time, and the CPU time of this process, when its last step was seen.
        """
        turns = self._turns
        run, still = turns.record, monotonic() - moved
        run.blocked = blocked_threads(turns.tasks, turns.takes_part)
        if not HAS_PROC and not turns.idle and not self._computes(still, process_time() - cpu):
            run.refused = (
                f"{owner.name} made no step for {still:.3g} s, and without /proc it cannot be told "
                "whether it computes or waits for another thread in an operation out of our control, such as a socket"
            )
        elif not self._hangs:
            what = "a step" if still > limit / 2 and not run.unreported else "a run"
            where = place(sys._current_frames().get(owner.ident or 0), turns.takes_part)
            run.refused = f"{what} of it has not ended after {limit:.3g} s: {owner.name} is at {where}"
        run.stuck = HANGS
        turns.main.semaphore.post()

    def _computes(self, seconds: float, cpu: float) -> bool:
        """Whether the owner surely computes, by the CPU time of this process, which nobody else uses."""
        with PutBack():
            ours = {task.ident for task in self._turns.tasks} | {threading.get_ident(), threading.main_thread().ident}
            return cpu > seconds / 10 and all(thread.ident in ours for thread in threading.enumerate())


def _another_is_ready(tasks: Iterable[Task], owner: Task) -> bool:
    return any(task.state is READY for task in tasks if task is not owner)


def _in_the_engine(frame: FrameType | None) -> bool:
    """Whether a thread is where it passes its turn on, and only waits for the interpreter."""
    while frame is not None and ours(frame.f_code.co_filename):
        if frame.f_code.co_filename in _ENGINE:
            return True
        frame = frame.f_back
    return False


def _sleeps(task: Task) -> tuple[int, str]:
    """The number of times that this thread has gone to sleep, if it sleeps now, and how; `_AWAKE` if not, or if that is unknown."""
    try:
        text = read(f"/proc/self/task/{task.native}/status")
        facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        state = facts["State"][0]
        return (int(facts["voluntary_ctxt_switches"]), state) if state in _POLLS else _AWAKE
    except (OSError, KeyError, ValueError):
        return _AWAKE
