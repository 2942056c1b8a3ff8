"""What is known of the present run: its threads, the owner, the clock, what is recorded; and how its choices are noted."""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..bytecode.visible import Access
from ..schedule import CLOCK, TEARDOWN, Choice, checksum
from .children import Children
from .deadlines import Deadlines
from .fairness import Fairness
from .handoff import HandoffSemaphore, SemaphorePool
from .journal import Journal
from .places import Sleep, own_frame
from .policy import NEVER, Policy
from .record import Observer, Place, RunRecorder, ScheduleRun, anchor_of
from .task import MAIN, SLEEPING, Task
from .virtual_time import VirtualClock

_allocate_lock = _thread.allocate_lock
_MOST_ALONE, AGAIN_ALONE = 300, 3  # times that time passes when the program's own threads have ended; once that was too few
_GRACE, LATER_GRACE = 1.0, 0.01  # seconds that others have before the first run of a check, or another one, makes no progress


class RunState:
    """The state of the runs of a check, one after another.

    Args:
        takes_part: whether the code of a file is under test.

    Attributes:
        owner: the task that runs; all others wait.
        awake: the owner, once it has woken: a hand-off takes long if the giving thread loses its core.
        in_run: whether a run has begun, with its setup, and has not ended.
        idle: whether the main thread has been woken because no thread is runnable.
        point: the number of points of this run so far.
        next: the point at which `decide` is to be called.
        exploring: whether the policy is consulted; False during setup, invariant and teardown.
        aborting: whether the run is over, so that every waiting thread raises `Abort`.
        recording: whether the run keeps what a search branches at.
        measuring: whether it keeps what a search counts.
        gil_only: switch only where a build with a GIL can.
        acquisitions: the number of times that locks were acquired, in all runs.
        children: the processes that the threads of the run have started.
        clock: the virtual clock.
        may_end_early: whether the teardown may begin when the program's own threads have ended and others can still run.
        most_alone: times that time passes in a run for the threads alone that the program has started.
        most_sleeps: of a thread in a run that keep the program's other own threads from running (`Task.holds`).
        sleeps: the number of these in this run, by the index of the thread.
        sleeps_alone: whether these let no other thread run at all.
        observer: called before every visible step.
        recorder: told what else the threads do: which of them begins, or goes on after a wait, and what becomes of locks.
        tracer: for ``sys.settrace``, up to Python 3.11.
        journal: what notes the choices of each run, in case that the process dies; None if nobody would read it.
        is_idle_worker: whether nobody expects this task's thread to end.
        tasks: the threads of the run; it is one list, whose contents change with the run.
        main: the main thread, a task like the others during setup, invariant and teardown.
        by_ident: the controlled threads, by their number.
        returned: the threads that were blocked outside of control, and want to go on.
        changing: held while the watchdog takes the turn from the owner, and by whoever must not meet that.
        semaphores: for the threads to come.
        record: what is kept of the present run.
        policy: chooses who runs next; None if nobody explores.
        deadlines: which waits time may end.
        fairness: what the threads have done without a pause.
    """

    __slots__ = (
        "_early_end", "_grace", "aborting", "acquisitions", "awake", "by_ident", "changing", "children", "clock", "deadlines",
        "exploring", "fairness", "gil_only", "idle", "in_run", "is_idle_worker", "journal", "main", "may_end_early", "measuring",
        "most_alone", "most_sleeps", "next", "observer", "owner", "point", "policy", "record", "recorder", "recording",
        "returned", "semaphores", "sleeps", "sleeps_alone", "takes_part", "tasks", "tracer",
    )  # fmt: skip # slots: each visible step reads several of these, which is faster so, most of all on a free-threaded build

    def __init__(self, takes_part: Callable[[str], bool]) -> None:
        self.takes_part = takes_part
        self.observer: Observer | None = None
        self.recorder: RunRecorder | None = None
        self.tracer: Any = None
        self.journal: Journal | None = None
        self.is_idle_worker: Callable[[Task], bool] = lambda task: False
        self.gil_only = False
        self.exploring = self.aborting = self.idle = self.in_run = False
        self.recording = self.measuring = False
        self.point = 0
        self.next = NEVER
        self.acquisitions = 0
        self.most_sleeps = 0
        self.sleeps: dict[int, int] = {}
        self.tasks: list[Task] = []
        self.by_ident: dict[int, Task] = {}
        self.returned: deque[Task] = deque()
        self.changing = _allocate_lock()
        self.semaphores = SemaphorePool()
        self.main = self.owner = Task(MAIN, "the main thread", HandoffSemaphore())
        self.awake: Task | None = None
        self.clock = VirtualClock()
        self.deadlines = Deadlines(self.clock, self.tasks, self.main)
        self.fairness = Fairness(self.clock, self.deadlines, self.tasks)
        self.policy: Policy | None = None
        self.forget_patience()
        self.children = Children()
        self.may_end_early = False
        self._early_end = Task(TEARDOWN, "the teardown", self.main.semaphore)
        self.record = ScheduleRun()

    def forget_patience(self) -> None:
        """Begin the runs of another program."""
        self.sleeps_alone = False
        self.most_alone = _MOST_ALONE
        self._grace = _GRACE

    def _record_choice(self, choice: Choice, access: Access, frame: FrameType | None, task: Task) -> None:
        place: Place | None = None
        if frame is not None:
            if access.line == 0:  # the access of a primitive, whose own frames are ours
                frame = own_frame(frame, self.takes_part)
            place = frame.f_code, frame.f_lasti
        masked = frame is not None and choice.thread != CLOCK and not task.gil_checked
        self.record.choices.append((choice, access, place, masked))
        if (journal := self.journal) is not None:
            journal.choice(choice, masked, checksum(anchor_of(access, place)) if journal.keeps_anchors else 0)

    def _end_wait(self, task: Task) -> None:
        """The deadline of this thread's wait ends it."""
        slept = task.state is SLEEPING
        late = self.deadlines.end_wait(task)
        if slept and late:
            self.record.cut_short = (*self.record.cut_short, Sleep.of(task.frame, self.takes_part))
        self._note_delay(late)

    def _note_delay(self, late: int) -> None:
        if late:
            self.record.delays = (*self.record.delays, (self.point, late))

    def _span(self) -> None:
        owner = self.owner
        others = tuple([task.index for task in self.deadlines.others(owner)])
        spans, first = self.record.spans, self.point + 1
        if spans and spans[-1][0] == first:
            spans.pop()
        spans.append((first, owner.index, others))
