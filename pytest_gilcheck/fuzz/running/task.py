"""One thread of a program under control, and the word that ends it."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from types import FrameType
from typing import Any

from .handoff import HandoffSemaphore

MAIN = -1  # the index of the thread that sets up, waits, and checks afterwards


class State(IntEnum):
    READY = 0
    PARKED = 1  # waits for something that another thread must do
    SLEEPING = 2  # waits for the clock only, so it may go on at any moment
    BLOCKED_OUTSIDE = 3  # blocked by something that is not under control
    DONE = 4


READY, PARKED, SLEEPING, BLOCKED_OUTSIDE, DONE = (
    State  # an enumeration's attributes take their time, and these are asked for at every switch
)


class Abort(BaseException):
    """Raised in the threads of a run that is over, where they wait."""


class Uncontrolled(BaseException):
    """The code under test does what no schedule can control; the message says what."""


class Task:
    """One thread under control.

    Attributes:
        index: in the order of the program's threads, then of their start; `MAIN` for the main thread.
        name: for reports.
        root: whether it is one of the program's own threads.
        daemon: whether nobody waits for its end.
        job, arguments: what it calls, and with what.
        ident, native: of the operating system's thread, once it runs.
        error: what escaped from it.
        waits_for: what it waits for, while it is parked.
        deadline: nanoseconds of the virtual clock at which it goes on regardless; None for never.
        timed_out: whether it did.
        frame: where it waits, while it is parked.
        checked: whether the interpreter has looked for somebody who wants the GIL since its last step.
    """

    __slots__ = (
        "arguments",
        "daemon",
        "deadline",
        "error",
        "frame",
        "gil_checked",
        "ident",
        "index",
        "job",
        "name",
        "native",
        "root",
        "semaphore",
        "state",
        "thread",
        "timed_out",
        "waits_for",
    )  # fmt: skip

    def __init__(self, index: int, name: str, semaphore: HandoffSemaphore, *, root: bool = False, daemon: bool = False) -> None:
        self.index, self.name, self.semaphore, self.root, self.daemon = index, name, semaphore, root, daemon
        self.ident: int | None = None
        self.native: int | None = None
        self.thread: Any = None
        self.job: Callable[..., object] | None = None
        self.arguments: tuple[Any, ...] = ()
        self.state: State = READY
        self.error: BaseException | None = None
        self.waits_for: object = None
        self.deadline: int | None = None
        self.timed_out = False
        self.frame: FrameType | None = None
        self.gil_checked = True
