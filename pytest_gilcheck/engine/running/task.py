"""One controlled thread, and the exceptions that end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from types import FrameType
from typing import Any

from .handoff import HandoffSemaphore

MAIN = -1  # the index of the main thread
END_OF_RUN = "the end of the run"  # what the main thread waits for


class State(IntEnum):
    READY = 0
    PARKED = 1  # waits for another thread, perhaps with a deadline
    SLEEPING = 2  # waits for the virtual clock alone
    BLOCKED_OUTSIDE = 3  # blocked by an operation that is not under control
    DONE = 4


READY, PARKED, SLEEPING, BLOCKED_OUTSIDE, DONE = State  # access through the class is slow, and every switch needs these


class Abort(BaseException):
    """Raised in the waiting threads of a run that is over."""


class Uncontrolled(BaseException):
    """The code under test does what no schedule can control; the message names the operation."""


class Task:
    """One controlled thread.

    Attributes:
        index: the program's threads come first, then those that they start, in order; `MAIN` for the main thread.
        name: for reports.
        root: whether it is one of the program's own threads.
        starter: the one of the program's own threads that started it, or that started a thread which did; None for a root.
        daemon: whether the run may end before it does.
        job, arguments: what it calls, and with what.
        ident, native: of the operating system's thread, once it runs.
        leaves: whether its thread ends with its job, and does not wait for another one.
        error: the exception that escaped from it.
        waits_for: what it waits for, while it is parked.
        deadline: nanoseconds of the virtual clock at which its wait ends; None for never.
        timed_out: whether the deadline ended its last wait.
        frame: where it waits, while it is parked.
        spins: how often it was seen to spin, with nothing else between.
        holds: whether its present sleep keeps the program's other own threads from running, as in a sequential order.
        gil_checked: whether the interpreter has, since this task's last step, checked for a request to release the GIL.
    """

    __slots__ = (
        "arguments", "daemon", "deadline", "error", "frame", "gil_checked", "holds", "ident", "index", "job", "leaves", "name",
        "native", "root", "semaphore", "spins", "starter", "state", "thread", "timed_out", "waits_for",
    )  # fmt: skip

    def __init__(self, index: int, name: str, semaphore: HandoffSemaphore, *, root: bool = False, daemon: bool = False) -> None:
        self.index, self.name, self.semaphore, self.root, self.daemon = index, name, semaphore, root, daemon
        self.ident: int | None = None
        self.native: int | None = None
        self.thread: Any = None
        self.starter: Task | None = None
        self.job: Callable[..., object] | None = None
        self.arguments: tuple[Any, ...] = ()
        self.state: State = READY
        self.error: BaseException | None = None
        self.waits_for: object = None
        self.deadline: int | None = None
        self.timed_out = self.leaves = self.holds = False
        self.frame: FrameType | None = None
        self.spins = 0
        self.gil_checked = True


def every_done(tasks: Iterable[Task]) -> bool:
    """Whether all these threads have ended."""
    for task in tasks:  # noqa: SIM110 # all() of a generator takes three times as long, and every run calls this
        if task.state is not DONE:
            return False
    return True


def blocked_outside(tasks: Iterable[Task]) -> bool:
    """Whether any of these threads is blocked by an operation that is not under control."""
    return any(task.state is BLOCKED_OUTSIDE for task in tasks)
