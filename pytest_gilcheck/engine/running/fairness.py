"""Fairness: no thread runs for ever while others could, and a run that makes no progress ends.

A thread that made many steps without a pause is watched (`spinning`). If it polls, another one runs; if all that can run do nothing
but spin, time passes; if that cannot help either, the run is a livelock. Threads that pause between their looks are watched when
the run has become much longer than any sequential order (`pausing`), or long if it is one of these itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

from ..bytecode.visible import Access
from .deadlines import Deadlines
from .pausing import PauseWatch
from .policy import NEVER, Policy
from .record import ScheduleRun
from .spinning import PATIENCE, READS, SPINS, WORKS, LoopWatch
from .stuck import roots_done
from .task import DONE, READY, Task, blocked_outside
from .virtual_time import WORK, VirtualClock

MOST_POINTS = 5_000_000  # points of a run, after which it is too long
FAIR_STEPS = 200  # consecutive steps of one thread, at least, after which it is watched: does it poll?
_LIVELOCK, _LIVELOCK_TIMES = 100_000, 50  # points of a livelock: so many, and so many times those of any sequential order
_MORE_CHOSEN = 2_000  # points that a run may be longer than others, until only fairness chooses: at random, nobody sees who polls
_LENGTH_UNKNOWN = 2_000  # points of one of the first runs, after which its threads are watched through their pauses
_CALMED = 2  # times that each runnable thread must be seen to spin, before nothing but time can help


class Fairness:
    """What the threads of the present run have done without a pause.

    Args:
        clock, deadlines: of the run.
        tasks: its threads; the list changes with the run.

    Attributes:
        point: at which the running thread is looked at.
        most_chosen: points after which the policy is not asked any more.
        most_points: points after which a run is too long.
        pauses: what watches the threads through their pauses; None while nothing does.
    """

    __slots__ = (
        "_begun", "_clock", "_deadlines", "_due", "_patience", "_pauses_from", "_run", "_steps", "_tasks", "_watch",
        "most_chosen", "most_points", "pauses", "point",
    )  # fmt: skip

    def __init__(self, clock: VirtualClock, deadlines: Deadlines, tasks: Sequence[Task]) -> None:
        self._clock, self._deadlines, self._tasks = clock, deadlines, tasks
        self.forget_length()

    def forget_length(self) -> None:
        """Begin the runs of another program."""
        self._steps, self._patience = FAIR_STEPS, dict(PATIENCE)  # consecutive steps: until it is watched, until another runs
        self.most_chosen = self.most_points = MOST_POINTS
        self.begin(ScheduleRun())

    def begin(self, run: ScheduleRun) -> None:
        """Begin a new run."""
        self._run = run
        self._watch: LoopWatch | None = None
        self.pauses: PauseWatch | None = None
        self._pauses_from = self.most_chosen if self.most_chosen < MOST_POINTS else _LENGTH_UNKNOWN
        self.point = self._due = self._begun = 0

    def learn_length(self, steps: int, most: int, longest: int) -> None:
        """Take note of how long the program is: see `Engine.learn_length`."""
        self.most_chosen = 3 * most + _MORE_CHOSEN
        self.most_points = min(MOST_POINTS, max(_LIVELOCK, _LIVELOCK_TIMES * longest))
        self._steps = min(FAIR_STEPS + steps, PATIENCE[READS])
        self._patience = {kind: min(most, FAIR_STEPS + 3 * steps) for kind, most in PATIENCE.items()}

    def next_point(self, policy: Policy, point: int) -> int:
        """The next point at which somebody is to be asked: the policy, or this."""
        fair = self.point
        asked = policy.next if point <= self.most_chosen else NEVER
        if asked == NEVER or asked > fair:
            asked = fair
        return asked if asked > point else point + 1

    def start_over(self, task: Task, point: int) -> None:
        """Forget what the threads were seen to do; this one goes on from here."""
        self._watch = None
        self.pauses = None if self.pauses is None else PauseWatch()
        self._calm()
        self.begin_slice(task, point)

    def begin_slice(self, task: Task, point: int) -> None:
        """This thread goes on from here. Its steps until it is watched vary, or it might stand in the same place each time."""
        varying = self._run.yields % 7
        self._begun = point
        if point > self._pauses_from and self.pauses is None:
            self.pauses, self._pauses_from = PauseWatch(), 2 * point
        self._look_at(point + (10 + 7 * varying if task.spins else self._steps + 37 * varying), point)

    def _look_at(self, due: int, point: int) -> None:
        """Look at the running thread at that point, and at the next one if threads are watched through their pauses."""
        self._due = due
        self.point = due if self.pauses is None else point + 1

    def choose(self, task: Task, point: int, access: Access, frame: FrameType, acquired: int) -> Task | str | None:
        """The thread that goes on, which is another one if the running one polls; or why the run ends, if nothing can help.

        None if only a thread can help that is blocked outside of control: the running one is to wait for it.

        Args:
            acquired: the number of times that locks were acquired.
        """
        if point > self.most_points:
            return self.too_long()
        if (pauses := self.pauses) is not None:
            if self._polls_in_vain(pauses, task, access, frame, acquired):
                return "livelock"
            if pauses.left <= 0:
                self.pauses = None
            if point < self._due:
                self._look_at(self._due, point)
                return task
        watch = self._watch
        if watch is None or watch.task is not task:
            self._watch = LoopWatch(task, frame, point - self._begun, acquired)
            self._look_at(point + 1, point)
            return task
        found = watch.step(access, frame, acquired)
        if found is None:
            self._look_at(point + 1, point)
            return task
        self._watch = None
        steps = point - self._begun
        if found is not SPINS:
            task.spins = 0
            if steps < self._patience[found]:
                self._look_at(point + min(steps, self._patience[found] - steps), point)
                return task
            self._calm()
            if found is not WORKS:
                self._clock.now += WORK * steps
                self._deadlines.end_past()
        task.spins += found is SPINS
        self._run.yields += 1
        self._run.wasted += steps
        ready = self._ready_beside(task)
        if not ready and found is not SPINS and self._deadlines.end_sleep():
            ready = self._ready_beside(task)
        if task.spins >= _CALMED and all(other.spins >= _CALMED for other in ready):
            if self._deadlines.leap():
                self._calm()
                ready = self._ready_beside(task)
            elif not blocked_outside(self._tasks):
                return "livelock"
            else:
                return None
        self.begin_slice(task, point)
        return min(ready, key=lambda other: (other.index - task.index) % len(self._tasks), default=task)

    def _polls_in_vain(self, pauses: PauseWatch, task: Task, access: Access, frame: FrameType, acquired: int) -> bool:
        """Whether the program's own threads wait for the others, and these poll for what nobody will do."""
        able = [other for other in self._tasks if other.state is READY or (other.deadline is not None and other.state is not DONE)]
        polls = pauses.step(task, access, frame, acquired, able)
        return polls and not blocked_outside(self._tasks) and not roots_done(self._tasks)

    def too_long(self) -> str:
        """The symptom of a run with too many points: a livelock, if every sequential order is much shorter."""
        if self.most_points == MOST_POINTS:
            self._run.refused = f"a run of it has more than {MOST_POINTS:,} visible steps"
        elif blocked_outside(self._tasks):
            self._run.refused = (
                f"a run of it has more than {self.most_points:,} visible steps while one of its threads is blocked by an operation "
                "that is not under control, and it cannot be told whether the others poll for it"
            )
        return "livelock"

    def _ready_beside(self, task: Task) -> list[Task]:
        ready = [other for other in self._tasks if other is not task and self._deadlines.is_ready(other)]
        return self._deadlines.beside_sleepers(ready)

    def _calm(self) -> None:
        for task in self._tasks:
            task.spins = 0
