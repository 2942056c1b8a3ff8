"""What no thread can end: which threads wait when none is runnable, for what, and what that is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...core.source import frame_place
from .places import own_frame
from .record import BlockedThread, ScheduleRun
from .task import DONE, Task, blocked_outside, every_done

TakesPart = Callable[[str], bool]


class SetupStuck(Exception):
    """The setup or the invariant waits for something that no thread will do."""


def describe_blocked(task: Task, takes_part: TakesPart) -> BlockedThread:
    """What this thread waits for, and where."""
    frame = None if task.frame is None else own_frame(task.frame, takes_part)
    at, spot = frame_place(frame), ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno or 0)
    waits_for = task.waits_for
    describe = getattr(waits_for, "describe", None)
    if describe is not None:
        message, holder, taken, made = describe()
        return BlockedThread(task.name, message, at, holder, taken, made, spot)
    if isinstance(waits_for, Task):
        return BlockedThread(task.name, f"the end of {waits_for.name}", at, spot=spot)
    return BlockedThread(task.name, "nothing: it computes" if waits_for is None else str(waits_for), at, spot=spot)


def blocked_threads(tasks: Iterable[Task], takes_part: TakesPart) -> tuple[BlockedThread, ...]:
    """What each thread waits for that has not ended."""
    return tuple(describe_blocked(task, takes_part) for task in tasks if task.state is not DONE)


def note_stuck(run: ScheduleRun, tasks: Sequence[Task], takes_part: TakesPart, symptom: str = "") -> None:
    """Take note that a run is stuck: in a deadlock or for ever, if no symptom is given."""
    run.blocked = blocked_threads(tasks, takes_part)
    run.stuck = symptom or ("deadlock" if any(entry.holder for entry in run.blocked) else "never ends")


def classify_idle(run: ScheduleRun, tasks: Sequence[Task], takes_part: TakesPart, is_idle_worker: Callable[[Task], bool]) -> None:
    """Classify a run in which no thread is runnable: finished, stuck, or waiting for a thread that is blocked outside.

    Args:
        is_idle_worker: whether nobody expects this task's thread to end.
    """
    if run.stuck or every_done(tasks) or blocked_outside(tasks):
        return
    if roots_done(tasks):
        left = [task for task in tasks if task.state is not DONE and not task.daemon and not is_idle_worker(task)]
        run.left = tuple(describe_blocked(task, takes_part) for task in left)
        return
    note_stuck(run, tasks, takes_part)


def roots_done(tasks: Iterable[Task]) -> bool:
    """Whether the program's own threads have ended."""
    return all(task.state is DONE for task in tasks if task.root)


def still_left(run: ScheduleRun, tasks: Iterable[Task]) -> tuple[BlockedThread, ...]:
    """Of the threads that a run has left, those that have not ended since: the invariant or the teardown may have told them to."""
    waiting = {task.name for task in tasks if task.state is not DONE}
    return tuple(blocked for blocked in run.left if blocked.thread in waiting)
